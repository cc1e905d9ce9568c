"""Law of `capacity fit --survive`: after any loss that is survived, a naive look finds every pod on a node."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, THOROUGH, assert_notices
from tests.unit.autoscale.autoscaled import group
from tests.unit.plan.planning import Raw, spec
from tests.unit.plan.pools.pool_worlds import planner_of, pools_of

from moorage.capacity.fitting import survival
from moorage.capacity.fitting.answer import FitOptions, answer
from moorage.capacity.fitting.model.problem import Ints
from moorage.capacity.fitting.report import manifests_of
from moorage.capacity.fitting.survival import Loss, _Survivor
from moorage.capacity.fitting.trial import Played
from moorage.columns.resources import amounts, pod_requests
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.simulation.simulation import Simulation

MOST = 25 if THOROUGH else 5
ZONE = "topology.kubernetes.io/zone"
SPOT = {"key": "spot", "value": "20", "effect": "NoSchedule"}
POOLS = (
    group("steady", "4", price=1.0, zones=["a", "b"], most=6),
    group("spot", "4", price=0.4, zones=["a", "b", "c"], most=6, taints=[SPOT]),
    group("large", "9", price=2.1, zones=["b"], most=3),
)


@st.composite
def workloads(draw: st.DrawFn) -> list[Raw]:
    documents = []
    for number in range(draw(st.integers(1, 2))):
        labels = {"app": f"w{number}"}
        inner = spec(draw(st.sampled_from(["800m", "1500m", "2500m"])))
        if below := draw(st.sampled_from(["", "10", "30"])):
            inner["tolerations"] = [{"key": "spot", "operator": "Lt", "value": below, "effect": "NoSchedule"}]
        rule = draw(st.integers(0, 3))
        if rule == 1:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
            inner["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif rule == 2:
            inner["nodeSelector"] = {ZONE: draw(st.sampled_from(["a", "b"]))}
        body = {"replicas": draw(st.integers(1, 3)), "selector": {"matchLabels": labels}}
        about = {"name": f"w{number}", "namespace": "default"}
        template = {"metadata": {"labels": labels}, "spec": inner}
        document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about}
        documents.append({**document, "spec": {**body, "template": template}})
    return documents


def losses_of(nodes: list[Raw], survive: str | int) -> list[tuple[str, ...]]:
    """List naively what can be lost."""
    if isinstance(survive, int):
        names = [node["metadata"]["name"] for node in nodes]
        return list(combinations(names, min(survive, len(names))))
    groups: dict[str, list[str]] = {}
    for node in nodes:
        name = node["metadata"]["name"]
        value = node["metadata"]["labels"][ZONE] if survive == "zone" else name.rpartition("-")[0]
        groups.setdefault(value, []).append(name)
    return [tuple(names) for names in groups.values()]


def naive_faults(simulation: Simulation, wanted: int, lost: Iterable[str]) -> list[str]:
    """Say which pods do not run after a loss, by nothing but what pods and nodes say."""
    nodes: dict[str, Node] = {found.name: found.view for found in simulation.world.all(KINDS.NODE)}
    pods: list[Pod] = [found.view for found in simulation.pods() if not found.view.metadata.deletionTimestamp]
    faults = [f"{name} is still there" for name in lost if name in nodes]
    faults += [] if len(pods) == wanted else [f"{len(pods)} of {wanted} pods"]
    for pod in pods:
        node = nodes.get(pod.spec.nodeName)
        if node is None:
            faults.append(f"{pod.metadata.name} is on no node that is there")
            continue
        tainted = any(taint.key == "spot" for taint in node.spec.taints)
        if tainted and not any(one.key == "spot" and one.value == "30" for one in pod.spec.tolerations):
            faults.append(f"{pod.metadata.name} does not tolerate {node.metadata.name}")
        if any(node.metadata.labels.get(key) != value for key, value in pod.spec.nodeSelector.items()):
            faults.append(f"{pod.metadata.name} is in the wrong zone")
        alone = pod.spec.affinity is not None and pod.spec.affinity.podAntiAffinity is not None
        like = [
            one
            for one in pods
            if one.spec.nodeName == pod.spec.nodeName and one.metadata.labels["app"] == pod.metadata.labels["app"]
        ]
        if alone and len(like) > 1:
            faults.append(f"{pod.metadata.name} is not alone")
    for name, node in nodes.items():
        used = sum(pod_requests(pod.spec)["cpu"] for pod in pods if pod.spec.nodeName == name)
        if used > amounts(node.status.allocatable)["cpu"]:
            faults.append(f"{name} is too full")
    return faults


def law_of_survival(survives: tuple[str | int, ...], most: int) -> None:
    pools = pools_of(*POOLS)

    @settings(LAW_SETTINGS, max_examples=most)
    @given(workloads(), st.sampled_from(survives))
    def law(documents: list[Raw], survive: str | int) -> None:
        report, fitted = answer(planner_of(*documents), pools, FitOptions(survive=survive))
        if fitted.played is None:
            return  # the pools cannot take them at all
        assert report.survival is not None
        nodes: list[Raw] = json.loads(json.dumps(manifests_of(fitted)))
        losses = losses_of(nodes, survive)
        assert (report.survival.possible, report.survival.played) == (len(losses), len(losses))
        wanted, failed = sum(one["spec"]["replicas"] for one in documents), 0
        for lost in losses:
            planner = planner_of(*documents, *nodes)
            simulation = planner.build()
            simulation.settle()
            for name in lost:
                simulation.api.delete(KINDS.NODE, name)
            simulation.settle_with_evictions()
            faults = naive_faults(simulation, wanted, lost)
            failed += bool(faults)
            assert not (report.survival.holds and faults), f"after losing {lost}: {faults}"
        assert report.survival.holds or failed, "every loss is survived, and that was denied"

    law()


@pytest.fixture(autouse=True)
def few_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let losses be planned again, which costs less in a small world than a process for each, and search little."""
    monkeypatch.setattr(survival, "can_fork", lambda: False)
    monkeypatch.setattr(survival, "MAX_TRIALS", 4)


@pytest.mark.parametrize("survive", ["zone", "pool", 1, 2])
def test_a_mix_survives_what_it_promises(survive: str | int) -> None:
    law_of_survival((survive,), MOST)


def test_losses_in_forks_are_those_that_are_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survival, "can_fork", lambda: True)
    law_of_survival(("zone", 1), 2)


@pytest.mark.parametrize("survive", ["zone", 1])
def test_the_law_notices_losses_that_are_not_played(survive: str | int, monkeypatch: pytest.MonkeyPatch) -> None:
    lose = _Survivor.lose

    def lazy(self: _Survivor, played: Played) -> tuple[list[Loss], Ints]:
        return [], np.zeros_like(lose(self, played)[1])

    monkeypatch.setattr(_Survivor, "lose", lazy)
    assert_notices(lambda: law_of_survival((survive,), 60))
