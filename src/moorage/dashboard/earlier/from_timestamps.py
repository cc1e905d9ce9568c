"""Read the timestamps of pods, nodes and workloads as happenings: created, placed, waiting, leaving, ended, tainted."""

from collections.abc import Iterable, Iterator, Mapping
from heapq import nlargest

from moorage.client.protocol import Object
from moorage.control.framework.workloads import is_ready
from moorage.control.framework.world import controller_of
from moorage.dashboard.earlier.known import CREATED, Known, Rank, control
from moorage.dashboard.earlier.owners import Owners
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.watch.happenings import Chronicle, Happening, HappeningKind

WORKLOADS = (KINDS.DEPLOYMENT, KINDS.STATEFUL_SET, KINDS.DAEMON_SET, KINDS.JOB, KINDS.CRON_JOB)
_LEFT = frozenset({HappeningKind.EVICTED, HappeningKind.PREEMPTED, HappeningKind.DELETED})
_ENDED = frozenset({HappeningKind.FAILED, HappeningKind.COMPLETED})
_ACTORS = {HappeningKind.PENDING: "scheduler", HappeningKind.PLACED: "scheduler"}


def known_from_objects(items: Iterable[Object], owners: Owners, most: int) -> Iterator[Known]:
    """Yield what the newest pods, nodes and workloads tell by their timestamps, `most` of each."""
    by_kind: dict[object, list[Object]] = {}
    for item in items:
        by_kind.setdefault(item.kind, []).append(item)
    nodes: Mapping[str, Node] = {item.name: item.view for item in by_kind.get(KINDS.NODE, ())}
    for item in _newest(by_kind.get(KINDS.POD, ()), most):
        yield from _of_pod(item, nodes, owners)
    for item in _newest(by_kind.get(KINDS.NODE, ()), most):
        yield from _of_node(item.view)
    for kind in WORKLOADS:
        for item in _newest(by_kind.get(kind, ()), most):
            created = seconds_of(item.view.metadata.creationTimestamp)
            if created is not None and controller_of(item.view.metadata) is None:
                subject = f"{kind.name} {item.key}"
                about = CREATED, subject, item.uid
                yield Known(control(created, subject, "", CREATED), "", about, Rank.TIMESTAMP)


def _newest(items: Iterable[Object], most: int) -> list[Object]:
    """Return the objects that changed last, as far as their own timestamps say: RFC 3339 sorts as text."""

    def changed(item: Object) -> str:
        metadata = item.view.metadata
        return max(metadata.deletionTimestamp or "", metadata.creationTimestamp or "")

    return nlargest(most, items, key=changed)


def _of_pod(item: Object, nodes: Mapping[str, Node], owners: Owners) -> Iterator[Known]:
    pod: Pod = item.view
    workload, owner = owners.of_pod(item.key), controller_of(pod.metadata)
    created = seconds_of(pod.metadata.creationTimestamp)
    if owner is not None and created is not None:
        subject = f"{owner.kind} {item.namespace}/{owner.name}"
        about = "created", subject, item.name
        happening = control(created, subject, workload, "")
        yield Known(happening, "", about, Rank.TIMESTAMP, made=("created Pod", item.name))
    # A new Chronicle knows of no pod that left before: it says where a pod is, not where it was.
    for happening in Chronicle().of_pod(None, pod, nodes, 0.0):
        kind = happening.kind
        time = _time_in(pod, kind)
        if time is not None:
            what = "left" if kind in _LEFT else "ended" if kind in _ENDED else kind.value
            about = what, item.key, item.uid
            told = happening._replace(time=time, workload=workload)
            yield Known(told, _ACTORS.get(kind, ""), about, Rank.TIMESTAMP)


def _time_in(pod: Pod, kind: HappeningKind) -> float | None:
    """Return when something happened to a pod."""
    if kind in (HappeningKind.PLACED, HappeningKind.PENDING):
        scheduled = _transition(pod, "PodScheduled")
        return scheduled if scheduled is not None else seconds_of(pod.status.startTime)
    if kind in _LEFT:
        ends = seconds_of(pod.metadata.deletionTimestamp)
        return None if ends is None else ends - (pod.metadata.deletionGracePeriodSeconds or 0)
    if kind in _ENDED:
        states = [status.state.terminated for status in pod.status.containerStatuses]
        ends_of = [seconds_of(state.finishedAt) for state in states if state is not None]
        return max((end for end in ends_of if end is not None), default=_transition(pod, "Ready"))
    return None


def _transition(pod: Pod, name: str) -> float | None:
    for condition in pod.status.conditions:
        if condition.type == name:
            return seconds_of(condition.lastTransitionTime)
    return None


def _of_node(node: Node) -> Iterator[Known]:
    name = node.metadata.name
    created = seconds_of(node.metadata.creationTimestamp)
    if created is not None:
        yield _node_known(created, name, "joined", Rank.CAUSE, is_once=True)
    for condition in node.status.conditions:
        changed = seconds_of(condition.lastTransitionTime)
        if condition.type == "Ready" and changed is not None and changed != created:
            yield _node_known(changed, name, "is ready" if is_ready(node) else "is not ready")
    for taint in node.spec.taints:
        added = seconds_of(taint.timeAdded)
        if added is not None:
            yield _node_known(added, name, f"has a new taint {describe_taint_with_effect(taint)}")


def _node_known(time: float, name: str, text: str, rank: Rank = Rank.TIMESTAMP, *, is_once: bool = False) -> Known:
    happening = Happening(time, HappeningKind.NODE, name, "", text)
    return Known(happening, "", ("node", name, text), rank, is_once)
