"""Hold queued pods, the groups in which they wait for the same thing, and the table of events that may help a group.

Ten thousand replicas that do not fit wait as one group: hints are asked per group, and one of its pods is tried for
all of them (see `turns`). Groups that wait for pods with a certain label, port, claim or disk are filed under it and
not asked about others.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Any

import msgspec

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape
from moorage.match.evaluation.accounts import Undecided
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER
from moorage.schedule.framework.events import Event, EventKind, Key, Requeue, on
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
    told: str = ""  # why there was no node for it at its last attempt, if every pod of its shape is told the same
    group: WaitingGroup | None = None  # in which it waits
    failures_seen: int = 0  # failures of that group that are counted among its own
    tried_for: WaitingGroup | None = None  # the pods that wait for what becomes of it

    def __post_init__(self) -> None:
        self.key = self.record.key
        self.scheduler = self.record.pod.spec.schedulerName or DEFAULT_SCHEDULER
        self.entered = self.backoff_until = self.since


class WaitingGroup(msgspec.Struct, eq=False):
    """Pods of one scheduler and one shape that the same plugins rejected; `serial` gives their order.

    With `shares`, what the scheduler says to one of them now it would say to all; without, each is tried for itself.
    """

    scheduler: str
    shape: Shape
    rejected_by: frozenset[str]
    shares: bool
    serial: int
    pods: OrderedDict[str, QueuedPod] = msgspec.field(default_factory=OrderedDict)
    filed: list[tuple[_ByKey, Key | None]] = msgspec.field(default_factory=list)  # where it is filed
    answer: str = ""  # what the last of its pods was told
    failures: int = 0  # how often one of its pods failed for all of them
    failed_at: float = 0.0
    is_awake: bool = False  # an event may help it, and what becomes of its first pods is not known yet
    woken_by: EventKind = EventKind.OWN_OTHER
    tried: QueuedPod | None = None  # its first pod, which has left it
    numbers: range = range(0)  # for the places of its pods among those to try, in their order
    is_untold: bool = False  # there is a timer after which its pods are told what they do not know yet
    ages: Counter[int] = msgspec.field(default_factory=Counter)  # by how often the pods failed before the group did

    def join(self, pod: QueuedPod, in_front: bool = False) -> None:
        pod.group, pod.failures_seen = self, self.failures
        self.pods[pod.key] = pod
        self.ages[pod.unschedulable - self.failures] += 1
        if in_front:
            self.pods.move_to_end(pod.key, last=False)

    def leave(self, pod: QueuedPod) -> None:
        pod.group = None
        del self.pods[pod.key]
        age = pod.unschedulable - pod.failures_seen
        self.ages[age] -= 1
        if not self.ages[age]:
            del self.ages[age]


_ByKey = dict[Key | None, dict[WaitingGroup, None]]
_GroupKey = tuple[str, int, frozenset[str], bool]


class WaitingGroups:
    """All groups, by the plugins that rejected them and by what may help them."""

    def __init__(self, tables: Mapping[str, RequeueTable]) -> None:
        self._tables = tables
        self._serial = 0
        self._groups: dict[_GroupKey, WaitingGroup] = {}
        self._of_shape: dict[tuple[str, int], dict[WaitingGroup, None]] = {}
        # By scheduler, plugin and, where a plugin's hint goes by keys of the event, the kind of events: groups by the
        # key that may help them, and under None those that any event may help.
        self._filed: dict[tuple[str, str, EventKind | None], _ByKey] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, pod: QueuedPod, shares: bool = False, in_front: bool = False) -> WaitingGroup:
        shape = pod.record.shape
        key = (pod.scheduler, shape.number, pod.rejected_by, shares)
        group = self._groups.get(key)
        if group is None:
            self._serial += 1
            group = self._groups[key] = WaitingGroup(pod.scheduler, shape, pod.rejected_by, shares, self._serial)
            self._of_shape.setdefault((pod.scheduler, shape.number), {})[group] = None
            self._file(group)
        group.join(pod, in_front)
        return group

    def renew(self, group: WaitingGroup) -> None:
        """Let a group come after all others, as if all its pods had gone and come again."""
        self._serial += 1
        group.serial = self._serial
        for groups in (self._of_shape[group.scheduler, group.shape.number], *(b[filed] for b, filed in group.filed)):
            del groups[group]
            groups[group] = None

    def of_shape(self, scheduler: str, shape: Shape) -> list[WaitingGroup]:
        """Return the groups of one shape."""
        return list(self._of_shape.get((scheduler, shape.number), ()))

    def _file(self, group: WaitingGroup) -> None:
        table = self._tables.get(group.scheduler)
        for plugin in group.rejected_by:
            for kind in (None, *(table.filed_kinds(plugin) if table is not None else ())):
                needed = table.needs(plugin, kind, group.shape) if table is not None and kind is not None else None
                by_key = self._filed.setdefault((group.scheduler, plugin, kind), {})
                for filed in (None,) if needed is None else dict.fromkeys(needed):
                    by_key.setdefault(filed, {})[group] = None
                    group.filed.append((by_key, filed))

    def remove(self, pod: QueuedPod) -> None:
        group = pod.group
        if group is None:
            return
        group.leave(pod)
        if not group.pods:
            del self._groups[group.scheduler, group.shape.number, group.rejected_by, group.shares]
            alike = self._of_shape[group.scheduler, group.shape.number]
            del alike[group]
            if not alike:
                del self._of_shape[group.scheduler, group.shape.number]
            for by_key, filed in group.filed:
                del by_key[filed][group]
                if not by_key[filed]:
                    del by_key[filed]

    def concerned(self, scheduler: str, table: RequeueTable, event: Event) -> Iterator[WaitingGroup]:
        """Return the groups to ask about an event, each once."""
        met: set[WaitingGroup] = set()
        for plugin in sorted(table.interested(event.kind)):
            goes_by_keys = table.goes_by_keys(plugin, event)
            by_key = self._filed.get((scheduler, plugin, event.kind if goes_by_keys else None), {})
            groups = dict(by_key.get(None, ()))
            if goes_by_keys:
                for key in table.keys(plugin, event):
                    groups.update(by_key.get(key, ()))
            for group in sorted(groups, key=attrgetter("serial")) if goes_by_keys else groups:
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
        # What is filed by keys: plugins that have one row for a kind of events, and that row has needs.
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
        """Return the kinds of events for which a plugin's rejected shapes may be filed under keys."""
        return self._filed.get(name, ())

    def needs(self, name: str, kind: EventKind, shape: Shape) -> tuple[Key, ...] | None:
        """Return the keys of which an event must have one to help the shape; None if that is unknown."""
        row, want = self._filed[name][kind], self._want_of(name, shape)
        return None if want is None or row.needs is None else row.needs(want[0], shape, self._cluster)

    def goes_by_keys(self, name: str, event: Event) -> bool:
        """Return whether the event helps only shapes filed under its keys."""
        row = self._filed.get(name, {}).get(event.kind)
        return row is not None and row.by_keys(event)

    def keys(self, name: str, event: Event) -> Iterable[Key]:
        """Return the keys under which the shapes are filed that the event may help."""
        return self._filed[name][event.kind].keys(event)

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
