"""One pod on its way through the queue, and pods that wait for the same thing.

Ten thousand replicas that do not fit wait as one: what an event may do for one of them it may do for all, so hints are
asked per `WaitingGroup`, and only those groups are asked about that are filed where the event is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from moorage.columns.cluster import PodRecord
from moorage.columns.pod_classes import Label
from moorage.columns.shape import Shape
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER
from moorage.schedule.framework.events import Event, EventKind
from moorage.schedule.framework.requeue import RequeueTable


class Place(Enum):
    """Where in the queue a pod is."""

    ACTIVE = auto()
    BACKOFF = auto()
    UNSCHEDULABLE = auto()
    GATED = auto()
    IN_FLIGHT = auto()
    NOWHERE = auto()


class Happening(Enum):
    """What moves a pod from one place to another, besides the events of the cluster; the values are Kubernetes'."""

    POD_ADDED = "UnschedulablePodAdd"
    POD_UPDATED = "UnschedulablePodUpdate"
    ATTEMPT_FAILED = "ScheduleAttemptFailure"
    BACKED_OFF = "BackoffComplete"
    WAITED_LONG = "UnschedulableTimeout"
    ACTIVATED = "ForceActivate"


class QueuedPod:
    """A pod without a node: since when it waits, what was tried, and who said no."""

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
        self.place = Place.NOWHERE
        self.attempts = 0
        self.unschedulable = 0  # how often no node was found
        self.errors = 0  # how often in a row something else went wrong
        self.backoff_until = since
        self.rejected_by: frozenset[str] = frozenset()
        self.number = 0
        self.group: WaitingGroup | None = None


class WaitingGroup:
    """Pods of one scheduler and one shape that were rejected by the same plugins. `serial` tells who came first."""

    __slots__ = ("filed", "pods", "rejected_by", "scheduler", "serial", "shape")

    def __init__(self, scheduler: str, shape: Shape, rejected_by: frozenset[str], serial: int) -> None:
        self.scheduler = scheduler
        self.shape = shape
        self.rejected_by = rejected_by
        self.serial = serial
        self.pods: dict[str, QueuedPod] = {}
        self.filed: list[_Drawer] = []  # wherever it is to be found


class _Drawer(NamedTuple):
    """Groups in one place; and, if the place has a label, the places among which it is one."""

    groups: dict[WaitingGroup, None]
    label: Label = ("", "")
    of: dict[Label, dict[WaitingGroup, None]] | None = None

    def take_out(self, group: WaitingGroup) -> None:
        """Labels under which nobody is any more must not pile up."""
        del self.groups[group]
        if self.of is not None and not self.groups:
            del self.of[self.label]


class _File:
    """Groups that one plugin rejected, by the labels without which an event's pod does not help them."""

    __slots__ = ("by_label", "unfiled")

    def __init__(self) -> None:
        self.by_label: dict[Label, dict[WaitingGroup, None]] = {}
        self.unfiled: dict[WaitingGroup, None] = {}

    def concerned(self, event: Event) -> list[WaitingGroup]:
        """Those whom the event may help, in the order in which they came."""
        found = dict(self.unfiled)
        for pod in (event.old, event.new):
            if pod is not None:
                for label in pod.metadata.labels.items():
                    found.update(self.by_label.get(label, ()))
        return sorted(found, key=_serial)


def _serial(group: WaitingGroup) -> int:
    return group.serial


class WaitingGroups:
    """All groups, found by who rejected them and what may help them. `tables` has the hints by scheduler name."""

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
        """The groups to ask about an event, each once."""
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
