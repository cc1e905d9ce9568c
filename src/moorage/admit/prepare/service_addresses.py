"""What a server gives a Service: its address inside the cluster, and the ports it has on every node.

Kubernetes: pkg/registry/core/service/storage (alloc.go, storage.go), which does this before the strategy validates.
Differs: one family, IPv4; nothing is routed here, so addresses are names more than places.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from moorage.admit.messages.rejection_status import invalid_status
from moorage.admit.plugins import Plugin
from moorage.admit.prepare.service_families import complete_families
from moorage.admit.raw import Raw, items, part
from moorage.model.api_error import ApiError, internal
from moorage.model.field_error import AsJSON, FieldError, invalid
from moorage.model.kinds import KINDS, Kind

NONE = "None"


class NotAllocated(Exception):
    """An address or port that cannot be allocated; the text says why."""


class Allocator(Protocol):
    """Allocates addresses and ports. `wanted` is what the service asks for; raises NotAllocated."""

    def cluster_ip(self, wanted: str) -> str: ...

    def node_port(self, wanted: int, besides: Collection[int]) -> int:
        """`besides` are the ports that the service has already."""


class ServiceAddresses(Plugin):
    """Completes services; the allocator is looked up for each request."""

    def __init__(self, allocator: Callable[[], Allocator]) -> None:
        self._allocator = allocator

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.SERVICE:
            return
        keep_allocated(new, old)
        spec, allocator = part(new, "spec"), self._allocator()
        if wrong := list(complete_families(spec, old)):
            raise _refused(new, wrong)
        if has_address(spec):
            if not spec.get("clusterIP"):
                spec["clusterIP"] = allocator.cluster_ip("")
            elif spec["clusterIP"] != NONE and (old is None or old["spec"].get("clusterIP") != spec["clusterIP"]):
                spec["clusterIP"] = _asked_for_address(new, spec, allocator)
            spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
        if _can_have_node_ports(spec):
            _give_node_ports(new, spec, old, allocator)
        if has_health_port(spec):
            _give_health_port(spec, old, allocator)


def _asked_for_address(new: Raw, spec: Raw, allocator: Allocator) -> str:
    wanted: str = spec["clusterIP"]
    try:
        return allocator.cluster_ip(wanted)
    except NotAllocated as refusal:
        all_wanted = AsJSON(spec.get("clusterIPs") or [wanted])
        detail = f"failed to allocate IP {wanted}: {refusal}"
        raise _refused(new, [invalid("spec.clusterIPs", all_wanted, detail)]) from None


def _give_node_ports(new: Raw, spec: Raw, old: Raw | None, allocator: Allocator) -> None:
    """Allocate node ports; a new service's ports of one number and several protocols share one."""
    ports, own, shared = items(spec, "ports"), _node_ports(part(old or {}, "spec")), dict[Any, int]()
    for index, port in enumerate(ports):
        number, wanted = port.get("port"), port.get("nodePort") or 0
        if not wanted and not has_node_ports(spec):
            continue
        if not wanted and old is None:
            alike = (other.get("nodePort") for other in ports[index:] if other.get("port") == number)
            wanted = shared.get(number) or next(filter(None, alike), 0)
        if wanted != shared.get(number) if old is None else wanted not in own:
            try:
                wanted = allocator.node_port(wanted, own if wanted else own | _node_ports(spec))
            except NotAllocated as refusal:
                wrong = invalid(f"spec.ports[{index}].nodePort", wanted, str(refusal))
                raise _refused(new, [wrong]) from None
        port["nodePort"] = wanted
        own.add(wanted)
        shared.setdefault(number, wanted)


def _give_health_port(spec: Raw, old: Raw | None, allocator: Allocator) -> None:
    wanted, others = spec.get("healthCheckNodePort") or 0, _node_ports({**spec, "healthCheckNodePort": 0})
    if not wanted:
        spec["healthCheckNodePort"] = allocator.node_port(0, others)
    elif not has_health_port(part(old or {}, "spec")):
        try:
            allocator.node_port(wanted, others)
        except NotAllocated as refusal:
            raise internal(f"failed to allocate requested HealthCheck NodePort {wanted}: {refusal}") from None


def _node_ports(spec: Raw) -> set[int]:
    found = {port.get("nodePort") for port in items(spec, "ports")} | {spec.get("healthCheckNodePort")}
    return {number for number in found if number}


def _refused(new: Raw, errors: Sequence[FieldError]) -> ApiError:
    return ApiError(invalid_status(KINDS.SERVICE, part(new, "metadata").get("name") or "", errors))


def has_address(spec: Raw) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def has_node_ports(spec: Raw) -> bool:
    if spec.get("type") == "NodePort":
        return True
    return spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False


def _can_have_node_ports(spec: Raw) -> bool:
    """True for types whose node ports may be set, even if none are allocated."""
    return spec.get("type") in ("NodePort", "LoadBalancer")


def has_health_port(spec: Raw) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def keep_allocated(new: Raw, old: Raw | None) -> None:
    """Keep the allocated addresses and ports that an update leaves out, and make clusterIP and clusterIPs agree."""
    spec, before = part(new, "spec"), part(old or {}, "spec")
    if has_address(spec) and has_address(before):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    _say_addresses_both_ways(spec, before)
    if has_node_ports(spec) and has_node_ports(before):
        _keep_node_ports(items(spec, "ports"), items(before, "ports"))
    if has_health_port(spec) and has_health_port(before) and before.get("healthCheckNodePort"):
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _say_addresses_both_ways(spec: Raw, before: Raw) -> None:
    """`clusterIP` is the first of `clusterIPs`. If an update changes only one of the two, the other follows."""
    one, many = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if one and not many:
        spec["clusterIPs"] = [one]
    elif before and one != (before.get("clusterIP") or "") and many == (before.get("clusterIPs") or []):
        spec["clusterIPs"] = [one] if one else []


def _keep_node_ports(ports: list[Raw], before: list[Raw]) -> None:
    numbers = {port.get("nodePort") for port in ports} & {port.get("nodePort") for port in before}
    by_name = {port.get("name") or "": port.get("nodePort") for port in before}
    for port in ports:
        known = by_name.get(port.get("name") or "")
        if not port.get("nodePort") and known and known not in numbers:
            port["nodePort"] = known


def drop_what_the_type_has_not(new: Raw, old: Raw) -> None:
    """Drop what only the old type of the service had, unless the update changed that, too."""
    spec, before = part(new, "spec"), part(old, "spec")
    if has_address(before) and not has_address(spec):
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            _drop_if_kept(spec, before, name)
    if has_node_ports(before) and not has_node_ports(spec):
        numbers = [port.get("nodePort") for port in items(before, "ports")]
        if [port.get("nodePort") for port in items(spec, "ports")] == numbers:
            for port in items(spec, "ports"):
                port.pop("nodePort", None)
    if has_health_port(before) and not has_health_port(spec):
        _drop_if_kept(spec, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" != spec.get("type"):
        _drop_if_kept(spec, before, "allocateLoadBalancerNodePorts")
        _drop_if_kept(spec, before, "loadBalancerClass")
    if _is_outside(before) and not _is_outside(spec):
        _drop_if_kept(spec, before, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer" and (new.get("status") or {}).get("loadBalancer"):
        new["status"] = new["status"] | {"loadBalancer": {}}


def _is_outside(spec: Raw) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer") or bool(spec.get("externalIPs"))


def _drop_if_kept(spec: Raw, before: Raw, name: str) -> None:
    if spec.get(name) == before.get(name):
        spec.pop(name, None)
