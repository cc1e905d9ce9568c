"""`moorage lint` finds no room in a quota for exactly those pods of which `moorage plan` says that they are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices
from tests.unit.lint.linting import lint
from tests.unit.plan.planning import Plan, Raw, node, pod, workload

from moorage.lint.facts import quota_charges
from moorage.plan.pod_lines import State

KINDS = ("Pod", "ReplicaSet", "ReplicationController", "Deployment", "DaemonSet", "StatefulSet", "Job")
CPUS = st.sampled_from(["100m", "1", "3"])
HARD = st.sampled_from([{"pods": "3"}, {"pods": "5"}, {"requests.cpu": "4"}, {"pods": "6", "requests.cpu": "9"}])
TOLERATIONS = st.sampled_from([[], [{"key": "a", "operator": "Exists"}]])
_FIT = re.compile(r"(\d+) of (\d+) pods fit")


@st.composite
def workloads(draw: st.DrawFn, kind: str, name: str) -> Raw:
    cpu = draw(CPUS)
    fields: Raw = {"tolerations": draw(TOLERATIONS)}
    if kind == "Pod":
        return pod(name, cpu, **fields)
    drawn = workload("ReplicaSet" if kind == "ReplicationController" else kind, name, cpu, fields)
    spec = drawn["spec"]
    if kind == "ReplicationController":
        drawn |= {"apiVersion": "v1", "kind": kind}
        spec["selector"] = spec["selector"]["matchLabels"]
    if kind == "Job":
        spec |= {"parallelism": draw(st.integers(0, 3)), "suspend": draw(st.booleans())}
    elif kind != "DaemonSet":
        spec["replicas"] = draw(st.integers(0, 4))
    if kind == "StatefulSet":
        spec |= {"serviceName": "s", "podManagementPolicy": draw(st.sampled_from(["OrderedReady", "Parallel"]))}
    return drawn


@st.composite
def worlds(draw: st.DrawFn) -> list[Raw]:
    """Draw large nodes, of which some are tainted, a quota, and workloads that want more than it has."""
    taint = st.sampled_from([[], [{"key": "a", "effect": "NoSchedule"}]])
    documents = [node(f"n{number}", "64", taints=draw(taint)) for number in range(draw(st.integers(1, 3)))]
    about = {"name": "q", "namespace": "default"}
    documents.append({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": about, "spec": {"hard": draw(HARD)}})
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    documents += [draw(workloads(kind, f"w{number}")) for number, kind in enumerate(kinds)]
    return draw(st.permutations(documents))


def refused_by_plan(documents: list[Raw]) -> dict[str, int]:
    """Return how many pods of each workload exist of which some are refused; pods that are refused have none."""
    outcome = Plan(*documents).outcome
    refused = {failed.workload.split("/")[-1]: failed.existing for failed in outcome.failed}
    return refused | {line.name: 0 for line in outcome.pods if line.state is State.REFUSED}


def refused_by_lint(documents: list[Raw]) -> dict[str, int]:
    found: dict[str, int] = {}
    for finding in lint(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents})):
        if finding.rule == "quota-refuses":
            fit = _FIT.match(finding.message)
            found[finding.place.object.rpartition("/")[2]] = int(fit[1]) if fit else 0
    return found


def quota_law(often: settings) -> Callable[[], None]:
    @often
    @given(worlds())
    def law(documents: list[Raw]) -> None:
        assert refused_by_lint(documents) == refused_by_plan(documents)

    return law


def test_lint_finds_no_room_where_plan_has_refusals() -> None:
    quota_law(LAW_SETTINGS)()


def backwards(kind: str) -> tuple[int, int]:
    return 0, -KINDS.index(kind)


def one_each(self: Any, spec: Any) -> int:
    return 1


@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (quota_charges, "pods_rank", backwards),
        (quota_charges, "makes_pods_in_order", lambda kind, spec: False),
        (quota_charges.QuotaCharges, "_daemon_pods", one_each),
    ],
    ids=["another order", "all pods of a StatefulSet at once", "one pod for each DaemonSet"],
)
def test_another_order_or_number_is_noticed(
    where: Any, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, broken)
    assert_notices(quota_law(UNTIL_NOTICED))
