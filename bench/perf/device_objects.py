"""Devices of a run: what DRA drivers, the claim controller and the scheduler's writes do, without an API server.

Claims from templates are made when their pod is, and appear with it. When a pod is bound, what the scheduler promised
is written into its claims; when the pod is gone, its own claims go too, and shared ones that no pod uses any more are
deallocated. Kubernetes: pkg/controller/resourceclaim, and test/integration/scheduler_perf/dra.go for the operations.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from bench.perf.problems import ConfigError
from moorage.match.devices.allocation.features import allocator_features
from moorage.match.devices.allocation.requests import compile_claim
from moorage.match.devices.claims import DeviceClaimFacts, DeviceClaimState, claim_keys
from moorage.model.gates import DRA_DEVICE_TAINT_RULES, GateSet
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import (
    AllocationResult,
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
)
from moorage.model.types.meta import OwnerReference
from moorage.model.types.pod import Pod, PodResourceClaim, PodResourceClaimStatus
from moorage.schedule.framework.events import Event, EventKind, resource_claim_event
from moorage.schedule.plugins.devices.device_needs import DeviceNeeds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.columns.cluster import PodRecord
    from moorage.match.devices.claims import ClaimKey
    from moorage.schedule.cycle import Scheduler

_EVENTS: dict[type, tuple[EventKind, EventKind]] = {
    ResourceSlice: (EventKind.RESOURCE_SLICE_ADDED, EventKind.RESOURCE_SLICE_CHANGED),
    DeviceClass: (EventKind.DEVICE_CLASS_ADDED, EventKind.DEVICE_CLASS_CHANGED),
    DeviceTaintRule: (EventKind.RESOURCE_SLICE_CHANGED, EventKind.RESOURCE_SLICE_CHANGED),
}
DEVICE_KINDS = (ResourceSlice, DeviceClass, ResourceClaim, ResourceClaimTemplate, DeviceTaintRule)
_replace = msgspec.structs.replace


class DeviceObjects:
    """The objects of resource.k8s.io in a run, and the scheduler that hears of them."""

    def __init__(self, scheduler: Scheduler, gates: GateSet) -> None:
        self._scheduler = scheduler
        self._devices = scheduler.cluster.devices
        self._gates = gates
        self._objects: dict[tuple[str, str, str], Any] = {}  # by kind, namespace and name; without claims
        self._made: dict[str, list[ResourceClaim]] = {}  # by the pod's key, until the pod appears
        self._numbers = 0

    def add(self, thing: Any, now: float) -> None:
        """Add an object of any of the five kinds, or replace it."""
        metadata = thing.metadata
        if isinstance(thing, ResourceClaim):
            if not metadata.uid:
                thing = _replace(thing, metadata=_replace(metadata, uid=self._uid()))
            self._set_claim(thing, now)
            return
        known = self._objects.get((type(thing).__name__, metadata.namespace, metadata.name))
        self._objects[type(thing).__name__, metadata.namespace, metadata.name] = thing
        if isinstance(thing, DeviceTaintRule) and not self._gates.enabled(DRA_DEVICE_TAINT_RULES):
            return
        if not isinstance(thing, ResourceClaimTemplate):
            self._devices.set(thing)
            self._scheduler.happened(Event(_EVENTS[type(thing)][known is not None], known, thing), now)

    def _set_claim(self, claim: ResourceClaim, now: float) -> None:
        old = self._devices.claims.get((claim.metadata.namespace, claim.metadata.name))
        self._devices.set(claim)
        self._claim_changed(old, claim, now)

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None, now: float) -> None:
        event = resource_claim_event(old, new)
        if event is not None and self._scheduler.queue.is_listening:
            self._scheduler.happened(event, now)

    def remove(self, kind: str, namespace: str, name: str, now: float) -> None:
        if kind == ResourceClaim.__name__:
            self._remove_claim((namespace, name), now)
            return
        thing = self._objects.pop((kind, namespace, name), None)
        if thing is not None and not isinstance(thing, ResourceClaimTemplate):
            self._devices.remove(thing)
            if not isinstance(thing, DeviceClass):
                self._scheduler.happened(Event(EventKind.RESOURCE_SLICE_CHANGED, thing), now)

    def _remove_claim(self, key: ClaimKey, now: float) -> None:
        claim = self._devices.claims.get(key)
        if claim is not None:
            self._devices.remove(claim)
            self._claim_changed(claim, None, now)

    # -- claims of pods -----------------------------------------------------------------------------------------------

    def make_claims(self, pod: Pod) -> Pod:
        """Return the pod with its claims from templates named; they are made, and appear when the pod does."""
        statuses = list(pod.status.resourceClaimStatuses)
        named = {status.name for status in statuses}
        claims = []
        uid = pod.metadata.uid or self._uid()
        for entry in pod.spec.resourceClaims:
            template = self._template(pod, entry)
            if template is None or entry.name in named:
                continue
            name = f"{pod.metadata.name}-{entry.name}-{self._number()}"
            claims.append(self._own_claim(pod, uid, name, template))
            statuses.append(PodResourceClaimStatus(name=entry.name, resourceClaimName=name))
        self._made.setdefault(f"{pod.metadata.namespace}/{pod.metadata.name}", []).extend(claims)
        return _replace(
            pod,
            metadata=_replace(pod.metadata, uid=uid),
            status=_replace(pod.status, resourceClaimStatuses=tuple(statuses)),
        )

    def pod_appears(self, pod: Pod, now: float) -> Pod:
        """Add the claims that were made for a pod, and make those that were not."""
        if len(pod.status.resourceClaimStatuses) < len(pod.spec.resourceClaims):
            pod = self.make_claims(pod)
        for claim in self._made.pop(f"{pod.metadata.namespace}/{pod.metadata.name}", ()):
            self._set_claim(claim, now)
        return pod

    def pod_bound(self, record: PodRecord, now: float) -> None:
        """Write into a pod's claims what it was promised, and that they are reserved for it."""
        metadata, devices = record.pod.metadata, self._devices
        user = ResourceClaimConsumerReference(resource="pods", name=metadata.name, uid=metadata.uid)
        for key in claim_keys(record.pod):
            claim = devices.claims[key]
            allocation = claim.status.allocation or devices.promises.get(key)
            reserved = (*claim.status.reservedFor, user)
            status = _replace(claim.status, allocation=allocation, reservedFor=reserved)
            self._set_claim(_replace(claim, status=status), now)
        devices.promises.release(record.key)

    def pod_gone(self, pod: Pod, now: float) -> None:
        """Delete the claims that a pod owned; of others it is no user any more."""
        for key in claim_keys(pod):
            claim = self._devices.claims.get(key)
            if claim is None:
                continue
            if any(owner.uid == pod.metadata.uid for owner in claim.metadata.ownerReferences):
                self._remove_claim(key, now)
                continue
            users = tuple(user for user in claim.status.reservedFor if user.uid != pod.metadata.uid)
            allocation = claim.status.allocation if users else None
            status = _replace(claim.status, reservedFor=users, allocation=allocation)
            self._set_claim(_replace(claim, status=status), now)

    def _template(self, pod: Pod, entry: PodResourceClaim) -> ResourceClaimTemplate | None:
        name = entry.resourceClaimTemplateName
        kind = ResourceClaimTemplate.__name__
        return self._objects.get((kind, pod.metadata.namespace, name)) if name is not None else None

    def _own_claim(self, pod: Pod, uid: str, name: str, template: ResourceClaimTemplate) -> ResourceClaim:
        owner = OwnerReference(apiVersion="v1", kind="Pod", name=pod.metadata.name, uid=uid, controller=True)
        metadata = _replace(
            template.spec.metadata,
            name=name,
            namespace=pod.metadata.namespace,
            uid=self._uid(),
            ownerReferences=(owner,),
        )
        # Every claim has a spec of its own, as if it was decoded by itself.
        spec = convert_view(msgspec.to_builtins(template.spec.spec, enc_hook=str), ResourceClaimSpec)
        return ResourceClaim(metadata=metadata, spec=spec)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _uid(self) -> str:
        return f"uid-{self._number()}"

    # -- operations ---------------------------------------------------------------------------------------------------

    def node_names(self, pattern: str) -> list[str]:
        return [name for name in self._scheduler.cluster.nodes.slot_of if fnmatchcase(name, pattern)]

    def allocate_claims(self, namespace: str, seed: int) -> None:
        """Allocate all claims of a namespace (all, if it is empty), each on a random node where it fits."""
        cluster, random = self._scheduler.cluster, Random(seed)
        needs_of: dict[bytes, DeviceNeeds] = {}
        for key, claim in list(self._devices.claims.items()):
            if claim.status.allocation is not None or (namespace and key[0] != namespace):
                continue
            spec = msgspec.msgpack.encode((key[0], claim.spec), enc_hook=str)
            if spec not in needs_of:
                needs_of[spec] = self._needs(key, claim)
            needs = needs_of[spec]
            slots = np.flatnonzero(needs.fits(cluster))
            if not len(slots):
                raise ConfigError(f"allocResourceClaims: no node has the devices of claim {'/'.join(key)}")
            allocations = needs.allocate(cluster, int(random.choice(slots)), [key[1]])
            assert allocations is not None
            status = _replace(claim.status, allocation=convert_view(allocations[0], AllocationResult))
            self._devices.set(_replace(claim, status=status))

    def _needs(self, key: ClaimKey, claim: ResourceClaim) -> DeviceNeeds:
        facts = DeviceClaimFacts(PodResourceClaim(name=key[1]), DeviceClaimState.WAITING, key[1], claim)
        compiled = compile_claim(claim.spec, self._devices.classes.get, self._gates)
        return DeviceNeeds(((facts, compiled),), (), key[0], allocator_features(self._gates))


def driver_slices(driver: str, nodes: list[str], devices: int) -> Iterator[dict[str, Any]]:
    """Return the slices that createResourceDriver publishes: one per node, with as many devices as claims fit."""
    for node in nodes:
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": ResourceSlice.__name__,
            "metadata": {"name": node},
            "spec": {
                "driver": driver,
                "nodeName": node,
                "pool": {"name": node, "resourceSliceCount": 1},
                "devices": [_device(index) for index in range(devices)],
            },
        }


def _device(index: int) -> dict[str, Any]:
    return {
        "name": f"instance-{index}",
        "attributes": {
            "model": {"string": "A100"},
            "family": {"string": "GPU"},
            "driverVersion": {"version": "1.2.3"},
            "dra.example.com/numa": {"int": index},
        },
        "capacity": {"memory": {"value": "1Gi"}},
    }
