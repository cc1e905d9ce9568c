"""Propose lower requests, host ports and volumes to do without, and pods that could leave.

Of several containers the one with the largest request is lowered first. Amounts are rounded down to whole Mi.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from moorage.columns.resources import CPU, EPHEMERAL_STORAGE, MEMORY, amount, pod_requests
from moorage.columns.shape import HostPort
from moorage.match.volumes.claims import ClaimState, ClaimUse
from moorage.model.quantity import Format, Quantity, parse_quantity
from moorage.model.types.container import Container, ContainerPort
from moorage.model.types.pod import Pod, PodSpec
from moorage.model.types.storage import Volume
from moorage.plan.explain.remedies.change import Blockers, Change, ChangeKind, as_yaml, few, replaced, with_spec
from moorage.plan.simulation.drain import stays
from moorage.schedule.plugins.inter_pod_affinity import InterPodAffinity
from moorage.schedule.plugins.node_ports import NodePorts
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit, shown
from moorage.schedule.plugins.pod_topology_spread import PodTopologySpread
from moorage.schedule.plugins.volumes.node_volume_limits import NodeVolumeLimits
from moorage.schedule.plugins.volumes.volume_binding import VolumeBinding
from moorage.schedule.plugins.volumes.volume_restrictions import VolumeRestrictions
from moorage.schedule.plugins.volumes.volume_zone import VolumeZone

_PLUGINS = (VolumeBinding.name, VolumeZone.name, VolumeRestrictions.name, NodeVolumeLimits.name)
#: What is the matter with a claim, where its state is not a predicate.
_STATES = {
    ClaimState.LOST: "its volume is gone",
    ClaimState.DELAYED: "these nodes have no volume for it",
}
_NATIVE = (CPU, MEMORY, EPHEMERAL_STORAGE)
_ROUND = 1 << 20
CURED_BY_DEPARTURE = (
    NodeResourcesFit.name,
    NodePorts.name,
    InterPodAffinity.name,
    PodTopologySpread.name,
    VolumeRestrictions.name,
    NodeVolumeLimits.name,
)
_MAX_CROWDED, _MAX_DEPARTURES = 4, 10


def resource_changes(blockers: Blockers) -> Iterator[Change]:
    slots = blockers.only(NodeResourcesFit.name)
    if not len(slots):
        return
    nodes, requests = blockers.cluster.nodes, pod_requests(blockers.pod.spec)
    short = {name: nodes.free(name)[slots] < value for name, value in requests.items() if value > 0}
    for resource, lacking in short.items():
        others = np.zeros(len(slots), np.bool_)
        for name, mask in short.items():
            if name != resource and not blockers.partial:
                others |= mask
        room = nodes.free(resource)[slots[lacking & ~others]]
        levels: Counter[int] = Counter()
        for free in room.tolist():
            level = _rounded(resource, free)
            if level > 0:
                levels[level] += 1
        for level in few((level, levels[level]) for level in sorted(levels, reverse=True)):
            change = lowered(blockers.pod, resource, requests[resource], level)
            if change is not None:
                yield change


def _rounded(resource: str, value: int) -> int:
    if resource in (MEMORY, EPHEMERAL_STORAGE) and value > _ROUND:
        return value // _ROUND * _ROUND
    return value


def lowered(pod: Pod, resource: str, asked: int, most: int) -> Change | None:
    # What the pod as a whole asks for is not to hide what its containers do: together they may not ask for more.
    spec = msgspec.structs.replace(pod.spec, resources=None)
    written: dict[str, Any] = {}
    for attribute in ("containers", "initContainers"):
        spec, less = _lower_containers(spec, attribute, resource, most)
        if less:
            written[attribute] = [
                {"name": name, "resources": _written(resource, value, has_limit)} for name, value, has_limit in less
            ]
    whole = pod.spec.resources
    if whole is not None and resource in whole.requests:
        level = most - (amount(resource, spec.overhead[resource]) if resource in spec.overhead else 0)
        if level < 0:
            return None
        new: dict[str, Any] = {resource: _quantity(resource, level)}
        has_limit = resource not in _NATIVE and resource in whole.limits
        limits = {**whole.limits, **new} if has_limit else whole.limits
        whole = msgspec.structs.replace(whole, requests={**whole.requests, **new}, limits=limits)
        written["resources"] = _written(resource, level, has_limit)
    spec = msgspec.structs.replace(spec, resources=whole)
    if pod_requests(spec).get(resource, 0) > most:
        return None
    return Change(
        ChangeKind.RESOURCES,
        f"requests {resource}",
        f"{resource} {shown(resource, asked)} → at most {shown(resource, most)} "
        f"(lower by {shown(resource, asked - most)})",
        2,
        pod=msgspec.structs.replace(pod, spec=spec),
        yaml=as_yaml(written),
        move=(asked - most) / asked,
    )


def _written(resource: str, value: int, has_limit: bool) -> Any:
    """Write a request; of resources that cannot be overcommitted, with the limit that must be equal to it."""
    amount_of = {resource: shown(resource, value)}
    return {"requests": amount_of} | ({"limits": amount_of} if has_limit else {})


def _lower_containers(
    spec: PodSpec, attribute: str, resource: str, most: int
) -> tuple[PodSpec, list[tuple[str, int, bool]]]:
    """Lower the largest of some containers, then the next, until the pod asks for no more than it may."""
    containers: list[Container] = list(getattr(spec, attribute))
    lowered = []
    by_size = sorted(range(len(containers)), key=lambda index: -_asks(containers[index], resource))
    for index in by_size:
        asks, excess = _asks(containers[index], resource), pod_requests(spec).get(resource, 0) - most
        if excess <= 0 or not asks:
            break
        level = max(asks - excess, 0)
        changed = _with_request(containers[index], resource, level)
        trial = msgspec.structs.replace(spec, **{attribute: replaced(containers, index, changed)})
        if pod_requests(trial).get(resource, 0) < pod_requests(spec).get(resource, 0):
            containers[index], spec = changed, trial
            has_limit = resource not in _NATIVE and resource in changed.resources.limits
            lowered.append((changed.name, level, has_limit))
    return spec, lowered


def _asks(container: Container, resource: str) -> int:
    quantity = container.resources.requests.get(resource)
    return amount(resource, quantity) if quantity is not None else 0


def _with_request(container: Container, resource: str, value: int) -> Container:
    new: dict[str, Any] = {resource: _quantity(resource, value)}
    resources = msgspec.structs.replace(container.resources, requests={**container.resources.requests, **new})
    if resource not in _NATIVE and resource in resources.limits:  # of these one gets what one asks for
        resources = msgspec.structs.replace(resources, limits={**resources.limits, **new})
    return msgspec.structs.replace(container, resources=resources)


def _quantity(resource: str, value: int) -> Quantity:
    return parse_quantity(shown(resource, value)) if resource != CPU else Quantity.from_milli(value, Format.DECIMAL_SI)


# -- other pods -------------------------------------------------------------------------------------------------------


def departures(blockers: Blockers) -> Iterator[Change]:
    """Pods that take what is needed: if one of them left, whatever its priority, there might be room."""
    for slot in blockers.only(*CURED_BY_DEPARTURE)[:_MAX_CROWDED].tolist():
        name = blockers.cluster.nodes.node(slot).metadata.name
        movable = (record for record in blockers.cluster.pods_on[slot].values() if not stays(record.pod))
        there = sorted(movable, key=lambda record: (record.priority, record.key))
        for record in there[:_MAX_DEPARTURES]:
            yield Change(
                ChangeKind.OTHER_POD,
                "departure",
                f"move pod {record.key} (priority {record.priority}) away from node {name}",
                8,
                gone=record.key,
                move=record.priority,
            )


# -- host ports -------------------------------------------------------------------------------------------------------


def port_changes(blockers: Blockers) -> Iterator[Change]:
    """Host ports to do without: one at a time, since that is what makes a change small."""
    if not len(blockers.only(NodePorts.name)):
        return
    pod = blockers.pod
    for number, container in enumerate(pod.spec.containers):
        for index, port in enumerate(container.ports):
            if port.hostPort > 0:
                kept = () if pod.spec.hostNetwork else (msgspec.structs.replace(port, hostPort=0, hostIP=""),)
                changed = msgspec.structs.replace(container, ports=replaced(container.ports, index, *kept))
                yield Change(
                    ChangeKind.HOST_PORT,
                    f"port {container.name} {index}",
                    f"drop host port {described_port(port)} of container {container.name}",
                    4,
                    pod=with_spec(pod, containers=replaced(pod.spec.containers, number, changed)),
                )


def described_port(port: ContainerPort) -> str:
    described: HostPort = (port.hostIP or "0.0.0.0", port.protocol or "TCP", port.hostPort)
    address, protocol, host_port = described
    return f"{host_port}/{protocol}{'' if address == '0.0.0.0' else f' at {address}'}"


def volume_changes(blockers: Blockers) -> Iterator[Change]:
    if not len(blockers.only(*_PLUGINS)):
        return
    volumes = blockers.pod.spec.volumes
    for index, volume in enumerate(volumes):
        yield Change(
            ChangeKind.VOLUME,
            f"volume {volume.name}",
            _advice(blockers, blockers.pod, volume),
            6,
            pod=_without_volume(blockers.pod, index),
        )


def _without_volume(pod: Pod, index: int) -> Pod:
    """Return the pod without a volume, which no container mounts then."""
    name = pod.spec.volumes[index].name

    def unmounted(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(
            msgspec.structs.replace(
                one,
                volumeMounts=tuple(mount for mount in one.volumeMounts if mount.name != name),
                volumeDevices=tuple(device for device in one.volumeDevices if device.name != name),
            )
            for one in containers
        )

    return with_spec(
        pod,
        volumes=replaced(pod.spec.volumes, index),
        containers=unmounted(pod.spec.containers),
        initContainers=unmounted(pod.spec.initContainers),
    )


def _advice(blockers: Blockers, pod: Pod, volume: Volume) -> str:
    """What to do about a volume; whatever it is, without the volume the pod would fit."""
    claim = volume.persistentVolumeClaim
    if claim is None:
        return f"volume {volume.name} is all that is in the way: without it the pod fits"
    kind = blockers.cluster.storage.claim_facts(pod, ClaimUse(claim.claimName, False), True)
    named = f"claim {claim.claimName} (volume {volume.name})"
    if kind.state is ClaimState.MISSING:
        return (
            f"create PersistentVolumeClaim {claim.claimName} in namespace {pod.metadata.namespace}: {named} is missing"
        )
    if kind.state is ClaimState.BOUND and kind.volume is not None:
        nodes = len(blockers.only(*_PLUGINS))
        if kind.is_exclusive and len(blockers.only(VolumeRestrictions.name)) == nodes:
            return f"{named} is all that is in the way: it is ReadWriteOncePod, and another pod uses it"
        if len(blockers.only(NodeVolumeLimits.name)) == nodes:
            return f"{named} is all that is in the way: nodes have as many volumes attached as they may"
        name = kind.volume.metadata.name
        return f"{named} is all that is in the way: PersistentVolume {name} cannot be used on these nodes"
    state = _STATES.get(kind.state, f"it is {kind.state.value}")
    return f"{named} is all that is in the way: {state}"
