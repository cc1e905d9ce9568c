"""What events mean: which ones a change makes, and whom each plugin would wake."""

from typing import Any

import msgspec
import pytest
from tests.unit.schedule.clusters import Raw, cluster_of, node, pod, requests

from moorage.columns.cluster import Cluster
from moorage.model.gates import default_gates
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.framework.events import Event, EventKind, node_events, own_events, pod_events
from moorage.schedule.waiting_pods import RequeueTable

K = EventKind
PROFILE = default_profile(default_gates())


def helps(plugin: str, waiting: Pod, event: Event, cluster: Cluster | None = None) -> bool:
    """Whether the plugin, which rejected the pod, may think differently after the event."""
    cluster = cluster if cluster is not None else cluster_of(node("n"))
    shape = cluster.shape_of(waiting, waiting.spec.nodeName)
    candidates = Candidates(PROFILE, shape, cluster)
    prepared = {one.name: made for one, made in candidates.prepared.items()}
    candidates.feasible()

    def want_of(name: str, _: Any) -> tuple[Any] | None:
        made = prepared[name]
        return (made.want,) if made.filters or made.rejection is not None else None

    return RequeueTable(PROFILE.filters, cluster, want_of).may_help(shape, frozenset({plugin}), event)


def kinds(events: tuple[Event, ...]) -> set[EventKind]:
    return {event.kind for event in events}


# -- which events -------------------------------------------------------------------------------------------------


def sized(**allocatable: str) -> Node:
    return node("n", status={"allocatable": {"cpu": "4", "pods": "10", **allocatable}})


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        (None, node("n"), {K.NODE_ADDED}),
        (node("n"), None, {K.NODE_REMOVED}),
        (node("n"), node("n"), set()),
        (node("n"), node("n", {"zone": "a"}), {K.NODE_LABELS}),
        (node("n"), node("n", unschedulable=True), {K.NODE_TAINTS}),
        (node("n"), node("n", taints=[{"key": "a", "effect": "NoSchedule"}]), {K.NODE_TAINTS}),
        (sized(), sized(cpu="5"), {K.NODE_ALLOCATABLE}),
        (sized(), node("n", {"zone": "a"}, unschedulable=True), {K.NODE_ALLOCATABLE, K.NODE_LABELS, K.NODE_TAINTS}),
    ],
)
def test_node_events(old: Node | None, new: Node | None, made: set[EventKind]) -> None:
    assert kinds(node_events(old, new)) == made


def ending(one: Pod) -> Pod:
    metadata = msgspec.structs.replace(one.metadata, deletionTimestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(one, metadata=metadata)


@pytest.mark.parametrize(
    ("new", "made"),
    [
        (pod(), set()),
        (pod(labels={"app": "web"}), {K.POD_LABELS}),
        (ending(pod()), {K.POD_ENDING}),
        (pod(containers=requests(cpu="1")), set()),
    ],
)
def test_pod_events(new: Pod, made: set[EventKind]) -> None:
    assert kinds(pod_events(pod(), new)) == made


def test_scaling_down_is_an_event_and_scaling_up_is_none() -> None:
    large, small = pod(containers=requests(cpu="2", memory="1Gi")), pod(containers=requests(cpu="1", memory="2Gi"))
    assert kinds(pod_events(large, small)) == {K.POD_SCALED_DOWN}
    assert kinds(own_events("default/p", large, small)) == {K.OWN_SCALED_DOWN}
    more = pod(containers=requests(cpu="3", memory="1Gi"))
    assert pod_events(large, more) == ()
    assert kinds(own_events("default/p", large, more)) == {K.OWN_OTHER}


def test_own_events() -> None:
    changed = pod(labels={"app": "web"}, tolerations=[{"operator": "Exists"}])
    assert kinds(own_events("default/p", pod(), changed)) == {K.OWN_LABELS, K.OWN_TOLERATIONS}


# -- hints about nodes --------------------------------------------------------------------------------------------

TAINTED = [{"key": "sla", "value": "80", "effect": "NoSchedule"}]
TOLERANT = pod(tolerations=[{"key": "sla", "value": "80"}])


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        (pod(), None, node("n"), True),
        (pod(), None, node("n", taints=TAINTED), False),
        (pod(), node("n", taints=TAINTED), node("n"), True),
        (pod(), node("n", taints=TAINTED), node("n", taints=[*TAINTED, {"key": "a", "effect": "NoExecute"}]), False),
        (pod(), node("n"), node("n", taints=[{"key": "a", "effect": "PreferNoSchedule"}]), False),
        (TOLERANT, node("n", taints=[{"key": "a", "effect": "NoExecute"}]), node("n", taints=TAINTED), True),
        (TOLERANT, node("n", taints=TAINTED), node("n"), False),
    ],
)
def test_taints(waiting: Pod, old: Node | None, new: Node, expected: bool) -> None:
    events = node_events(old, new)
    assert any(helps("TaintToleration", waiting, event) for event in events) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, node("n"), True),
        (None, node("n", unschedulable=True), False),
        (node("n", unschedulable=True), node("n"), True),
        (node("n"), node("n", unschedulable=True), False),
        (node("n"), node("n", taints=TAINTED), False),
    ],
)
def test_cordons(old: Node | None, new: Node, expected: bool) -> None:
    assert any(helps("NodeUnschedulable", pod(), event) for event in node_events(old, new)) is expected


def test_tolerations_of_its_own() -> None:
    event = Event(K.OWN_TOLERATIONS, of="default/p")
    assert helps("TaintToleration", pod(), event)
    assert not helps("NodeUnschedulable", pod(), event)
    assert helps("NodeUnschedulable", pod(tolerations=[{"operator": "Exists"}]), event)


def test_names() -> None:
    waiting = pod(nodeName="m")
    assert helps("NodeName", waiting, Event(K.NODE_ADDED, None, node("m")))
    assert not helps("NodeName", waiting, Event(K.NODE_ADDED, None, node("o")))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, sized(), True),
        (None, sized(cpu="1"), False),
        (None, sized(pods="0"), False),
        (sized(cpu="1"), sized(cpu="2"), True),
        (sized(cpu="1"), sized(cpu="1500m"), False),
        (sized(cpu="2"), sized(cpu="2", memory="1Gi"), False),
        (sized(cpu="2"), sized(cpu="2", pods="20"), True),
        (sized(cpu="3"), sized(cpu="2"), False),
    ],
)
def test_amounts_of_a_node(old: Node | None, new: Node, expected: bool) -> None:
    waiting = pod(containers=requests(cpu="2"))
    assert any(helps("NodeResourcesFit", waiting, event) for event in node_events(old, new)) is expected


def test_amounts_of_pods() -> None:
    waiting = pod(containers=requests(cpu="2"))
    assert helps("NodeResourcesFit", waiting, Event(K.POD_REMOVED, pod()))
    assert helps("NodeResourcesFit", waiting, Event(K.OWN_SCALED_DOWN, of="default/p"))
    large, less_cpu, less_memory = (
        pod(containers=requests(cpu=cpu, memory=memory)) for cpu, memory in (("2", "2Gi"), ("1", "2Gi"), ("2", "1Gi"))
    )
    assert helps("NodeResourcesFit", waiting, Event(K.POD_SCALED_DOWN, large, less_cpu))
    assert not helps("NodeResourcesFit", waiting, Event(K.POD_SCALED_DOWN, large, less_memory))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, node("n", {"disk": "ssd"}), True),
        (None, node("n", {"disk": "hdd"}), False),
        (node("n"), node("n", {"disk": "ssd"}), True),
        (node("n", {"disk": "ssd"}), node("n", {"disk": "ssd", "zone": "a"}), False),
        (node("n", {"disk": "ssd"}), node("n"), False),
    ],
)
def test_node_labels(old: Node | None, new: Node, expected: bool) -> None:
    waiting = pod(nodeSelector={"disk": "ssd"})
    assert any(helps("NodeAffinity", waiting, event) for event in node_events(old, new)) is expected


@pytest.mark.parametrize(
    ("freed", "expected"),
    [
        ({"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 81}, False),
        ({"containerPort": 80}, False),
    ],
)
def test_ports(freed: Raw, expected: bool) -> None:
    waiting = pod(containers=[{"name": "c", "ports": [{"hostPort": 80}]}])
    gone = pod(containers=[{"name": "c", "ports": [freed]}])
    assert helps("NodePorts", waiting, Event(K.POD_REMOVED, gone)) is expected


# -- hints about other pods ---------------------------------------------------------------------------------------

WEB, DB = {"app": "web"}, {"app": "db"}


def near(*apps: str, kind: str = "podAffinity", **more: Any) -> Raw:
    terms = [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone", **more} for app in apps]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def far(*apps: str, **more: Any) -> Raw:
    return near(*apps, kind="podAntiAffinity", **more)


@pytest.mark.parametrize(
    ("spec", "labels", "event", "expected"),
    [
        (near("web"), {}, Event(K.POD_ADDED, None, pod(labels=WEB)), True),
        (near("web"), {}, Event(K.POD_ADDED, None, pod(labels=DB)), False),
        (far("web"), {}, Event(K.POD_ADDED, None, pod(labels=WEB)), False),
        (far("web", "db"), {}, Event(K.POD_REMOVED, pod(labels=WEB)), True),
        (far("web"), {}, Event(K.POD_REMOVED, pod(labels=DB)), False),
        (near("web"), {}, Event(K.POD_REMOVED, pod(labels=WEB)), False),
        (near("web"), WEB, Event(K.POD_REMOVED, pod(labels=WEB)), True),
        ({}, WEB, Event(K.POD_REMOVED, pod(**far("web"))), True),
        ({}, DB, Event(K.POD_REMOVED, pod(**far("web"))), False),
        (near("web"), {}, Event(K.POD_LABELS, pod(labels=DB), pod(labels=WEB)), True),
        (near("web"), {}, Event(K.POD_LABELS, pod(labels=WEB), pod(labels=DB)), False),
        (near("web"), WEB, Event(K.POD_LABELS, pod(labels=WEB), pod(labels=DB)), True),
        (far("web", "db"), {}, Event(K.POD_LABELS, pod(labels=WEB), pod(labels=DB)), True),
        (far("web"), {}, Event(K.POD_LABELS, pod(labels=DB), pod(labels=WEB)), False),
        (near("web"), {}, Event(K.NODE_ADDED, None, node("m", {"zone": "a"})), True),
        (near("web"), {}, Event(K.NODE_ADDED, None, node("m")), False),
        (far("web"), {}, Event(K.NODE_ADDED, None, node("m")), True),
        ({}, WEB, Event(K.NODE_ADDED, None, node("m")), True),
        (far("web"), {}, Event(K.NODE_LABELS, node("n", {"zone": "a"}), node("n", {"zone": "b"})), True),
        (far("web"), {}, Event(K.NODE_LABELS, node("n", {"disk": "a"}), node("n", {"disk": "b"})), False),
        (near("web"), {}, Event(K.NAMESPACE_LABELS), True),
        (near("web"), {}, Event(K.OWN_LABELS), True),
        (near("web"), {}, Event(K.NODE_TAINTS, node("n", taints=TAINTED), node("n")), False),
    ],
)
def test_pod_affinity(spec: Raw, labels: Raw, event: Event, expected: bool) -> None:
    assert helps("InterPodAffinity", pod(labels=labels, **spec), event) is expected


def test_pod_affinity_across_namespaces() -> None:
    cluster = cluster_of(node("n"))
    cluster.set_namespace("team", {"team": "a"})
    metadata = msgspec.structs.replace(pod(labels=WEB).metadata, namespace="team")
    gone = Event(K.POD_REMOVED, msgspec.structs.replace(pod(), metadata=metadata))
    selected = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
    assert helps("InterPodAffinity", pod(**far("web", **selected)), gone, cluster)
    assert not helps("InterPodAffinity", pod(**far("web")), gone, cluster)


def spread(**more: Any) -> Pod:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **more}
    return pod(
        topologySpreadConstraints=[{"labelSelector": {"matchLabels": WEB}, **constraint}], nodeSelector={"a": "b"}
    )


ZONE = {"zone": "a", "a": "b"}


@pytest.mark.parametrize(
    ("waiting", "event", "expected"),
    [
        (spread(), Event(K.POD_ADDED, None, pod(labels=WEB)), True),
        (spread(), Event(K.POD_ADDED, None, pod(labels=DB)), False),
        (spread(), Event(K.POD_REMOVED, pod(labels=WEB)), True),
        (spread(), Event(K.POD_REMOVED, pod(labels=DB)), False),
        (spread(), Event(K.POD_ENDING, pod(labels=WEB), ending(pod(labels=WEB))), True),
        (spread(), Event(K.POD_LABELS, pod(labels=WEB), pod(labels=DB)), True),
        (spread(), Event(K.POD_LABELS, pod(labels=DB), pod(labels={})), False),
        (spread(), Event(K.OWN_LABELS), True),
        (spread(), Event(K.NODE_ADDED, None, node("m", ZONE)), True),
        (spread(), Event(K.NODE_ADDED, None, node("m")), False),
        (spread(), Event(K.NODE_REMOVED, node("m", ZONE)), True),
        (spread(), Event(K.NODE_REMOVED, node("m")), False),
        (spread(), Event(K.NODE_LABELS, node("n", ZONE), node("n")), True),
        (spread(), Event(K.NODE_LABELS, node("n", ZONE), node("n", {**ZONE, "zone": "b"})), True),
        (spread(), Event(K.NODE_LABELS, node("n", ZONE), node("n", {**ZONE, "disk": "ssd"})), False),
        (spread(), Event(K.NODE_LABELS, node("n", ZONE), node("n", {**ZONE, "a": "c"})), True),
        (spread(nodeAffinityPolicy="Ignore"), Event(K.NODE_LABELS, node("n", ZONE), node("n", {"zone": "a"})), False),
        (spread(), Event(K.NODE_TAINTS, node("n", ZONE, taints=TAINTED), node("n", ZONE)), False),
        (
            spread(nodeTaintsPolicy="Honor"),
            Event(K.NODE_TAINTS, node("n", ZONE, taints=TAINTED), node("n", ZONE)),
            True,
        ),
        (spread(nodeTaintsPolicy="Honor"), Event(K.NODE_TAINTS, node("n", taints=TAINTED), node("n")), False),
    ],
)
def test_spread(waiting: Pod, event: Event, expected: bool) -> None:
    assert helps("PodTopologySpread", waiting, event) is expected


def test_pods_of_other_namespaces_are_not_spread_with() -> None:
    metadata = msgspec.structs.replace(pod(labels=WEB).metadata, namespace="team")
    gone = Event(K.POD_REMOVED, msgspec.structs.replace(pod(), metadata=metadata))
    assert not helps("PodTopologySpread", spread(), gone)


@pytest.mark.parametrize("plugin", [plugin.name for plugin in PROFILE.filters])
def test_every_filter_has_rows(plugin: str) -> None:
    rows = {one.name: one.requeue_on for one in PROFILE.filters}[plugin]
    assert rows
    assert any(K.NODE_ADDED in row.kinds for row in rows)
