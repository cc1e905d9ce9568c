"""Nodes of a plan that shut down: what taints evict, and which nodes of another cluster have a kubelet here."""

import pytest
from tests.unit.plan.planning import Raw, node, pod, running

from moorage.model.gates import GateSet, gates_from
from moorage.model.kinds import KINDS
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import State
from moorage.plan.simulation.simulation import Simulation

SHUTDOWN = "simulate.moorage.dev/shutdown"
STOP_DELAY = "simulate.moorage.dev/stop-delay"


def shut_down(document: Raw, periods: str = "0=60s") -> Raw:
    document["metadata"]["annotations"] = {SHUTDOWN: periods}
    return document


def slow(name: str, on: str, delay: str = "50s") -> Raw:
    document = running(name, on)
    document["metadata"]["annotations"] = {STOP_DELAY: delay}
    return document


def observed(document: Raw, status: str, message: str) -> Raw:
    """A node as another cluster has it, with the condition Ready."""
    ready = {"type": "Ready", "status": status, "reason": "KubeletNotReady", "message": message}
    document["metadata"] |= {"uid": f"uid-of-{document['metadata']['name']}", "resourceVersion": "7"}
    document["status"] |= {"allocatable": document["status"]["capacity"], "conditions": [ready]}
    return document


def plan(*documents: Raw, gates: GateSet | None = None) -> tuple[Simulation, Outcome]:
    planner = Planner(Settings(gates or gates_from({})))
    planner.load_objects(list(documents))
    simulation = planner.build(lives=True)
    return simulation, planner.plan(simulation, until=100)


def test_nodes_that_shut_down_are_tainted_one_by_one_after_their_quick_pods_have_ended() -> None:
    nodes = (shut_down(node("n1")), shut_down(node("n2")), node("n3"))
    _, outcome = plan(*nodes, slow("quick", "n1", "0s"), slow("a", "n1"), slow("b", "n2"))
    lines = {line.name: (line.state, line.evicted_after_seconds) for line in outcome.pods}
    assert lines == {"quick": (State.FAILED, None), "a": (State.EVICTED, 0), "b": (State.EVICTED, 10)}


@pytest.mark.parametrize(
    ("status", "message", "ends"),
    [
        ("True", "", True),
        ("False", "node is shutting down", True),
        ("False", "container runtime is down", False),
        ("Unknown", "node is shutting down", False),
    ],
)
def test_a_node_of_another_cluster_that_is_not_ready_for_another_reason_does_not_shut_down(
    status: str, message: str, ends: bool
) -> None:
    bound = running("p", "n1", tolerations=[{"operator": "Exists"}])
    _, outcome = plan(observed(shut_down(node("n1")), status, message), node("n2"), bound)
    (line,) = outcome.pods
    assert (line.state is State.FAILED) is ends


def test_a_node_that_was_shut_down_comes_back_where_the_gate_is_off() -> None:
    document = observed(shut_down(node("n1")), "False", "node is shutting down")
    off = gates_from({"GracefulNodeShutdown": False, "GracefulNodeShutdownBasedOnPodPriority": False})
    simulation, outcome = plan(document, pod("p"), gates=off)
    assert [line.node for line in outcome.pods] == ["n1"]
    (found,) = simulation.world.all(KINDS.NODE)
    assert {one.type: one.status for one in found.view.status.conditions}["Ready"] == "True"
