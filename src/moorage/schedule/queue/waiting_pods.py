"""Queued pods, and groups of pods that wait for the same thing.

Ten thousand replicas that do not fit wait as one group: hints are asked per group, and only for groups that are filed
where the event is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.columns.pod_classes import Label
from moorage.columns.shape import Shape
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER
from moorage.schedule.framework.events import Event, EventKind
from moorage.schedule.framework.requeue import RequeueTable


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


class QueuedPod:
    """A pod without a node: since when it waits, its attempts, and the plugins that rejected it."""

    __slots__ = (
        "attempts",
        "backoff_until",
        "entered",
        "errors",
        "group",
        "key",
        "number",
        "place",
        "record",
        "rejected_by",
        "scheduler",
        "since",
        "unschedulable",
    )

    def __init__(self, record: PodRecord, since: float) -> None:
        self.key = record.key
        self.record = record
        self.scheduler = record.pod.spec.schedulerName or DEFAULT_SCHEDULER
        self.since = since
        self.entered = since  # to the queue, before the first attempt
        self.place = QueueState.NOWHERE
        self.attempts = 0
        self.unschedulable = 0  # how often no node was found
        self.errors = 0  # how often in a row something else went wrong
        self.backoff_until = since
        self.rejected_by: frozenset[str] = frozenset()
        self.number = 0
        self.group: WaitingGroup | None = None


class WaitingGroup(msgspec.Struct, eq=False):
    """Pods of one scheduler and one shape that the same plugins rejected; `serial` gives their order."""

    scheduler: str
    shape: Shape
    rejected_by: frozenset[str]
    serial: int
    pods: dict[str, QueuedPod] = msgspec.field(default_factory=dict)
    filed: list[_Drawer] = msgspec.field(default_factory=list)  # where it is filed


class _Drawer(NamedTuple):
    """One list of groups and, if it is filed under a label, the lists by label."""

    groups: dict[WaitingGroup, None]
    label: Label = ("", "")
    of: dict[Label, dict[WaitingGroup, None]] | None = None

    def take_out(self, group: WaitingGroup) -> None:
        """Remove a group, and the list with it when it is empty."""
        del self.groups[group]
        if self.of is not None and not self.groups:
            del self.of[self.label]


class _File(msgspec.Struct, eq=False):
    """Groups that one plugin rejected, by the labels that an event's pod must have to help them."""

    by_label: dict[Label, dict[WaitingGroup, None]] = msgspec.field(default_factory=dict)
    unfiled: dict[WaitingGroup, None] = msgspec.field(default_factory=dict)

    def concerned(self, event: Event) -> list[WaitingGroup]:
        """Return the groups that the event may help, in order."""
        found = dict(self.unfiled)
        for pod in (event.old, event.new):
            if pod is not None:
                for label in pod.metadata.labels.items():
                    found.update(self.by_label.get(label, ()))
        return sorted(found, key=_serial)


def _serial(group: WaitingGroup) -> int:
    return group.serial


class WaitingGroups:
    """All groups, by the plugins that rejected them and by what may help them."""

    def __init__(self, tables: Mapping[str, RequeueTable]) -> None:
        self._tables = tables
        self._serial = 0
        self._groups: dict[tuple[str, int, frozenset[str]], WaitingGroup] = {}
        self._rejected_by: dict[tuple[str, str], dict[WaitingGroup, None]] = {}
        self._files: dict[tuple[str, str, EventKind], _File] = {}

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
        scheduler = group.scheduler
        table = self._tables.get(scheduler)
        for plugin in group.rejected_by:
            places = [_Drawer(self._rejected_by.setdefault((scheduler, plugin), {}))]
            for kind in table.filed_kinds(plugin) if table is not None else ():
                file = self._files.setdefault((scheduler, plugin, kind), _File())
                labels = table.needs(plugin, kind, group.shape) if table is not None else None
                if labels is None:
                    places.append(_Drawer(file.unfiled))
                else:
                    filed = file.by_label
                    places += [_Drawer(filed.setdefault(one, {}), one, filed) for one in dict.fromkeys(labels)]
            for place in places:
                place.groups[group] = None
            group.filed += places

    def remove(self, pod: QueuedPod) -> None:
        group, pod.group = pod.group, None
        if group is None:
            return
        del group.pods[pod.key]
        if not group.pods:
            del self._groups[group.scheduler, group.shape.number, group.rejected_by]
            for place in group.filed:
                place.take_out(group)

    def concerned(self, scheduler: str, table: RequeueTable, event: Event) -> Iterator[WaitingGroup]:
        """Return the groups to ask about an event, each once."""
        met: set[WaitingGroup] = set()
        for plugin in sorted(table.interested(event.kind)):
            file = self._files.get((scheduler, plugin, event.kind))
            if file is not None and table.goes_by_labels(plugin, event):
                groups = file.concerned(event)
            else:
                groups = list(self._rejected_by.get((scheduler, plugin), ()))
            for group in groups:
                if group not in met:
                    met.add(group)
                    yield group

    def __iter__(self) -> Iterator[WaitingGroup]:
        return iter(list(self._groups.values()))
