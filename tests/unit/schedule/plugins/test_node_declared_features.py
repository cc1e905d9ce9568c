"""NodeDeclaredFeatures: as TestPreFilter, TestFilter and the queueing hints of nodedeclaredfeatures_test.go."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import alone, candidates_of, cluster_of, node, passing, pod, verdicts

from moorage.columns.cluster import Cluster
from moorage.model.gates import gates_from
from moorage.schedule.framework.events import Event, EventKind, node_events, own_events
from moorage.schedule.framework.plugin import Code, check_plugin
from moorage.schedule.plugins.node_declared_features import NodeDeclaredFeatures

RULES = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]
RESTARTS: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "restartPolicyRules": RULES}]}
NAMESPACED: dict[str, Any] = {"hostNetwork": True, "hostUsers": False}
FEATURE, OTHER = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"


def declaring(name: str, *features: str) -> Any:
    return node(name, status={"declaredFeatures": list(features)})


def cluster() -> Cluster:
    return cluster_of(declaring("both", FEATURE, OTHER), declaring("one", FEATURE), declaring("none"))


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ({}, {"both", "one", "none"}),
        (RESTARTS, {"both", "one"}),
        (NAMESPACED, {"both"}),
        ({**RESTARTS, **NAMESPACED}, {"both"}),
    ],
)
def test_nodes_need_all_features_of_the_pod(spec: dict[str, Any], nodes: set[str]) -> None:
    assert passing(candidates_of(cluster(), pod(**spec))) == nodes
    world = cluster()
    check_plugin(NodeDeclaredFeatures(), world, world.shape_of(pod(**spec), ""))


def test_refusal_has_the_reason_of_kubernetes_and_names_the_features() -> None:
    verdict = verdicts(alone(NodeDeclaredFeatures(), cluster(), pod(**RESTARTS, **NAMESPACED)))["none"]
    assert verdict.reasons == ("node(s) didn't match Pod's required features",)
    assert verdict.details == (f"the node does not declare {FEATURE}, {OTHER}",)
    assert verdict.code is Code.UNRESOLVABLE


def test_plugin_is_left_out_where_its_gate_is_off() -> None:
    assert passing(candidates_of(cluster(), pod(**RESTARTS), gates_from({"AllBeta": False}))) == {"both", "one", "none"}


def test_node_that_declares_more_is_looked_at_again() -> None:
    world = cluster()
    asked = alone(NodeDeclaredFeatures(), world, pod(**RESTARTS))
    assert passing(asked) == {"both", "one"}
    world.update_node(declaring("none", FEATURE))
    assert passing(asked) == {"both", "one", "none"}


def hinted(event: Event) -> bool:
    world = cluster()
    shape = world.shape_of(pod(**RESTARTS), "")
    want = NodeDeclaredFeatures().prepare(shape, world).want
    return any(
        event.kind in row.kinds and (row.hint is None or row.hint(want, shape, event, world))
        for row in NodeDeclaredFeatures.requeue_on
    )


def test_events_that_may_help_are_those_of_kubernetes() -> None:
    changed = node_events(declaring("n"), declaring("n", FEATURE))
    assert [event.kind for event in changed] == [EventKind.NODE_DECLARED_FEATURES]
    assert all(map(hinted, changed))
    assert all(map(hinted, node_events(None, declaring("n"))))
    assert not any(map(hinted, node_events(node("n", {"a": "b"}), node("n"))))
    assert any(map(hinted, own_events("p", pod(), pod(**RESTARTS))))
    assert not any(map(hinted, own_events("p", pod(**RESTARTS), pod(labels={"a": "b"}, **RESTARTS))))
