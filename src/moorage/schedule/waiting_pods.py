"""One pod on its way through the queue, and pods that wait for the same thing.

Ten thousand replicas that do not fit wait as one: what an event may do for one of them it may do for all, so hints are
asked per `WaitingGroup`. Next: `queue`.
"""

from collections.abc import Iterator
from enum import Enum, auto

from moorage.columns.cluster import PodRecord
from moorage.columns.shape import Shape
from moorage.schedule.default_profile import DEFAULT_SCHEDULER


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
    """Pods of one scheduler and one shape that were rejected by the same plugins."""

    __slots__ = ("pods", "rejected_by", "scheduler", "shape")

    def __init__(self, scheduler: str, shape: Shape, rejected_by: frozenset[str]) -> None:
        self.scheduler = scheduler
        self.shape = shape
        self.rejected_by = rejected_by
        self.pods: dict[str, QueuedPod] = {}


class WaitingGroups:
    """All groups, found by who rejected them."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, int, frozenset[str]], WaitingGroup] = {}
        self._rejected_by: dict[tuple[str, str], dict[WaitingGroup, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, pod: QueuedPod) -> None:
        scheduler = pod.scheduler
        key = (scheduler, pod.record.shape.number, pod.rejected_by)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = WaitingGroup(scheduler, pod.record.shape, pod.rejected_by)
            for plugin in pod.rejected_by:
                self._rejected_by.setdefault((scheduler, plugin), {})[group] = None
        group.pods[pod.key] = pod
        pod.group = group

    def remove(self, pod: QueuedPod) -> None:
        group, pod.group = pod.group, None
        if group is None:
            return
        del group.pods[pod.key]
        if not group.pods:
            del self._groups[group.scheduler, group.shape.number, group.rejected_by]
            for plugin in group.rejected_by:
                del self._rejected_by[group.scheduler, plugin][group]

    def rejected_by(self, scheduler: str, plugins: frozenset[str]) -> Iterator[WaitingGroup]:
        """The groups that one of the plugins rejected, each once."""
        met: set[WaitingGroup] = set()
        for plugin in sorted(plugins):
            for group in list(self._rejected_by.get((scheduler, plugin), ())):
                if group not in met:
                    met.add(group)
                    yield group

    def __iter__(self) -> Iterator[WaitingGroup]:
        return iter(list(self._groups.values()))
