"""Which pods have to leave because of NoExecute taints of their devices, and which taints those are.

Kubernetes: the device taint eviction controller, which the simulation runs; here its decisions are foretold and told.
"""

from functools import partial

from moorage.match.devices.eviction import (
    DeviceEviction,
    PublishedDevices,
    claim_eviction,
    describe_evictions,
    pod_eviction,
)
from moorage.match.devices.tolerations import compile_device_tolerations
from moorage.model.gates import DRA_DEVICE_TAINT_RULES, Component, GateSet
from moorage.model.kinds import KINDS
from moorage.model.types.devices import DeviceTaintRule, ResourceClaim
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.devices import claims_of
from moorage.plan.simulation.simulation import Simulation

_UNKNOWN = "a device that it used has a NoExecute taint that its claim does not tolerate"


class DeviceEvictions:
    """The devices that pods had when this was made, and the taints that devices have now."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._gates: GateSet = simulation.settings.gates_of(Component.CONTROLLER_MANAGER)
        self._had: dict[str, tuple[ResourceClaim, ...]] = {}  # by the pod's UID
        for pod in simulation.world.all(KINDS.POD) if simulation.world.count(KINDS.RESOURCE_CLAIM) else ():
            if pod.view.spec.resourceClaims and pod.view.spec.nodeName:
                self._had[pod.uid] = claims_of(pod.view, simulation.world)

    def is_due(self) -> bool:
        """Return whether a pod that had devices before still has to leave, sooner or later."""
        world = self._simulation.world
        if not self._had or (not world.count(KINDS.DEVICE_TAINT_RULE) and not self._has_tainted_slices()):
            return False
        published, rules = self._published(), self._rules()

        def eviction_of(claim: ResourceClaim) -> DeviceEviction | None:
            return claim_eviction(claim, published, rules, partial(compile_device_tolerations, gates=self._gates))

        def find_claim(namespace: str, name: str) -> ResourceClaim | None:
            found: ResourceClaim | None = world.view(KINDS.RESOURCE_CLAIM, f"{namespace}/{name}")
            return found

        for found in world.all(KINDS.POD):
            pod: Pod = found.view
            if found.uid in self._had and pod.metadata.deletionTimestamp is None:
                eviction = pod_eviction(pod, find_claim, eviction_of)
                if eviction is not None and eviction.when < float("inf"):
                    return True
        return False

    def because(self, uid: str) -> str:
        """Say which devices of a pod that was evicted have which taint."""
        published, rules = self._published(), self._rules()
        read = partial(compile_device_tolerations, gates=self._gates)
        said = (text for claim in self._had.get(uid, ()) for text in describe_evictions(claim, published, rules, read))
        return "; ".join(dict.fromkeys(said)) or _UNKNOWN

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
