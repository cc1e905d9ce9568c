"""Tell lowered pods that wait which of their comparisons no node meets: one Event a pod, whose message is kept true.

Without it users read "didn't match Pod's node affinity" of affinity that they have not written. Pods with equal
demands are one shape, and are judged together: some seconds after the first of them was found unschedulable, and when
nodes have changed, once in `JUDGING` seconds at most. Events have a pace of their own, those without one first, so
that thousands of pods, or of values that change, are no storm.
Kubernetes: FailedScheduling of the default scheduler, which goes on beside it.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from moorage.attach.refusals import Refused, Unreadable
from moorage.attached.controller.comparisons_met import Demands
from moorage.attached.controller.lowered_pods import Identity, identity_of, read_lowered
from moorage.attached.controller.registry import AttachedContext, AttachedController
from moorage.client.pacing import TokenBucket
from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, WARNING, Plan, Report
from moorage.control.framework.steps import Steps
from moorage.control.framework.world import World
from moorage.match.tolerations import ProgramCache
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Taint
from moorage.model.types.pod import NodeAffinity, Pod

NOT_MET = "ComparisonsNotMet"
#: Seconds until a new shape is judged, and between two judgements of it.
SETTLING, JUDGING = 3.0, 15.0
#: Seconds until an Event gets another message, and until it is written as it is, because Events expire.
REWRITING, REFRESHING = 60.0, 1800.0
EVENTS_PER_SECOND, EVENTS_AT_ONCE = 10.0, 100
#: Shapes that are judged; users choose how many there are.
MOST_SHAPES = 4096
_PAUSE = 1.0
#: No shape has this key.
_ALL: Final = "*"
_Groups = dict[tuple[Taint, ...], list[Object]]


class _Likeness(NamedTuple):
    """All that decides what a pod demands of nodes."""

    identity: Identity
    selector: tuple[tuple[str, str], ...]
    affinity: NodeAffinity | None


class _Waiting:
    """A pod that waits, and what its Event says since when; nothing if it has none."""

    __slots__ = ("count", "text", "uid", "written")

    def __init__(self, uid: str) -> None:
        self.uid, self.text, self.written, self.count = uid, "", 0.0, 0

    def due_at(self, text: str) -> float:
        """Return when its Event is to be written with this text."""
        if not self.text:
            return 0.0
        return self.written + (REFRESHING if text == self.text else REWRITING)


class _Shape:
    """Pods with equal demands. `judged` is when, and about which nodes `text` is."""

    __slots__ = ("demands", "first_seen", "generation", "is_refused", "judged", "likeness", "pods", "text")

    def __init__(self, likeness: _Likeness) -> None:
        self.likeness = likeness
        self.pods: dict[str, _Waiting] = {}
        self.demands: Demands | None = None
        self.first_seen: float | None = None
        self.judged, self.generation = float("-inf"), -1
        self.text, self.is_refused = "", False


class WaitingPods(AttachedController):
    """Reconciles shapes of lowered pods that are unschedulable."""

    name = "waiting-pods"
    watches = (KINDS.POD, KINDS.NODE)
    workers = 1

    def __init__(self, attached: AttachedContext) -> None:
        super().__init__(attached)
        self._programs = ProgramCache(evaluations=self.context.evaluations, patiently=True)
        self._shapes: dict[str, _Shape] = {}
        self._keys: dict[_Likeness, str] = {}
        self._shape_of: dict[str, str] = {}
        self._made = 0
        self._generation = 0
        self._groups: tuple[int, _Groups] = (-1, {})
        self._pace: TokenBucket | None = None
        metrics = self.context.metrics
        about = "Lowered pods that are unschedulable while some node is refused by their comparisons."
        metrics.gauge_function("moorage_attach_waiting_pods", about, self._count_refused)
        about = "Different demands of lowered pods that are unschedulable; each is judged once for all of its pods."
        metrics.gauge_function("moorage_attach_waiting_shapes", about, lambda: float(len(self._shapes)))
        about = "Events that say which comparisons of a pod no node meets, written or rewritten."
        self._events = metrics.counter("moorage_attach_waiting_events_total", about).labels()

    def _count_refused(self) -> float:
        return float(sum(len(shape.pods) for shape in list(self._shapes.values()) if shape.is_refused))

    # -- who waits -----------------------------------------------------------------------------------------------------

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.NODE:
            if _is_alike(old, new):
                return ()
            self._generation += 1
            return (_ALL,) if self._shapes else ()
        changed = new or old
        if changed is None:
            return ()
        likeness = _likeness(new) if new is not None else None
        if likeness is None:
            self._leave(changed.key)
            return ()
        return self._join(changed, likeness)

    def _join(self, found: Object, likeness: _Likeness) -> Iterable[str]:
        key = self._keys.get(likeness)
        before = self._shape_of.get(found.key)
        if key is not None and key == before and self._shapes[key].pods[found.key].uid == found.uid:
            return ()
        self._leave(found.key)
        key = self._keys.get(likeness)
        if key is None:
            if len(self._shapes) >= MOST_SHAPES:
                return ()
            self._made += 1
            key = self._keys[likeness] = f"{self._made}"
            self._shapes[key] = _Shape(likeness)
        self._shapes[key].pods[found.key] = _Waiting(found.uid)
        self._shape_of[found.key] = key
        return (key,)

    def _leave(self, pod: str) -> None:
        key = self._shape_of.pop(pod, None)
        if key is None:
            return
        shape = self._shapes[key]
        del shape.pods[pod]
        if not shape.pods:
            del self._shapes[key], self._keys[shape.likeness]

    # -- what they are told --------------------------------------------------------------------------------------------

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        raise NotImplementedError  # `steps` does it

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        yield
        if key == _ALL:
            return Plan(wakes=tuple(self._shapes))
        shape = self._shapes.get(key)
        if shape is None:
            return NOTHING
        if shape.first_seen is None:
            shape.first_seen = now
        is_stale = shape.generation != self._generation
        if is_stale:
            due = max(shape.first_seen + SETTLING, shape.judged + JUDGING)
            if now < due:
                return Plan(again_after=due - now)
            yield from self._judge(shape, world, now)
        return self._tell(shape, world, now)

    def _judge(self, shape: _Shape, world: World, now: float) -> Steps[None]:
        generation = self._generation
        groups = yield from self._grouped(world)
        if shape.demands is None:
            pod = next((found for key in shape.pods if (found := world.get(KINDS.POD, key)) is not None), None)
            if pod is None:
                return
            try:
                shape.demands = Demands(pod.view, self._programs)
            except (Refused, Unreadable):  # what is wrong with it is reported by pod-repair
                shape.generation = generation
                return
        standing = yield from shape.demands.steps(groups)
        shape.text, shape.is_refused = standing
        shape.judged, shape.generation = now, generation

    def _grouped(self, world: World) -> Steps[_Groups]:
        """Return the nodes by their taints; times mean nothing."""
        generation, groups = self._groups
        if generation == self._generation:
            return groups
        generation, groups = self._generation, {}
        for number, node in enumerate(world.all(KINDS.NODE)):
            if number % 256 == 0:
                yield
            taints = tuple(Taint(key=each.key, value=each.value, effect=each.effect) for each in node.view.spec.taints)
            groups.setdefault(taints, []).append(node)
        self._groups = generation, groups
        return groups

    def _tell(self, shape: _Shape, world: World, now: float) -> Plan:
        """Write the Events that are due, as far as their pace allows."""
        if not shape.text:
            return NOTHING
        concerned = [
            (each.due_at(shape.text), key) for key, each in shape.pods.items() if shape.is_refused or each.text
        ]
        if not shape.is_refused:
            concerned = [(due, key) for due, key in concerned if shape.pods[key].text != shape.text]
        if not concerned:
            return NOTHING
        pace = self._pace = self._pace or TokenBucket(EVENTS_PER_SECOND, EVENTS_AT_ONCE, since=now)
        reports: list[Report] = []
        for due, key in sorted(concerned):
            if due > now:
                return Plan(tuple(reports), again_after=due - now)
            if not pace.take(now):
                return Plan(tuple(reports), again_after=_PAUSE)
            pod = world.get(KINDS.POD, key)
            if pod is not None:
                reports.append(_report(pod, shape.pods[key], shape.text, now))
        return Plan(tuple(reports), again_after=REFRESHING if shape.is_refused else None)

    def done(self, key: str, plan: Plan, now: float) -> None:
        self._events.inc(len(plan.actions))


def _report(pod: Object, waiting: _Waiting, text: str, now: float) -> Report:
    waiting.text, waiting.written = text, now
    waiting.count += 1
    name = f"{pod.name[:200]}.{pod.uid.replace('-', '')[:16]}.comparisons"
    return Report(pod.reference, WARNING, NOT_MET, text, event=name, times=waiting.count)


def _likeness(found: Object) -> _Likeness | None:
    """Return what a pod demands that is lowered and unschedulable; None of others."""
    pod: Pod = found.view
    if pod.spec.nodeName or pod.status.phase not in ("", "Pending") or pod.metadata.deletionTimestamp is not None:
        return None
    if not any(each.reason == "Unschedulable" and each.status == "False" for each in pod.status.conditions):
        return None
    lowered = read_lowered(pod)
    if lowered is None or not lowered.compares:
        return None
    affinity = pod.spec.affinity
    selector = tuple(sorted(pod.spec.nodeSelector.items())) if pod.spec.nodeSelector else ()
    return _Likeness(identity_of(pod), selector, None if affinity is None else affinity.nodeAffinity)


def _is_alike(old: Object | None, new: Object | None) -> bool:
    """Whether a node has what it had of that which decides."""
    if old is None or new is None:
        return False
    before, after = old.view, new.view
    return bool(before.spec.taints == after.spec.taints and before.metadata.labels == after.metadata.labels)
