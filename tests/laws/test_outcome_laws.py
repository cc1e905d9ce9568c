"""The law of complete outcomes: every pod of the input, and that a controller makes or lacks, is counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.plan.planning import Raw, node, pod, running, workload, written

from moorage.control.framework.workloads import is_active
from moorage.control.framework.world import controller_of
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import PodRows, State
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes

GATES = {"AllAlpha": True, "AllBeta": True}
NODES = ("n0", "n1", "n2")
CPU = st.sampled_from(["100m", "500m", "1", "3"])
RISKS = st.sampled_from([[], [], [{"key": "risk", "value": "3", "effect": "NoExecute"}]])
NOT_READY = {
    "key": "node.kubernetes.io/not-ready",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 300,
}


@st.composite
def tolerations(draw: st.DrawFn) -> list[Raw]:
    seconds = draw(st.sampled_from([None, 0, 30, 3600]))
    risk: Raw = {"key": "risk", "operator": "Lt", "value": "5", "effect": "NoExecute"}
    risk |= {} if seconds is None else {"tolerationSeconds": seconds}
    return [*draw(st.sampled_from([[], [NOT_READY]])), *draw(st.sampled_from([[], [risk]]))]


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Raw:
    made = node(name, draw(st.sampled_from(["1", "4"])), taints=draw(RISKS))
    if draw(st.integers(0, 3)) == 0:
        made["metadata"] |= {"uid": f"uid-of-{name}", "resourceVersion": "7"}
        made["status"]["allocatable"] = made["status"]["capacity"]
        made["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return made


@st.composite
def pods(draw: st.DrawFn, name: str) -> Raw:
    kind = draw(st.sampled_from(["new", "new", "on a node", "running", "running", "of a workload", "ended", "deleted"]))
    if kind == "new":
        return pod(name, draw(st.sampled_from(["100m", "1", "9", "-1"])), tolerations=draw(tolerations()))
    if kind == "on a node":
        return pod(name, draw(st.sampled_from(["100m", "9"])), nodeName=draw(st.sampled_from(NODES)))
    owner = ("ReplicaSet", "rs") if kind == "of a workload" else None
    place = draw(st.sampled_from([*NODES, "gone"]))
    made = running(name, place, owner, cpu=draw(CPU), labels={"app": "rs"}, tolerations=draw(tolerations()))
    if kind == "ended":
        made["status"]["phase"] = draw(st.sampled_from(["Succeeded", "Failed"]))
    if kind == "deleted":
        made["metadata"] |= {"deletionTimestamp": "2025-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    return made


@st.composite
def worlds(draw: st.DrawFn) -> list[Raw]:
    documents = [draw(nodes(name)) for name in NODES]
    documents += [draw(pods(f"p{number}")) for number in range(draw(st.integers(0, 4)))]
    for number, kind in enumerate(
        draw(st.lists(st.sampled_from(["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"]), max_size=2))
    ):
        fields: dict[str, Any] = {"tolerations": draw(tolerations())}
        sizes = {"DaemonSet": {}, "Job": {"parallelism": draw(st.integers(0, 3))}}
        size = sizes.get(kind, {"replicas": draw(st.integers(0, 3))})
        documents.append(workload(kind, f"w{number}", draw(CPU), fields, **size))
    if draw(st.booleans()):
        hard = {"pods": str(draw(st.integers(0, 4)))}
        documents.append(
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
        )
    if draw(st.booleans()):
        limits = [{"type": "Container", "max": {"cpu": "1"}}]
        documents.append(
            {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": limits}}
        )
    return documents


CHANGES = st.sampled_from(
    [
        Changes(),
        Changes(),
        Changes(drains=("n0",)),
        Changes(removes=("n1",)),
        Changes(drains=("n0",), removes=("n0",)),
        Changes(cordons=("n2",)),
    ]
)


def wanted(simulation: Simulation, kind: Any, view: Any) -> int:
    """How many pods a workload asks for, by its spec and its status."""
    if kind is KINDS.DAEMON_SET:
        return int(view.status.desiredNumberScheduled)
    if kind is KINDS.JOB:
        return int(view.spec.parallelism)
    return int(view.spec.replicas)


def check_sum(documents: list[Raw], outcome: Outcome, simulation: Simulation) -> None:
    """The lines are the pods of the input, and those that controllers made, refused to them, or will make."""
    given_pods = sum(one["kind"] == "Pod" for one in documents)
    created = len(simulation.api.created_pods)
    refused = sum(one.refused for one in outcome.failed)
    later = sum(line.reason == "NotCreated" for line in outcome.pods)
    counts = outcome.count()
    assert sum(counts.values()) == given_pods + created + refused + later
    assert counts == Counter(line.state for line in outcome.pods) + Counter({State.REFUSED: refused}) | {
        state: counts[state] for state in State if not counts[state]
    }
    present = Counter(line.key for line in outcome.pods if line.is_present)
    assert all(number == 1 for number in present.values())
    unexplained = (State.BOUND, State.PLACED, State.SUCCEEDED, State.ENDED)
    assert [line for line in outcome.pods if not line.reason and line.state not in unexplained] == []


def check_workloads(outcome: Outcome, simulation: Simulation) -> None:
    """Every workload has the pods that it asks for, or it is counted how many of them it lacks."""
    if simulation.stopped:
        return
    missing = {one.workload: one.refused for one in outcome.failed}
    for kind in (KINDS.REPLICA_SET, KINDS.STATEFUL_SET, KINDS.DAEMON_SET, KINDS.JOB):
        for owner in simulation.world.all(kind):
            active = 0
            for one in simulation.world.in_namespace(KINDS.POD, owner.namespace):
                reference = controller_of(one.view.metadata)
                active += reference is not None and reference.uid == owner.uid and is_active(one.view)
            _, namespace, name = simulation.workload_of(owner)
            later = sum(
                line.reason == "NotCreated" and line.workload.endswith(f" {namespace}/{name}") for line in outcome.pods
            )
            label = " ".join((simulation.workload_of(owner)[0], f"{namespace}/{name}"))
            assert active + later + missing.get(label, 0) == wanted(simulation, kind, owner.view), label


def law_of_the_sum(until: float | None = None) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(worlds(), CHANGES)
    def law(documents: list[Raw], changes: Changes) -> None:
        planner = Planner(Settings(gates_from(GATES)))
        planner.load(written(*documents))
        simulation = planner.build(lives=until is not None)
        outcome, _, _ = planner.answer(simulation, changes, (), until=until)
        check_sum(documents, outcome, simulation)
        if until is None:
            check_workloads(outcome, simulation)

    return law


@pytest.mark.parametrize("until", [None, 100.0])
def test_the_sum_of_all_lines_is_the_number_of_all_pods(until: float | None) -> None:
    law_of_the_sum(until)()


def test_a_plan_that_forgets_pods_that_are_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    every = PodRows.all
    monkeypatch.setattr(PodRows, "all", lambda rows: [one for one in every(rows) if one.is_present])
    assert_notices(law_of_the_sum())
