"""The plugins of few lines: cordons, names, ports, images, gates and the order of the queue."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import alone, candidates_of, cluster_of, node, passing, place, pod, scores, verdicts

from moorage.model.gates import default_gates, gates_from
from moorage.schedule.framework.plugin import Code
from moorage.schedule.plugins.image_locality import ImageLocality, full_name
from moorage.schedule.plugins.node_name import NodeName
from moorage.schedule.plugins.node_ports import NodePorts
from moorage.schedule.plugins.node_unschedulable import NodeUnschedulable
from moorage.schedule.plugins.priority_sort import PrioritySort
from moorage.schedule.plugins.scheduling_gates import SchedulingGates

GATES = default_gates()
MIB = 1024 * 1024

# -- NodeUnschedulable ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (None, False),
        ({"operator": "Exists"}, True),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}, True),
        ({"key": "node.kubernetes.io/unschedulable"}, True),
        ({"key": "node.kubernetes.io/unschedulable", "value": "x"}, False),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"expression": 'taint.key.endsWith("/unschedulable")'}, False),
    ],
)
def test_a_cordoned_node_is_for_pods_that_tolerate_it(toleration: dict[str, Any] | None, tolerated: bool) -> None:
    cluster = cluster_of(node("open"), node("cordoned", unschedulable=True))
    asked = alone(NodeUnschedulable(GATES), cluster, pod(tolerations=[toleration] if toleration else []))
    assert passing(asked) == ({"open", "cordoned"} if tolerated else {"open"})
    if not tolerated:
        verdict = verdicts(asked)["cordoned"]
        assert verdict.reasons == ("node(s) were unschedulable",)
        assert verdict.code is Code.UNRESOLVABLE


def test_an_expression_may_tolerate_a_cordon_behind_its_gate() -> None:
    cluster = cluster_of(node("cordoned", unschedulable=True))
    tolerations = [{"expression": 'taint.key.endsWith("/unschedulable")'}]
    gates = gates_from({"TaintTolerationCEL": True})
    assert passing(alone(NodeUnschedulable(gates), cluster, pod(tolerations=tolerations))) == {"cordoned"}


def test_a_node_can_be_uncordoned() -> None:
    cluster = cluster_of(node("a", unschedulable=True))
    asked = alone(NodeUnschedulable(GATES), cluster, pod())
    assert passing(asked) == set()
    cluster.update_node(node("a"))
    assert passing(asked) == {"a"}


# -- NodeName ------------------------------------------------------------------------------------------------------


def test_a_pod_that_asks_for_a_node_gets_that_one() -> None:
    cluster = cluster_of(node("a"), node("b"))
    asked = alone(NodeName(), cluster, pod(nodeName="b"))
    assert passing(asked) == {"b"}
    assert verdicts(asked)["a"].reasons == ("node(s) didn't match the requested node name",)
    assert passing(alone(NodeName(), cluster, pod(nodeName="ghost"))) == set()
    assert not alone(NodeName(), cluster, pod()).filters


def test_node_name_of_a_bound_pod_is_not_part_of_the_shape() -> None:
    cluster = cluster_of(node("a"), node("b"))
    place(cluster, pod("running", nodeName="a"), "a")
    assert passing(candidates_of(cluster, pod("pending"))) == {"a", "b"}


# -- NodePorts -----------------------------------------------------------------------------------------------------


def ports(*wanted: dict[str, Any]) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", "ports": list(wanted)}]}


@pytest.mark.parametrize(
    ("used", "wanted", "free"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, False),
        ({"hostPort": 80}, {"hostPort": 81}, True),
        ({"hostPort": 80}, {"containerPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, True),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "TCP"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, False),
        ({"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
    ],
)
def test_a_port_is_taken_unless_both_name_other_addresses(
    used: dict[str, Any], wanted: dict[str, Any], free: bool
) -> None:
    cluster = cluster_of(node("a"), node("b"))
    place(cluster, pod("web", **ports(used)), "a")
    asked = alone(NodePorts(), cluster, pod(**ports(wanted)))
    assert passing(asked) == ({"a", "b"} if free else {"b"})
    if not free:
        verdict = verdicts(asked)["a"]
        assert verdict.reasons == ("node(s) didn't have free ports for the requested pod ports",)
        assert verdict.code is Code.UNSCHEDULABLE
        assert verdict.details[0].endswith("is in use by default/web")


def test_a_port_is_free_again_when_its_last_user_has_gone() -> None:
    cluster = cluster_of(node("a"))
    used = ports({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"})
    place(cluster, pod("web", **used), "a")
    asked = alone(NodePorts(), cluster, pod(**ports({"hostPort": 80})))
    assert passing(asked) == set()
    cluster.remove_pod(cluster.pods["default/web"])
    assert passing(asked) == {"a"}


# -- ImageLocality -------------------------------------------------------------------------------------------------


def images(**sizes: int) -> dict[str, Any]:
    return {"images": [{"names": [name], "sizeBytes": size * MIB} for name, size in sizes.items()]}


def with_images(*names: str, **spec: Any) -> dict[str, Any]:
    return {"containers": [{"name": f"c{i}", "image": name} for i, name in enumerate(names)], **spec}


def locality(*nodes: Any, **spec: Any) -> dict[str, int]:
    return scores(alone(ImageLocality(), cluster_of(*nodes), pod(**spec)))


def test_an_image_counts_with_its_size_scaled_by_how_many_nodes_have_it() -> None:
    has = {"images": [{"names": ["web:1"], "sizeBytes": 1000 * MIB}]}
    assert locality(node("a", status=has), node("b", status=has), **with_images("web:1")) == {"a": 100, "b": 100}
    assert locality(node("a", status=has), node("b"), **with_images("web:1")) == {"a": 48, "b": 0}
    assert locality(node("a", status=has), node("b"), **with_images("web:1", "db:1")) == {"a": 24, "b": 0}
    small = {"images": [{"names": ["web:1"], "sizeBytes": 23 * MIB}]}
    assert locality(node("a", status=small), **with_images("web:1")) == {"a": 0}


def test_images_of_init_containers_and_volumes_count() -> None:
    has = {"images": [{"names": ["web:latest"], "sizeBytes": 500 * MIB}]}
    init = [{"name": "i", "image": "web"}]
    assert locality(node("a", status=has), **with_images("db:1", initContainers=init)) == {"a": 24}
    volumes = [{"name": "v", "image": {"reference": "web"}}]
    assert locality(node("a", status=has), **with_images("db:1", volumes=volumes)) == {"a": 48}


def test_a_node_that_comes_or_goes_changes_what_an_image_is_worth_elsewhere() -> None:
    has = {"images": [{"names": ["web:1"], "sizeBytes": 1000 * MIB}]}
    cluster = cluster_of(node("a", status=has), node("b"))
    asked = candidates_of(cluster, pod())
    assert cluster.nodes.node(asked.best()).metadata.name == "a"
    before = scores(alone(ImageLocality(), cluster, pod()))["a"]
    revision = asked.revision()
    cluster.remove_node("b")
    assert asked.revision() != revision
    assert scores(alone(ImageLocality(), cluster, pod()))["a"] > before


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("web", "web:latest"),
        ("web:1", "web:1"),
        ("host:5000/web", "host:5000/web:latest"),
        ("host:5000/web:1", "host:5000/web:1"),
        ("web@sha256:abc", "web@sha256:abc"),
    ],
)
def test_names_of_images_have_a_tag(image: str, name: str) -> None:
    assert full_name(image) == name


# -- SchedulingGates, PrioritySort ---------------------------------------------------------------------------------


def test_a_gated_pod_waits() -> None:
    assert SchedulingGates().pre_enqueue(pod().spec) is None
    verdict = SchedulingGates().pre_enqueue(pod(schedulingGates=[{"name": "a.io/x"}, {"name": "b"}]).spec)
    assert verdict is not None
    assert verdict.reasons == ("waiting for scheduling gates: [a.io/x b]",)


def test_the_queue_is_sorted_by_priority_then_by_time_then_by_arrival() -> None:
    urgent, normal = pod(priority=10).spec, pod().spec
    sort = PrioritySort()
    waiting = [sort.position(normal, 1.0, 0), sort.position(normal, 0.5, 2), sort.position(urgent, 9.0, 3)]
    waiting.append(sort.position(normal, 0.5, 1))
    assert sorted(waiting) == [(-10, 9.0, 3), (0, 0.5, 1), (0, 0.5, 2), (0, 1.0, 0)]
