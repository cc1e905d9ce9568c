"""Hold queued pods, the groups in which they wait for the same thing, and the table of events that may help a group.

Ten thousand replicas that do not fit wait as one group: hints are asked per group. Groups that wait for pods with a
certain label are filed under that label and not asked about others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Any

import msgspec

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.pod_classes import Label
from moorage.columns.shape import Shape
from moorage.match.evaluation.accounts import Undecided
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER
from moorage.schedule.framework.events import Event, EventKind, Requeue, on
from moorage.schedule.framework.plugin import Plugin


class QueueState(Enum):
    """The part of the queue in which a pod is."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    NOWHERE = "nowhere"


class QueueMove(Enum):
    """What moves a pod to another part of the queue, besides cluster events; the values are Kubernetes'."""

    POD_ADDED = "UnschedulablePodAdd"
    POD_UPDATED = "UnschedulablePodUpdate"
    ATTEMPT_FAILED = "ScheduleAttemptFailure"
    BACKED_OFF = "BackoffComplete"
    WAITED_LONG = "UnschedulableTimeout"
    ACTIVATED = "ForceActivate"


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod without a node: since when it waits, its attempts, and the plugins that rejected it."""

    record: PodRecord
    since: float
    key: str = field(init=False)
    scheduler: str = field(init=False)
    entered: float = field(init=False)  # to the queue, before the first attempt
    backoff_until: float = field(init=False)
    held_until: float = 0.0  # because another pod is about to get its ResourceClaim; 0 before it was held
    evaluated_until: float = 0.0  # before an event says that expressions are being evaluated; 0 while none are
    place: QueueState = QueueState.NOWHERE
    attempts: int = 0
    unschedulable: int = 0  # how often no node was found
    errors: int = 0  # how often in a row something else went wrong
    rejected_by: frozenset[str] = frozenset()
    number: int = 0
    group: WaitingGroup | None = None

    def __post_init__(self) -> None:
        self.key = self.record.key
        self.scheduler = self.record.pod.spec.schedulerName or DEFAULT_SCHEDULER
        self.entered = self.backoff_until = self.since


class WaitingGroup(msgspec.Struct, eq=False):
    """Pods of one scheduler and one shape that the same plugins rejected; `serial` gives their order."""

    scheduler: str
    shape: Shape
    rejected_by: frozenset[str]
    serial: int
    pods: dict[str, QueuedPod] = msgspec.field(default_factory=dict)
    filed: list[tuple[_ByLabel, Label | None]] = msgspec.field(default_factory=list)  # where it is filed


_ByLabel = dict[Label | None, dict[WaitingGroup, None]]


class WaitingGroups:
    """All groups, by the plugins that rejected them and by what may help them."""

    def __init__(self, tables: Mapping[str, RequeueTable]) -> None:
        self._tables = tables
        self._serial = 0
        self._groups: dict[tuple[str, int, frozenset[str]], WaitingGroup] = {}
        # By scheduler, plugin and, where a plugin's hint goes by the labels of the event's pod, the kind of events:
        # groups by the label that may help them, and under None those that any event may help.
        self._filed: dict[tuple[str, str, EventKind | None], _ByLabel] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, pod: QueuedPod) -> None:
        scheduler = pod.scheduler
        key = (scheduler, pod.record.shape.number, pod.rejected_by)
        group = self._groups.get(key)
        if group is None:
            self._serial += 1
            group = self._groups[key] = WaitingGroup(scheduler, pod.record.shape, pod.rejected_by, self._serial)
            self._file(group)
        group.pods[pod.key] = pod
        pod.group = group

    def _file(self, group: WaitingGroup) -> None:
        table = self._tables.get(group.scheduler)
        for plugin in group.rejected_by:
            for kind in (None, *(table.filed_kinds(plugin) if table is not None else ())):
                needed = table.needs(plugin, kind, group.shape) if table is not None and kind is not None else None
                by_label = self._filed.setdefault((group.scheduler, plugin, kind), {})
                for label in (None,) if needed is None else dict.fromkeys(needed):
                    by_label.setdefault(label, {})[group] = None
                    group.filed.append((by_label, label))

    def remove(self, pod: QueuedPod) -> None:
        group, pod.group = pod.group, None
        if group is None:
            return
        del group.pods[pod.key]
        if not group.pods:
            del self._groups[group.scheduler, group.shape.number, group.rejected_by]
            for by_label, label in group.filed:
                del by_label[label][group]
                if not by_label[label]:
                    del by_label[label]

    def concerned(self, scheduler: str, table: RequeueTable, event: Event) -> Iterator[WaitingGroup]:
        """Return the groups to ask about an event, each once."""
        met: set[WaitingGroup] = set()
        for plugin in sorted(table.interested(event.kind)):
            goes_by_labels = table.goes_by_labels(plugin, event)
            by_label = self._filed.get((scheduler, plugin, event.kind if goes_by_labels else None), {})
            groups = dict(by_label.get(None, ()))
            if goes_by_labels:
                for pod in (event.old, event.new):
                    for label in pod.metadata.labels.items() if pod is not None else ():
                        groups.update(by_label.get(label, ()))
            for group in sorted(groups, key=attrgetter("serial")) if goes_by_labels else groups:
                if group not in met:
                    met.add(group)
                    yield group

    def __iter__(self) -> Iterator[WaitingGroup]:
        return iter(list(self._groups.values()))


# No plugin rejects a pod when there are no nodes; this stands for the one that would.
NO_NODES = "NoNodes"
_ON_FIRST_NODE = (on(EventKind.NODE_ADDED),)


class RequeueTable:
    """The rows of all plugins of one profile. `want_of` returns what a plugin wants for a shape."""

    def __init__(
        self, plugins: Iterable[Plugin[Any]], cluster: Cluster, want_of: Callable[[str, Shape], tuple[Any] | None]
    ) -> None:
        self._cluster = cluster
        self._want_of = want_of
        rows: dict[str, tuple[Requeue, ...] | None] = {plugin.name: plugin.requeue_on for plugin in plugins}
        rows[NO_NODES] = _ON_FIRST_NODE
        self._rows = {name: None if hints is None else _by_kind(hints) for name, hints in rows.items()}
        # What is filed by labels: plugins that have one row for a kind of events, and that row has needs.
        self._filed: dict[str, dict[EventKind, Requeue]] = {
            name: {
                kind: rows_of_kind[0]
                for kind, rows_of_kind in hints.items()
                if len(rows_of_kind) == 1 and rows_of_kind[0].needs is not None
            }
            for name, hints in self._rows.items()
            if hints is not None
        }
        self._interested = {
            kind: frozenset(name for name, hints in self._rows.items() if hints is None or kind in hints)
            for kind in EventKind
        }

    def interested(self, kind: EventKind) -> frozenset[str]:
        return self._interested[kind]

    def filed_kinds(self, name: str) -> Iterable[EventKind]:
        """Return the kinds of events for which a plugin's rejected shapes may be filed under labels."""
        return self._filed.get(name, ())

    def needs(self, name: str, kind: EventKind, shape: Shape) -> tuple[Label, ...] | None:
        """Return the labels of which a pod must have one to help the shape; None if that is unknown."""
        row, want = self._filed[name][kind], self._want_of(name, shape)
        return None if want is None or row.needs is None else row.needs(want[0], shape, self._cluster)

    def goes_by_labels(self, name: str, event: Event) -> bool:
        """Return whether the event helps only shapes filed under the labels of its pod."""
        row = self._filed.get(name, {}).get(event.kind)
        return row is not None and row.by_labels(event)

    def may_help(self, shape: Shape, rejected_by: frozenset[str], event: Event) -> bool:
        """Return whether one of the plugins that rejected the shape may accept it after the event."""
        if event.kind is EventKind.OWN_OTHER:
            return True
        return any(self._helps(name, shape, event) for name in rejected_by)

    def _helps(self, name: str, shape: Shape, event: Event) -> bool:
        by_kind = self._rows.get(name)
        if by_kind is None:  # any event may help, as with an unknown plugin
            return True
        hints = by_kind.get(event.kind)
        if hints is None:
            return False
        try:
            want = self._want_of(name, shape)
            if want is None:  # the pod changed, and the plugin has nothing against it any more
                return True
            return any(row.hint is None or row.hint(want[0], shape, event, self._cluster) for row in hints)
        except Undecided:  # it may; the pod's next attempt asks
            return True


def _by_kind(rows: Iterable[Requeue]) -> dict[EventKind, list[Requeue]]:
    table: dict[EventKind, list[Requeue]] = {}
    for row in rows:
        for kind in row.kinds:
            table.setdefault(kind, []).append(row)
    return table
