"""Decide which pods of a simulation have to leave because of NoExecute taints of nodes and devices, when and why.

The decisions are those of the taint eviction controllers, which the simulation runs; here they are put into words and
looked up before they come true.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.taint_evictions import Taints
from moorage.control.taint_eviction import TaintEvictionController
from moorage.match.devices.eviction import (
    DeviceEviction,
    PublishedDevices,
    claim_eviction,
    describe_evictions,
    pod_eviction,
)
from moorage.match.devices.tolerations import compile_device_tolerations
from moorage.match.evaluation.accounts import Undecided
from moorage.match.eviction_clock import NO_DEADLINE, Deadline, deadline
from moorage.match.taint_eviction import Eviction, When, decide_eviction, no_execute
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import DRA_DEVICE_TAINT_RULES, Component, GateSet
from moorage.model.kinds import KINDS
from moorage.model.types.devices import DeviceTaintRule, ResourceClaim
from moorage.model.types.node import Taint
from moorage.model.types.pod import Pod, Toleration
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.devices import claims_of
from moorage.plan.simulation.controllers import DEVICE_TAINT_EVICTION, EVICTIONS, TAINT_EVICTION
from moorage.schedule.config.default_profile import program_cache

if TYPE_CHECKING:
    from moorage.plan.simulation.simulation import Simulation

_REMEMBERED = 4096
_INFINITY = float("inf")
_UNKNOWN_DEVICE = "a device that it used has a NoExecute taint that its claim does not tolerate"
Tolerations = tuple[Toleration, ...]


class Timer(NamedTuple):
    """A pod that has to leave its node, the time when it has to, and because of which taint."""

    pod: Object
    due: float
    because: str
    actor: str = TAINT_EVICTION

    def deadline(self, now: float) -> Deadline:
        """Return the same as a deadline, with the seconds that remain then."""
        return Deadline(When.AFTER, self.due, max(0, round(self.due - now)), self.because)


class Evictions:
    """The decisions about the pods of one simulation, once for each distinct list of taints and tolerations."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._gates: GateSet = simulation.settings.gates_of(Component.CONTROLLER_MANAGER)
        programs = program_cache(simulation.gates, simulation.evaluations)

        @lru_cache(_REMEMBERED)
        def decided(taints: tuple[Taint, ...], tolerations: Tolerations) -> Eviction:
            return decide_eviction(taints, compile_tolerations(tolerations, self._gates, programs))

        self._decided = decided

    # -- taints of nodes ----------------------------------------------------------------------------------------------

    def decide(self, taints: Taints, tolerations: Tolerations) -> Eviction | None:
        """Return when a pod has to leave; None if a budget is used up: nothing is evicted without an answer."""
        try:
            return self._decided(taints, tolerations)
        except Undecided:
            return None

    def deadline(self, pod: Object, taints: Taints) -> Deadline:
        """Return when a pod has to leave if its node has these NoExecute taints."""
        eviction = self.decide(taints, pod.view.spec.tolerations)
        return self.deadline_by(eviction, pod, taints) if eviction is not None else NO_DEADLINE

    def deadline_by(self, eviction: Eviction, pod: Object, taints: Taints) -> Deadline:
        """Return when a pod has to leave by this decision about the taints."""
        now, controller = self._simulation.clock.now, self.controller()
        if controller is None:
            return deadline(taints, eviction, pod.view, now)
        return controller.foresee(pod, taints, eviction, now)

    def controller(self) -> TaintEvictionController | None:
        loop = self._simulation.controllers.loops.get(TAINT_EVICTION)
        found = loop.controller if loop is not None else None
        return found if isinstance(found, TaintEvictionController) else None

    def node_timers(self) -> Iterator[Timer]:
        """Return the pods whose time on a tainted node runs."""
        world, controller = self._simulation.world, self.controller()
        for then in controller.timed if controller is not None else ():
            pod = world.get(KINDS.POD, then.key)
            if pod is None or pod.uid != then.uid or pod.view.metadata.deletionTimestamp is not None:
                continue
            node = world.view(KINDS.NODE, pod.view.spec.nodeName)
            taints = no_execute(node) if node is not None else ()
            clock = self.deadline(pod, taints)
            if clock.when is When.AFTER:
                yield Timer(pod, clock.due, clock.because)

    # -- taints of devices --------------------------------------------------------------------------------------------

    def device_timers(self) -> Iterator[Timer]:
        """Return the pods that have to leave because of their devices."""
        world = self._simulation.world
        if not world.count(KINDS.RESOURCE_CLAIM):
            return
        if not world.count(KINDS.DEVICE_TAINT_RULE) and not self._has_tainted_slices():
            return
        published, rules = self._published(), self._rules()

        def eviction_of(claim: ResourceClaim) -> DeviceEviction | None:
            return claim_eviction(claim, published, rules, partial(compile_device_tolerations, gates=self._gates))

        def find_claim(namespace: str, name: str) -> ResourceClaim | None:
            found: ResourceClaim | None = world.view(KINDS.RESOURCE_CLAIM, f"{namespace}/{name}")
            return found

        for found in list(world.all(KINDS.POD)):
            pod: Pod = found.view
            if not pod.spec.resourceClaims or not pod.spec.nodeName or pod.metadata.deletionTimestamp is not None:
                continue
            eviction = pod_eviction(pod, find_claim, eviction_of)
            if eviction is not None and eviction.when < _INFINITY:
                because = self._because_of_devices(pod, published, rules)
                yield Timer(found, eviction.when, because, DEVICE_TAINT_EVICTION)

    def _because_of_devices(self, pod: Pod, published: PublishedDevices, rules: list[DeviceTaintRule]) -> str:
        read = partial(compile_device_tolerations, gates=self._gates)
        claims = claims_of(pod, self._simulation.world)
        texts = (text for claim in claims for text in describe_evictions(claim, published, rules, read))
        return "; ".join(dict.fromkeys(texts)) or _UNKNOWN_DEVICE

    def _published(self) -> PublishedDevices:
        return PublishedDevices(found.view for found in self._simulation.world.all(KINDS.RESOURCE_SLICE))

    def _rules(self) -> list[DeviceTaintRule]:
        if not self._gates.enabled(DRA_DEVICE_TAINT_RULES):
            return []
        return [found.view for found in self._simulation.world.all(KINDS.DEVICE_TAINT_RULE)]

    def _has_tainted_slices(self) -> bool:
        slices = (found.view for found in self._simulation.world.all(KINDS.RESOURCE_SLICE))
        return any(
            taint.effect == NO_EXECUTE for one in slices for device in one.spec.devices for taint in device.taints
        )

    # -- both ---------------------------------------------------------------------------------------------------------

    def timers(self) -> Iterator[Timer]:
        """Return the pods that are on their nodes and have to leave them, sooner or later."""
        loops = self._simulation.controllers.loops
        if TAINT_EVICTION in loops:
            yield from self.node_timers()
        if DEVICE_TAINT_EVICTION in loops:
            yield from self.device_timers()

    def because(self, pod: Object, actor: str) -> str:
        """Say which taint a pod is evicted for, at the moment when the controller `actor` evicts it."""
        if actor == DEVICE_TAINT_EVICTION:
            return self._because_of_devices(pod.view, self._published(), self._rules())
        if actor not in EVICTIONS:
            return ""
        node = self._simulation.world.view(KINDS.NODE, pod.view.spec.nodeName)
        return self.deadline(pod, no_execute(node) if node is not None else ()).because
