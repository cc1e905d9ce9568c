"""Report values of nodes that pods' rules cannot compare: a metric, log lines, and one Event about each such node.

A taint that at least `MANY_PODS` pods cannot compare gets an Event of its node: "taint load=high is not a 64-bit
integer: 37 pods cannot compare it". It is written a moment after the first such pod was tried, so that it counts the
pods that came together; then it is rewritten, once a minute at most, when the number changes, and every half hour while
nothing does. Of nodes that share a taint the first few get it, and a log line counts the others.
Kubernetes: the log lines of KEP-5471, KEP-5721 and KEP-5500. Differs: metric and Events are ours.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.client.pacing import TokenBucket
from moorage.client.protocol import Raw
from moorage.columns.cluster import PodRecord
from moorage.match.comparison import TAINT_VALUE, Unreadable
from moorage.match.taint_messages import UnreadableValues
from moorage.schedule.cycle import Scheduler
from moorage.schedule.framework.plugin import UnreadableOn
from moorage.schedule.live.binder import Recorder
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

REASON = "UnreadableTaint"
#: Fewer pods are a matter of their owners: FailedScheduling tells them.
MANY_PODS = 3
#: Seconds until the first Event, until it is rewritten with another number, and until it is rewritten as it is.
SETTLING, REWRITING, REFRESHING = 2.0, 60.0, 1800.0
#: Of nodes that share a taint; and of all Events that a minute may have.
MAX_NODES, EVENTS_A_MINUTE = 10, 60
_MAX_TAINTS = 256
_MAX_PODS = 10_000
_MAX_NAME = 253
_LOG = get_logger("scheduler")


class _Known(msgspec.Struct, eq=False):
    """A taint that cannot be compared, and the pods that could not. `due` is when to look at it again."""

    slots: NDArray[np.int64]
    due: float
    by: str
    pods: dict[str, str] = msgspec.field(default_factory=dict)
    told: dict[str, str] = msgspec.field(default_factory=dict)
    count: int = 0
    written: float = 0.0


class UnreadableReports:
    """Looks at every pod that was tried. `clock` is monotonic."""

    def __init__(self, scheduler: Scheduler, metrics: Metrics, recorder: Recorder, clock: Callable[[], float]) -> None:
        self._scheduler, self._recorder, self._clock = scheduler, recorder, clock
        self._values = UnreadableValues("scheduler", metrics, "scheduler", remembered=1 << 16)
        self._known: OrderedDict[Unreadable, _Known] = OrderedDict()
        self._pace = TokenBucket(EVENTS_A_MINUTE / 60, EVENTS_A_MINUTE, since=clock())

    def look(self, record: PodRecord, scheduler: str) -> None:
        """Report what one attempt could not compare; pods that compare nothing cost next to nothing."""
        for item in self._scheduler.engines[scheduler].candidates(record.shape).filters:
            if item.plugin.reads_values and item.prepared.rejection is None:
                found: Sequence[UnreadableOn] = item.plugin.unreadable(item.prepared.want, self._scheduler.cluster)
                for one in found:
                    self._tell(one, record, scheduler)

    def _tell(self, one: UnreadableOn, record: PodRecord, scheduler: str) -> None:
        nodes = self._scheduler.cluster.nodes
        where: dict[str, Any] = {"node": nodes.node(int(one.slots[0])).metadata.name} if len(one.slots) else {}
        if len(one.slots) > 1:
            where["moreNodes"] = len(one.slots) - 1
        self._values.tell(one.found, where, record.shape.number, **one.facts, pod=record.key)
        if one.found.source == TAINT_VALUE:
            self._remember(one, record, scheduler)

    def _remember(self, one: UnreadableOn, record: PodRecord, scheduler: str) -> None:
        known = self._known.get(one.found)
        if known is None:
            if len(self._known) >= _MAX_TAINTS:
                self._known.popitem(last=False)
            known = self._known[one.found] = _Known(one.slots, self._clock() + SETTLING, scheduler)
        known.slots = one.slots
        uid = record.pod.metadata.uid
        if known.pods.get(record.key) != uid and len(known.pods) < _MAX_PODS:
            known.pods[record.key] = uid
            again = known.written + REWRITING if known.written else 0.0
            known.due = min(known.due, max(again, self._clock() + SETTLING))

    # -- events about nodes -------------------------------------------------------------------------------------------

    def next_time(self) -> float:
        """Return when `write` has something to do."""
        return min((known.due for known in self._known.values()), default=float("inf"))

    def write(self) -> None:
        """Write the Events that are due."""
        now = self._clock()
        for found, known in list(self._known.items()):
            if known.due <= now:
                self._write(found, known, now)

    def _write(self, found: Unreadable, known: _Known, now: float) -> None:
        names = self._nodes_with(found, known)
        known.pods = {key: uid for key, uid in known.pods.items() if self._is_there(key)}
        if not names or not known.pods:
            del self._known[found]
            return
        known.due = now + REFRESHING
        if len(known.pods) < MANY_PODS:
            return
        many = f"{len(known.pods):,} pods" if len(known.pods) < _MAX_PODS else f"more than {_MAX_PODS:,} pods"
        text = f"{found.sentence}: {many} cannot compare it"
        is_refresh = now - known.written >= REFRESHING
        late = 0
        known.count += 1
        for name in names[:MAX_NODES]:
            if known.told.get(name) == text and not is_refresh:
                continue
            if not self._pace.take(now):
                late += 1
                continue
            known.told[name] = text
            self._report(name, found, text, known)
        known.told = {name: text for name, text in known.told.items() if name in names[:MAX_NODES]}
        known.written = now
        if late:
            known.due = now + REWRITING
        if len(names) > MAX_NODES and self._values.is_new("nodes", found, text):
            _LOG.warning(text, nodes=len(names), withEvent=MAX_NODES)

    def _report(self, node: str, found: Unreadable, text: str, known: _Known) -> None:
        cluster = self._scheduler.cluster
        view = cluster.nodes.node(cluster.nodes.slot_of[node])
        regarding: Raw = {"kind": "Node", "name": node, "uid": view.metadata.uid, "apiVersion": "v1"}
        digest = hashlib.sha256("\0".join((node, *found[:5])).encode()).hexdigest()[:16]
        name = f"{node[: _MAX_NAME - len(digest) - 1]}.{digest}"
        self._recorder.rewrite(regarding, REASON, name, text, known.count, by=known.by)

    def _nodes_with(self, found: Unreadable, known: _Known) -> list[str]:
        """Return the nodes that still have the taint, by name."""
        nodes = self._scheduler.cluster.nodes
        names = []
        for slot in known.slots.tolist():
            node = nodes.nodes[slot] if slot < len(nodes.nodes) else None
            if node is not None and any(t.key == found.key and t.value == found.value for t in node.spec.taints):
                names.append(node.metadata.name)
        return sorted(names)

    def _is_there(self, key: str) -> bool:
        return key in self._scheduler.cluster.pods or key in self._scheduler.queue
