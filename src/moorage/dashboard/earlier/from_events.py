"""Read Events as happenings: placements, preemptions, evictions, deletions, what controllers did, nodes.

Events about containers, images and volumes are left out, as they are from what is seen live. Kubernetes: the texts are
those of the scheduler's Bind and Preempt, controller_utils.go, stateful_pod_control.go, tainteviction and the kubelet.
"""

from collections.abc import Iterable, Iterator

from moorage.client.protocol import Object
from moorage.dashboard.earlier.known import Known, Rank, control
from moorage.dashboard.earlier.owners import ASSIGNED, Owners, made_in
from moorage.model.go.times import seconds_of
from moorage.model.text.patterns import Pattern
from moorage.model.types.core import Event
from moorage.plan.report.reasons import without_preemption
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER
from moorage.watch.happenings import Happening, HappeningKind

_MAX_TEXT = 1000
_PREEMPTED_ON = Pattern(r"(?s)Preempted by .* on node (\S+)")
_SCALED = Pattern(r"Scaled (up|down) replica set (\S+) (?:from (\d+) to (\d+)|to (\d+) from (\d+))")
_CONTROLLED = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"})
_EVICTORS = {
    "TaintManagerEviction": "by a NoExecute taint",
    "DeviceTaintManagerEviction": "by a taint of its device",
}
_OF_NODES = {
    "NodeReady": "is ready",
    "NodeNotReady": "is not ready",
    "NodeSchedulable": "is schedulable again",
    "NodeNotSchedulable": "is cordoned",
    "RegisteredNode": "joined",
    "RemovingNode": "is gone",
}


def known_from_events(events: Iterable[Event], owners: Owners) -> Iterator[Known]:
    """Yield what Events say; those without a time or about other things say nothing."""
    for event in events:
        time = time_of(event)
        if time is None:
            continue
        kind = event.involvedObject.kind
        if kind == "Pod":
            yield from _of_pod(event, time, owners)
        elif kind == "Node":
            yield from _of_node(event, time)
        elif kind in _CONTROLLED:
            yield _of_controller(event, time, owners)


def events_in(items: Iterable[Object]) -> list[Event]:
    return [item.view for item in items]


def time_of(event: Event) -> float | None:
    """Return when an Event happened last."""
    last = event.series.lastObservedTime if event.series is not None else None
    first = event.eventTime or event.firstTimestamp or event.metadata.creationTimestamp
    return seconds_of(last or event.lastTimestamp or first)


def times_text(event: Event) -> str:
    """Return ` (12 times within 90 s)` for an Event that was repeated."""
    count = event.series.count if event.series is not None else event.count
    if count < 2:
        return ""
    first, last = seconds_of(event.firstTimestamp or event.eventTime), time_of(event)
    within = f" within {round(last - first):,} s" if first is not None and last is not None and last > first else ""
    return f" ({count:,} times{within})"


def _of_pod(event: Event, time: float, owners: Owners) -> Iterator[Known]:
    about, reason, message = event.involvedObject, event.reason, event.message
    key = f"{about.namespace}/{about.name}"
    node = owners.node_of(about.uid)
    where = f"from {node} " if node else ""

    def known(kind: HappeningKind, detail: str, what: str, rank: Rank = Rank.EVENT) -> Known:
        happening = Happening(time, kind, key, owners.of_pod(key), _cut(detail) + times_text(event))
        return Known(happening, _actor(event), (what, key, about.uid), rank)

    if reason == "Scheduled" and (assigned := ASSIGNED.fullmatch(message)) is not None:
        yield known(HappeningKind.PLACED, f"on {assigned[1]}", "placed")
    elif reason == "FailedScheduling":
        yield known(HappeningKind.PENDING, f"Unschedulable: {without_preemption(message)}", "pending")
    elif reason == "Preempted":
        on = _PREEMPTED_ON.fullmatch(message)
        where = f"from {on[1]} " if on is not None else where
        yield known(HappeningKind.PREEMPTED, f"{where}by a pod of higher priority", "left", Rank.CAUSE)
    elif reason in _EVICTORS:
        if "Cancelling" in message:
            yield known(
                HappeningKind.LEAVING, f"{f'on {node} ' if node else ''}stays: no taint evicts it any more", "stays"
            )
        else:
            yield known(HappeningKind.EVICTED, f"{where}{_EVICTORS[reason]}", "left", Rank.CAUSE)
    elif reason == "Evicted":
        yield known(HappeningKind.EVICTED, f"{where}by the kubelet: {message}", "left", Rank.CAUSE)
    elif reason == "Killing" and message.startswith("Stopping container"):
        # The kubelet only does what the API server was told by another.
        yield known(HappeningKind.DELETED, where.strip() or "from its node", "left")._replace(actor="")


def _of_node(event: Event, time: float) -> Iterator[Known]:
    name, reason = event.involvedObject.name, event.reason
    text = _OF_NODES.get(reason)
    if text is None:
        if event.type != "Warning":
            return
        text = _cut(f"{reason}: {event.message}")
    happening = Happening(time, HappeningKind.NODE, name, "", text + times_text(event))
    yield Known(happening, _actor(event), ("node", name, text), Rank.EVENT, is_once=reason == "RegisteredNode")


def _of_controller(event: Event, time: float, owners: Owners) -> Known:
    about = event.involvedObject
    subject = f"{about.kind} {about.namespace}/{about.name}"
    workload = owners.of(about.kind, about.namespace, about.name)
    name = made_in(event.message) if event.reason in ("SuccessfulCreate", "SuccessfulDelete") else ""
    if name:
        kind = "Job" if about.kind == "CronJob" else "Pod"
        verb = "created" if event.reason == "SuccessfulCreate" else "deleted"
        happening = control(time, subject, workload, "")
        what = verb, subject, name
        return Known(happening, _actor(event), what, Rank.EVENT, made=(f"{verb} {kind}", name))
    scaled = _SCALED.fullmatch(event.message) if event.reason == "ScalingReplicaSet" else None
    if scaled is not None:
        way, replica_set, before, after, after_too, before_too = scaled.groups()
        text = f"{replica_set} was scaled {way} from {before or before_too} to {after or after_too}"
    else:
        text = _cut(f"{event.reason}: {event.message}")
    happening = control(time, subject, workload, text + times_text(event))
    return Known(happening, _actor(event), ("control", subject, text, event.metadata.name), Rank.EVENT)


def _actor(event: Event) -> str:
    actor = event.reportingComponent or event.source.component
    return "scheduler" if actor == DEFAULT_SCHEDULER else actor


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]} …"
