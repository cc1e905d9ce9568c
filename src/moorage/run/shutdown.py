"""Shut nodes down gracefully: end their pods group by group, lowest priority first, each group within its period.

A node shuts down while it has the annotation `simulate.moorage.dev/shutdown`: `true`, or periods such as
`0=60s,100000=30s,2000000000=10s`, each with the lowest priority that it is for. A group without pods takes no time,
and the next one begins as soon as all pods of a group have ended. Kubernetes: pkg/kubelet/nodeshutdown, with the gates
GracefulNodeShutdown and GracefulNodeShutdownBasedOnPodPriority.
Differs: without periods there are 20 s for ordinary and 10 s for critical pods, where Kubernetes has no default; pods
that a restarted simulator finds on such a node are ended, too.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from moorage.model.gates import GRACEFUL_NODE_SHUTDOWN, GRACEFUL_NODE_SHUTDOWN_BASED_ON_POD_PRIORITY, GateSet
from moorage.model.go.integers import INT32_MAX, INT32_MIN
from moorage.model.go.times import DurationError, parse_duration
from moorage.model.text.readers import reads_text
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import SIMULATED_SHUTDOWN

TERMINATED: Final = ("Terminated", "Pod was terminated in response to imminent node shutdown.")
NOT_ADMITTED: Final = ("NodeShutdown", "Pod was rejected as the node is shutting down.")
#: Reason and message of the condition Ready.
NOT_READY: Final = ("KubeletNotReady", "node is shutting down")
BEGINS, ENDS = "Shutdown manager detected shutdown event", "Shutdown manager detected shutdown cancellation"
_CRITICAL = 2_000_000_000
_LONGEST_TEXT, _MOST_PERIODS = 1024, 64
_NANOSECONDS = 1_000_000_000
_MOST_DIGITS = 10
_NEVER = float("inf")


class Period(NamedTuple):
    """The seconds for pods of this priority, and of higher ones up to the next period."""

    priority: int
    seconds: int


DEFAULT_PERIODS = (Period(0, 20), Period(_CRITICAL, 10))


@reads_text("0", "=", "1", "s", ",", "-", longest=_LONGEST_TEXT)
def read_periods(text: str) -> tuple[Period, ...]:
    """Return the periods of an annotation, by priority; none if it is false or cannot be read."""
    if text == "true":
        return DEFAULT_PERIODS
    if len(text) > _LONGEST_TEXT or not text.isascii():
        return ()
    periods: dict[int, int] = {}
    for item in text.split(","):
        priority, _, period = (part.strip() for part in item.partition("="))
        seconds = _seconds(period)
        digits = priority.removeprefix("-")
        if not digits.isdigit() or len(digits) > _MOST_DIGITS or seconds is None or len(periods) == _MOST_PERIODS:
            return ()
        value = int(priority)
        if not INT32_MIN <= value <= INT32_MAX or value in periods:
            return ()
        periods[value] = seconds
    return tuple(Period(*item) for item in sorted(periods.items()))


def _seconds(text: str) -> int | None:
    try:
        seconds = int(text) if text.isdigit() and len(text) < 10 else parse_duration(text) // _NANOSECONDS
    except (DurationError, ValueError):
        return None
    return seconds if seconds >= 0 else None


def periods_of(node: Node, gates: GateSet) -> tuple[Period, ...]:
    """Return the periods in which a node's pods end; none if it does not shut down."""
    text = node.metadata.annotations.get(SIMULATED_SHUTDOWN)
    if text is None or not gates.enabled(GRACEFUL_NODE_SHUTDOWN):
        return ()
    periods = read_periods(text)
    return periods if gates.enabled(GRACEFUL_NODE_SHUTDOWN_BASED_ON_POD_PRIORITY) or not periods else DEFAULT_PERIODS


def group_of(pod: Pod, periods: tuple[Period, ...]) -> int:
    """Return the index of the period that a pod ends in: of the highest priority that is not above the pod's."""
    return max(bisect_right(periods, (pod.spec.priority or 0, _NEVER)) - 1, 0)


class _Shutdown:
    """One node: its periods, the group that is being ended, and until when that may take."""

    __slots__ = ("group", "periods", "until")

    def __init__(self, periods: tuple[Period, ...]) -> None:
        self.periods, self.group, self.until = periods, -1, 0.0


class Shutdowns:
    """The nodes that are shutting down. `touch` them when one of their pods comes or ends."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._nodes: dict[str, _Shutdown] = {}
        self._touched: set[str] = set()

    def node_changed(self, node: Node) -> bool:
        """Follow a node's annotation; return whether its shutdown begins or ends."""
        name, periods = node.metadata.name, periods_of(node, self._gates)
        if (name in self._nodes) is bool(periods):
            return False  # periods that change meanwhile do not count
        if periods:
            self._nodes[name] = _Shutdown(periods)
            self.touch(name)
        else:
            del self._nodes[name]
        return True

    def node_gone(self, name: str) -> None:
        self._nodes.pop(name, None)

    def touch(self, name: str) -> None:
        if name in self._nodes:
            self._touched.add(name)

    def next_time(self) -> float:
        """Return when to `advance`; infinity if never."""
        if self._touched:
            return 0.0
        return min((shutdown.until for shutdown in self._nodes.values()), default=_NEVER)

    def advance(
        self, now: float, active: Callable[[str], Collection[tuple[str, Pod]]], end: Callable[[str, int], None]
    ) -> None:
        """Begin to end the next group of each node whose turn it is.

        `active` returns the pods of a node that have not ended; `end` ends one within these seconds.
        """
        due = [name for name, shutdown in self._nodes.items() if name in self._touched or shutdown.until <= now]
        self._touched.clear()
        for name in due:
            shutdown = self._nodes[name]
            groups = [(key, group_of(pod, shutdown.periods)) for key, pod in active(name)]
            if shutdown.until == _NEVER:
                if not groups:
                    continue
                shutdown.group = -1  # pods that came after all had ended
            while shutdown.until <= now or all(group > shutdown.group for _, group in groups):
                shutdown.group += 1
                if shutdown.group == len(shutdown.periods):
                    shutdown.until = _NEVER
                    break
                seconds = shutdown.periods[shutdown.group].seconds
                shutdown.until = now + seconds
                for key, group in groups:
                    if group == shutdown.group:
                        end(key, seconds)
