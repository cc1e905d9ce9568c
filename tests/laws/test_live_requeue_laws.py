"""Whom an event may help: filing by labels leaves out nobody whom a hint would wake."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices
from tests.unit.schedule.clusters import Raw, cluster_of, node

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER, default_profile
from moorage.schedule.framework.events import Event, EventKind, Key
from moorage.schedule.waiting_pods import QueuedPod, RequeueTable, WaitingGroups

_VALUES = st.sampled_from(["x", "y"])
_KEYS = st.sampled_from(["app", "tier"])
_LABELS = st.dictionaries(_KEYS, _VALUES, max_size=2)
_REQUIREMENTS = st.one_of(
    st.builds(lambda key: {"key": key, "operator": "In", "values": ["x", "y"]}, _KEYS),
    st.builds(lambda value: {"key": "app", "operator": "NotIn", "values": [value]}, _VALUES),
    st.just({"key": "tier", "operator": "Exists"}),
)
_SELECTORS = st.one_of(
    st.none(),
    st.builds(lambda labels: {"matchLabels": labels}, _LABELS),
    st.builds(lambda labels, one: {"matchLabels": labels, "matchExpressions": [one]}, _LABELS, _REQUIREMENTS),
)
_REJECTED_BY = [
    frozenset({"InterPodAffinity"}),
    frozenset({"NodePorts", "VolumeRestrictions"}),
    frozenset({"InterPodAffinity", "PodTopologySpread", "NodePorts", "VolumeRestrictions"}),
]
_NAMESPACES = st.sampled_from(["default", "other"])


@st.composite
def terms(draw: st.DrawFn) -> list[Raw]:
    made: list[Raw] = []
    for _ in range(draw(st.integers(0, 2))):
        term: Raw = {"topologyKey": "zone"}
        if (selector := draw(_SELECTORS)) is not None:
            term["labelSelector"] = selector
        if draw(st.booleans()):
            term["namespaces"] = [draw(_NAMESPACES)]
        made.append(term)
    return made


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    spread = [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        for selector in draw(st.lists(_SELECTORS, max_size=2))
        if selector is not None
    ]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"podAffinity": {required: draw(terms())}, "podAntiAffinity": {required: draw(terms())}}
    address, number = draw(st.sampled_from(["", "10.0.0.1"])), draw(st.sampled_from([0, 80, 81]))
    ports = [{"containerPort": 80, "hostPort": number, "hostIP": address}] if number else []
    disks = [{"name": name, "gcePersistentDisk": {"pdName": name}} for name in draw(st.sets(_VALUES))]
    container = {"name": "c", "image": "web:1", "ports": ports}
    spec = {"containers": [container], "affinity": affinity, "topologySpreadConstraints": spread, "volumes": disks}
    metadata = {"name": "p", "namespace": draw(_NAMESPACES), "labels": draw(_LABELS)}
    return convert_view({"metadata": metadata, "spec": spec}, Pod)


@st.composite
def events(draw: st.DrawFn) -> Event:
    kind = draw(
        st.sampled_from([EventKind.POD_ADDED, EventKind.POD_REMOVED, EventKind.POD_ENDING, EventKind.POD_LABELS])
    )
    old, new = draw(pods()), draw(pods())
    if kind is EventKind.POD_ADDED:
        return Event(kind, None, new)
    return Event(kind, old) if kind is EventKind.POD_REMOVED else Event(kind, old, new)


Table = Callable[[Any, Cluster, Any], RequeueTable]


def check(waiting: list[Pod], event: Event, table_of: Table = RequeueTable) -> None:
    cluster = cluster_of(node("n1", {"zone": "a"}))
    profile = default_profile(default_gates())
    candidates: dict[int, Candidates] = {}

    def want_of(name: str, shape: Shape) -> tuple[Any] | None:
        made = candidates.setdefault(shape.number, Candidates(profile, shape, cluster))
        prepared = next(prepared for plugin, prepared in made.prepared.items() if plugin.name == name)
        return (prepared.want,) if prepared.filters or prepared.rejection is not None else None

    table = table_of(profile.filters, cluster, want_of)
    groups = WaitingGroups({DEFAULT_SCHEDULER: table})
    queued = []
    for number, pod in enumerate(waiting):
        one = QueuedPod(cluster.record(f"default/{number}", pod), 0.0)
        one.rejected_by = _REJECTED_BY[number % len(_REJECTED_BY)]
        groups.add(one)
        queued.append(one)
    asked = list(groups.concerned(DEFAULT_SCHEDULER, table, event))
    assert len(asked) == len(set(asked))
    woken = {group for group in asked if table.may_help(group.shape, group.rejected_by, event)}
    assert woken == {group for group in groups if table.may_help(group.shape, group.rejected_by, event)}
    for one in queued:
        groups.remove(one)
    assert not list(groups.concerned(DEFAULT_SCHEDULER, table, event))


@LAW_SETTINGS
@given(st.lists(pods(), min_size=1, max_size=5), events())
def test_nobody_is_left_out(waiting: list[Pod], event: Event) -> None:
    check(waiting, event)


class _Careless(RequeueTable):
    """Forgets to file under the first of the labels that would do."""

    def needs(self, name: str, kind: EventKind, shape: Shape) -> tuple[Key, ...] | None:
        labels = super().needs(name, kind, shape)
        return labels[1:] if labels else labels


def test_the_law_notices_careless_filing() -> None:
    @UNTIL_NOTICED
    @given(st.lists(pods(), min_size=1, max_size=5), events())
    def law(waiting: list[Pod], event: Event) -> None:
        check(waiting, event, _Careless)

    assert_notices(law)
