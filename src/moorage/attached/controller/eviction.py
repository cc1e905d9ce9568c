"""Evict running lowered pods when a NoExecute taint comes that their original tolerations do not accept.

Their `Exists` tolerates every value, so the cluster's own controller keeps them. What decides are the tolerations of
the annotation, as far as the pod still has what they were lowered to; so a forged annotation can keep or evict its own
pod only, and only where the pod tolerates the taint anyway. Whatever the cluster's controller does as early by itself
is left to it. Kubernetes: pkg/controller/tainteviction, for operators that the cluster does not know. Differs: the
event names the inequality; pods may leave by the Eviction API, whose refusal (429) is retried after growing delays.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from moorage.attach.matching import compile_original
from moorage.attached import names
from moorage.attached.controller.lowered_pods import Identity, identity_of, read_identity, read_lowered
from moorage.attached.controller.registry import AttachedContext, EvictBy
from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Delete, Evict, Plan, warn
from moorage.control.framework.taint_evictions import LATENCY_BUCKETS, TaintEvictions, Taints, marked, report
from moorage.control.framework.toleration_reader import TolerationReader
from moorage.control.framework.world import World
from moorage.match.taint_eviction import Eviction, When, decide_eviction
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import Pod

_REMEMBERED = 4096
_STAYS = Eviction(When.NEVER, -1)
FIRST_RETRY, LAST_RETRY = 1.0, 30.0
BLOCKED = "EvictionBlocked"


class _Blocked(NamedTuple):
    """A pod whose eviction a disruption budget has refused: until when it is left alone, for how long, and why."""

    until: float
    delay: float
    why: str


class LoweredEviction(TaintEvictions):
    """Reconciles lowered pods on tainted nodes."""

    name = "lowered-eviction"
    component: ClassVar[str] = names.CONTROLLER

    def __init__(self, attached: AttachedContext) -> None:
        super().__init__(attached.framework)
        self._evict_by = attached.evict_by
        self._reader = TolerationReader(attached.framework, names.CONTROLLER, "moorage_attach_eviction", "eviction")
        self._judged = lru_cache(_REMEMBERED)(self._judge_once)
        self._lowered: set[str] = set()
        self._left: set[str] = set()  # pods with timers that the cluster's own controller evicts as early
        self._blocked: dict[str, _Blocked] = {}
        self._now = 0.0
        metrics = attached.framework.metrics
        about = "Running and waiting pods whose tolerations are lowered."
        metrics.gauge_function("moorage_attach_lowered_pods", about, lambda: float(len(self._lowered)))
        self._evictions = metrics.counter(
            "moorage_attach_evictions_total",
            "Evictions of lowered pods: by delete or eviction; done, or blocked by a disruption budget.",
            ("way", "outcome"),
        )
        self._latency = metrics.histogram(
            "moorage_attach_eviction_duration_seconds",
            "Seconds between the time when a lowered pod had to leave its node and its eviction.",
            (),
            LATENCY_BUCKETS,
        ).labels()

    # -- which pods, and when ------------------------------------------------------------------------------------------

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            changed = new or old
            if new is not None and self.is_judged(new):
                self._lowered.add(new.key)
            elif changed is not None:
                self._lowered.discard(changed.key)
        return super().concerns(kind, old, new, world)

    def is_judged(self, found: Object) -> bool:
        lowered = read_lowered(found.view)
        return lowered is not None and lowered.compares

    def is_judged_alike(self, old: Pod, new: Pod) -> bool:
        return identity_of(old) == identity_of(new)

    def judge(self, taints: Taints, pod: Object, node: str) -> Eviction:
        identity = identity_of(pod.view)
        lowered = read_identity(identity)
        if lowered is None or lowered.original is None:
            return _STAYS
        eviction, is_left = self._judged(taints, identity)
        if eviction.when is not When.NEVER:
            (self._left.add if is_left else self._left.discard)(pod.key)
        if eviction.when is When.NOW and not eviction.all_tolerated:
            self._reader.tell_unreadable(self._compiled(identity), taints, {"node": node}, pod=pod.key)
        return eviction

    def _compiled(self, identity: Identity) -> TolerationSet:
        lowered = read_identity(identity)
        assert lowered is not None
        assert lowered.original is not None
        counting, reader = lowered.original.counting, self._reader
        assert reader.programs is not None
        return compile_original(counting, reader.programs, reader.evaluation_failed)

    def _judge_once(self, taints: Taints, identity: Identity) -> tuple[Eviction, bool]:
        """Return when a pod must leave, and whether it is left to the cluster's own controller."""
        ours = decide_eviction(taints, self._compiled(identity))
        theirs = decide_eviction(taints, compile_tolerations(identity.tolerations, self._reader.gates))
        return ours, _is_as_early(theirs, ours)

    # -- how they leave ------------------------------------------------------------------------------------------------

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        self._now = now
        if "/" in key and not _is_there(world.get(KINDS.POD, key)):
            for known in (self._waiting, self._evicted, self._blocked):
                known.pop(key, None)
            self._left.discard(key)
            return NOTHING
        plan = super().reconcile(key, world, now)
        blocked = self._blocked.get(key)
        if blocked is None:
            return plan
        if not any(isinstance(action, Evict) for action in plan.actions):
            del self._blocked[key]
            return plan
        return plan if now >= blocked.until else Plan(again_after=blocked.until - now)

    def evict(self, found: Object, now: float, eviction: Eviction, world: World) -> list[Action]:
        if found.key in self._left:
            return []
        said = report(found, f"Marking for deletion Pod {found.key}: {eviction.because}")
        if self._evict_by is EvictBy.EVICTION:
            return [Evict(found.namespace, found.name, found.uid, said)]
        return [*marked(found, now), Delete(KINDS.POD, found.namespace, found.name, found.uid, report=said)]

    def cancel(self, key: str) -> list[Action]:
        cancelled = super().cancel(key)
        return [] if key in self._left else cancelled

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        if not isinstance(action, Evict) or error.code != 429:
            return ()
        self._evictions.labels(self._evict_by, "blocked").inc()
        before, why = self._blocked.get(key), _why_blocked(error)
        delay = min(before.delay * 2, LAST_RETRY) if before is not None else FIRST_RETRY
        self._blocked[key] = _Blocked(self._now + delay, delay, why)
        found = world.get(KINDS.POD, key)
        if found is None or (before is not None and before.why == why):
            return ()
        return (warn(found, BLOCKED, f"{why}; eviction is tried again"),)

    def done(self, key: str, plan: Plan, now: float) -> None:
        if isinstance(plan.actions[-1], Delete | Evict):
            self._evictions.labels(self._evict_by, "done").inc()
            self._latency.observe(self.late(key, now))


def _is_there(found: Object | None) -> bool:
    return found is not None and found.view.metadata.deletionTimestamp is None


def _is_as_early(theirs: Eviction, ours: Eviction) -> bool:
    """Whether the cluster's own controller makes a pod leave at least as early, or it does not have to leave."""
    if theirs.when is When.NOW or ours.when is When.NEVER:
        return True
    if ours.when is When.NOW or theirs.when is When.NEVER:
        return False
    return all(
        own.tolerationSeconds is None
        or (native.tolerationSeconds is not None and native.tolerationSeconds <= own.tolerationSeconds)
        for native, own in zip(theirs.used, ours.used, strict=True)
    )


def _why_blocked(error: ApiError) -> str:
    """Return which budget refuses, as the API server says it."""
    causes: Any = (error.status.get("details") or {}).get("causes") or ()
    texts = [str(cause.get("message")) for cause in causes if isinstance(cause, dict) and cause.get("message")]
    return "; ".join(texts) or error.message
