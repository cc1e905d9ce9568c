"""The real scheduler of a simulation: the same feeds and the same cycle as live, its actions carried out at once.

Pods with volumes are bound when their claims are: `VolumeBinder` writes what was decided, and looks again whenever
a claim or a volume changes. Pods with devices are bound when `ClaimBinder` has written their claims.
"""

from collections.abc import Callable
from typing import Unpack, cast

import msgspec

from moorage.client.informer import Delta
from moorage.client.protocol import Client, DeletionDemands, Object, PatchType, Raw
from moorage.columns.cluster import Cluster
from moorage.columns.storage import VolumeDecision
from moorage.match.evaluation.accounts import Evaluations
from moorage.model.api_error import ApiError
from moorage.model.gates import NOMINATED_NODE_NAME_FOR_EXPECTATION, GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.plan.simulation.api import SimulatedApi
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.cycle import POD_SCHEDULED, UNSCHEDULABLE, Action, Bind, NoNode
from moorage.schedule.live.claim_binder import ClaimBinder, ClaimsNotBound
from moorage.schedule.live.feed import Feed, SurroundingsFeed, watched_kinds
from moorage.schedule.live.pod_feed import Assumption, Assumptions, PodFeed
from moorage.schedule.live.volume_binder import VolumeBinder, VolumesNotBound
from moorage.schedule.plugins.spread_domains import DefaultSelectors

SCHEDULER = "scheduler"
_TARGET = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}

_UNSCHEDULED = {"type": POD_SCHEDULED, "status": "False", "reason": UNSCHEDULABLE}


class _Reader:
    """The part of the client's protocol that the binders of volumes and claims use, without waiting."""

    def __init__(self, api: SimulatedApi) -> None:
        self._api = api

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        return self._api.get(kind, name, namespace)

    async def update(self, kind: Kind, document: Raw, *, subresource: str = "") -> Object:
        return self._api.update(kind, document, subresource)

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        return self._api.create(kind, document, namespace)

    async def delete(self, kind: Kind, name: str, namespace: str = "", **demands: Unpack[DeletionDemands]) -> None:
        self._api.delete(kind, name, namespace, **demands)

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Raw,
        *,
        subresource: str = "",
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Object:
        return self._api.patch(kind, name, namespace, patch, subresource, patch_type)


class _Waiting(msgspec.Struct):
    """A pod that is bound when its volumes are, and its devices are ready."""

    assumption: Assumption
    decisions: tuple[VolumeDecision, ...]
    seen: set[VolumeDecision] = msgspec.field(default_factory=set)
    are_claims_written: bool = False


class SimulatedScheduler:
    """The scheduler and what it has decided. `follow` hears of every action before it is carried out."""

    def __init__(
        self,
        api: SimulatedApi,
        gates: GateSet,
        configuration: Configuration,
        seed: int,
        evaluations: Evaluations | None = None,
    ) -> None:
        self._api = api
        self._nominates = gates.enabled(NOMINATED_NODE_NAME_FOR_EXPECTATION)
        self.cluster = Cluster(seed, gates)
        selectors = DefaultSelectors()
        self.scheduler = configuration.make_scheduler(self.cluster, gates, selectors, evaluations)
        self.scheduler.queue.tells_reasons = False  # a plan asks for them when it is asked
        self._assumptions = Assumptions()
        self.pods = PodFeed(self.scheduler, self._assumptions)
        surroundings = SurroundingsFeed(self.scheduler, selectors)
        self._feed = Feed(self.pods, surroundings, watched_kinds(gates))
        client = cast(Client, _Reader(api))
        self._volumes = VolumeBinder(client, self.cluster, surroundings, self._assumptions, gates, {})
        devices = self.cluster.devices
        self._claims = ClaimBinder(client, devices, self._assumptions, gates, {}, sleep=_no_sleep, wall_clock=api.clock)
        self._waiting: list[_Waiting] = []
        #: Whether pods without a node get a condition that says so, which autoscalers look for.
        self.tells_unschedulable = False
        self.preempted: list[tuple[Object, str]] = []  # the victim, and the key of the pod that it made room for
        self.follow: Callable[[Action], None] = lambda action: None
        self.placed: Callable[[], None] = lambda: None
        api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        self._feed.put(kind, Delta(old, new))

    def take_in(self) -> None:
        """Look at what has changed, without scheduling anything."""
        self._feed.take(self._api.clock, float("inf"))

    def catch_up(self) -> None:
        """Do now what the next pods would have to wait for: forks of this process have it then."""
        self.take_in()
        for engine in self.scheduler.engines.values():
            engine.catch_up()

    def work(self) -> bool:
        """Schedule until no pod can be tried now. Return whether anything was done."""
        api, worked = self._api, False
        api.actor = SCHEDULER
        self.take_in()
        while (action := self._step()) is not None:
            self.follow(action)
            worked = True
            if isinstance(action, Bind):
                self._bind(action)
            else:
                self._preempt(action)
                if self.tells_unschedulable:
                    self._tell_unschedulable(action)
                if action.claim is not None:
                    _run(self._claims.undo(action.claim, action.record.pod))
            if self._feed and (action.record.claims or not isinstance(action, Bind)):
                self.take_in()
        worked = self._bind_waiting() or worked
        api.actor = ""
        return worked

    def _step(self) -> Action | None:
        """Return the next action. The scheduler hears of its own bindings when its queue is empty: it assumes them."""
        action = self.scheduler.step(self._api.clock.now)
        if action is None and self._feed:
            self.take_in()
            action = self.scheduler.step(self._api.clock.now)
        return action

    def next_time(self) -> float:
        return self.scheduler.queue.next_time()

    def unready_devices(self, pod: str) -> tuple[str, list[str]] | None:
        """Return the node of a pod that waits for its devices, and what it waits for; None if it does not wait."""
        for one in self._waiting:
            if one.assumption.key == pod and one.are_claims_written:
                return one.assumption.action.node, self._claims.missing_conditions(one.assumption)
        return None

    def _bind(self, action: Bind) -> None:
        assumption = self._assumptions.make(action, self._api.clock.now)
        record = action.record
        decisions = (self.cluster.storage.decisions.get(assumption.key) or ()) if record.claims else ()
        if not decisions and not record.shape.devices:
            self._finish(assumption)
            return
        try:
            for decision in sorted(decisions, key=lambda decision: not decision.volume):
                _run(self._volumes.write(decision))
        except (ApiError, VolumesNotBound):
            self._give_up(assumption)
            return
        waiting = _Waiting(assumption, decisions)
        if decisions or not self._try_to_finish(waiting):
            self._waiting.append(waiting)
            self._nominate(action)

    def _nominate(self, action: Bind) -> None:
        """Name the node in the status of a pod that waits for its volumes or devices."""
        namespace, _, name = action.record.key.partition("/")
        if self._nominates and action.record.pod.status.nominatedNodeName != action.node:
            patch = {"status": {"nominatedNodeName": action.node}}
            self._api.patch(KINDS.POD, name, namespace, patch, "status")

    def _tell_unschedulable(self, action: NoNode) -> None:
        """Write that a pod has no node into its status, once, and the node that it is nominated for."""
        api, record = self._api, action.record
        found = api.world.get(KINDS.POD, record.key)
        if found is None or found.uid != record.pod.metadata.uid:
            return
        status = found.view.status
        if not any(one.type == POD_SCHEDULED and one.reason == UNSCHEDULABLE for one in status.conditions):
            condition = {**_UNSCHEDULED, "message": action.message, "lastTransitionTime": api.now_text()}
            api.patch(KINDS.POD, found.name, found.namespace, {"status": {"conditions": [condition]}}, "status")
        if status.nominatedNodeName != action.nominated:
            patch = {"status": {"nominatedNodeName": action.nominated or None}}
            api.patch(KINDS.POD, found.name, found.namespace, patch, "status")

    def _try_to_finish(self, waiting: _Waiting) -> bool:
        """Bind a pod if its volumes are bound and its devices ready; return whether it needs no more waiting."""
        assumption = waiting.assumption
        if not self._assumptions.holds(assumption):
            return True
        try:
            bound = [self._volumes.is_bound(decision, waiting.seen) for decision in waiting.decisions]
            if not all(bound):
                return False
            if assumption.action.record.shape.devices and not self._has_devices(waiting):
                return False
        except (VolumesNotBound, ClaimsNotBound):
            self._give_up(assumption)
        else:
            self._finish(assumption)
        return True

    def _has_devices(self, waiting: _Waiting) -> bool:
        """Allocate and reserve a pod's claims; return whether the devices are ready."""
        if not waiting.are_claims_written:
            _run(self._claims.write(waiting.assumption))
            waiting.are_claims_written = True
            self.take_in()
        return self._claims.is_ready(waiting.assumption)

    def _give_up(self, assumption: Assumption) -> None:
        if assumption.action.record.shape.devices:
            _run(self._claims.unreserve(assumption.action.record.pod))
        self.pods.bind_failed(assumption, self._api.clock.now)

    def _finish(self, assumption: Assumption) -> None:
        try:
            self._api.bind(assumption.key, assumption.uid, assumption.action.node)
            self._claims.forget(assumption.key)
            self.placed()
        except ApiError:
            self._give_up(assumption)

    def _bind_waiting(self) -> bool:
        """Bind the pods whose claims are bound by now."""
        waiting, self._waiting = self._waiting, []
        self.take_in()
        self._waiting += [entry for entry in waiting if not self._try_to_finish(entry)]
        return len(self._waiting) < len(waiting)

    def _preempt(self, action: NoNode) -> None:
        """Delete the pods that make room, with the condition that says why."""
        api = self._api
        for victim in action.victims:
            if victim.pod.metadata.deletionTimestamp is not None:
                continue
            namespace, _, name = victim.key.partition("/")
            text = f"{action.pod.scheduler}: preempting to accommodate a higher priority pod"
            condition = {**_TARGET, "message": text, "lastTransitionTime": api.now_text()}
            try:
                found = api.get(KINDS.POD, name, namespace)
                api.patch(KINDS.POD, name, namespace, {"status": {"conditions": [condition]}}, "status")
                api.delete(KINDS.POD, name, namespace, uid=victim.pod.metadata.uid)
            except ApiError:
                self.scheduler.eviction_failed(victim.key, action.record.key)
                continue
            self.preempted.append((found, action.record.key))


async def _no_sleep(seconds: float) -> None:
    """Go on at once: nothing else happens meanwhile."""


def _run(coroutine: object) -> None:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)  # type: ignore[attr-defined]
    except StopIteration:
        return
    raise RuntimeError("a coroutine of the simulation waits")
