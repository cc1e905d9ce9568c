"""Whatever is written into a manifest, a plan is made of the rest, and every form of it can be printed."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.plan.device_worlds import (
    above,
    device_class,
    gpu,
    of_claim,
    of_template,
    request,
    template,
    with_claim,
    with_gpus,
)
from tests.unit.plan.device_worlds import claim as device_claim
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload
from tests.unit.plan.test_volume_controller import claim, storage_class, user, volume

from moorage.admit.admission import Admitted
from moorage.admit.request import Request
from moorage.model.kinds import KINDS, Kind, view_of
from moorage.plan.difference.difference import Difference
from moorage.plan.input.registry import InventoryRegistry
from moorage.plan.node_changes import ChangeError, TaintChange
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.plain import as_json, as_yaml, plain
from moorage.plan.report.text import TextReport
from moorage.plan.rollout import Rollout
from moorage.plan.what_if import Changes
from moorage.serve.verbs.registry import Registry

TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
RULES: Raw = {
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    "topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", **TERM}],
    "tolerations": [{"key": "a", "operator": "Gt", "value": "5"}],
}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
}
PRIORITY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "pc"}, "value": 5}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}}}
TEMPLATE = {name: value for name, value in claim().items() if name in ("metadata", "spec")}
DOCUMENTS: list[Raw] = [
    node("n1", zone="a", taints=[{"key": "a", "value": "6", "effect": "NoExecute"}]),
    node("n2", zone="b"),
    workload("Deployment", "web", pods=RULES, replicas=2),
    workload("StatefulSet", "db", replicas=2, serviceName="x", volumeClaimTemplates=[TEMPLATE]),
    workload("DaemonSet", "agent"),
    workload("Job", "j", completions=2, parallelism=2, completionMode="Indexed"),
    running("r", "n1", ("ReplicaSet", "web-abc"), labels={"app": "web", "pod-template-hash": "abc"}, **RULES),
    pod("p", priorityClassName="pc"),
    *with_gpus("gpu-node", gpu("gpu-0", "8"), gpu("gpu-1")),
    device_class(),
    template("t", request(tolerations=above("5"))),
    device_claim("shared-device", request(count=1)),
    with_claim("a", of_template("t")),
    with_claim("b", of_claim("shared-device")),
    claim(),
    volume("v", zone="a"),
    storage_class("sc", default=True),
    user(),
    BUDGET,
    PRIORITY,
    SERVICE,
]
VALUES: list[Any] = [None, 0, -1, 2**40, 1.5, "", "x", "25%", "a b", "-1", "1e9999", True, [], {}, [None], {"a": None}]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a document with each of its keys."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in entries:
        yield value, key
        yield from places(child)


def damaged(documents: list[Raw], chance: random.Random) -> list[Raw]:
    documents = copy.deepcopy(documents)
    for _ in range(chance.randint(1, 3)):
        container, key = chance.choice(list(places(chance.choice(documents))) or [({}, "x")])
        if isinstance(container, list) and chance.random() < 0.2:
            container.append(copy.deepcopy(container[key]))
        else:
            container[key] = copy.deepcopy(chance.choice(VALUES))
    return documents


def everything(documents: list[Raw], change: list[Raw]) -> None:
    """Plan, play a rollout, ask what if, print it in every form."""
    plan = Plan(*documents, gates={"AllAlpha": True})
    rollout: Rollout | None = None
    difference: Difference | None = None
    try:
        rollout = plan.rollout("web")
        taint = TaintChange("n2", "x", "", "NoExecute")
        difference = plan.what_if(Changes(taints=(taint,), drains=("n1",)), *change)
    except ChangeError:
        pass  # the Deployment or the node may have been refused
    for report in (TextReport(colour=True), MarkdownReport()):
        assert list(report.lines(plan.outcome, difference, rollout))
    document = plain(plan.outcome, difference, rollout)
    assert as_json(document)
    assert as_yaml(document)


def law_of_survival() -> None:
    @settings(LAW_SETTINGS, max_examples=examples(40))
    @given(st.integers(0, 10**9))
    def law(seed: int) -> None:
        chance = random.Random(seed)
        documents, change = damaged(DOCUMENTS, chance), damaged(chance.sample(DOCUMENTS, 4), chance)
        try:
            everything(documents, change)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from error

    law()


def test_a_damaged_manifest_never_stops_a_plan() -> None:
    law_of_survival()


def test_a_plan_of_what_nobody_validated_would_not_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    def accept(registry: InventoryRegistry, kind: Kind, new: Raw, request: Request, manager: str | None) -> Admitted:
        if kind not in (KINDS.NODE, KINDS.POD):  # a Job of any size would be simulated until the end of time
            return Registry._admit_first(registry, kind, new, request, manager)
        return Admitted(new, view_of(new))

    monkeypatch.setattr(InventoryRegistry, "_admit_first", accept)
    assert_notices(law_of_survival)
