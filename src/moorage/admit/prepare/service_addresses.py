"""Allocate and validate the addresses of a Service: IP families, cluster IPs, and the ports it has on every node.

Kubernetes: pkg/registry/core/service/storage (alloc.go, storage.go), which does this before the strategy validates;
ValidateServiceClusterIPsRelatedFields and validateUpgradeDowngrade* (pkg/apis/core/validation). Differs: one family,
IPv4, is configured; nothing is routed here, so addresses are names more than places.
"""

from collections.abc import Callable, Collection, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any, Protocol

from moorage.admit.kinds.fields import repeated_places
from moorage.admit.messages.rejections import invalid_status
from moorage.admit.plugins import Plugin
from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.admit.raw import Raw, items, part
from moorage.model import field_error as field
from moorage.model.api_error import ApiError, internal
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, invalid
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.core import ServiceSpec

MAY_NOT_CHANGE = "may not change once set"
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")


def is_headless(spec: ServiceSpec) -> bool:
    return spec.clusterIPs == ("None",) or (not spec.clusterIPs and spec.clusterIP == "None")


def family_of(address: str) -> str:
    """Return the family of a valid address, IPv4 for anything else."""
    try:
        return "IPv6" if isinstance(ip_address(address), IPv6Address) else "IPv4"
    except ValueError:
        return "IPv4"


def validate_cluster_ips(spec: ServiceSpec, old: ServiceSpec) -> FieldErrors:
    """Check clusterIPs, ipFamilies and ipFamilyPolicy of a service that is no ExternalName."""
    addresses, shown = spec.clusterIPs, AsJSON(spec.clusterIPs)
    if addresses and not spec.clusterIP:
        yield field.invalid("spec.clusterIPs", shown, "must be empty when `clusterIP` is not specified")
    elif addresses and addresses[0] != spec.clusterIP:
        yield field.invalid("spec.clusterIPs", shown, "first value must match `clusterIP`")
    repeated = set(repeated_places(spec.ipFamilies))
    for index, family in enumerate(spec.ipFamilies):
        yield from field.one_of(family, _FAMILIES, f"spec.ipFamilies[{index}]")
        if index in repeated:
            yield field.duplicate(f"spec.ipFamilies[{index}]", AsJSON(family))
    yield from field.one_of(spec.ipFamilyPolicy, _FAMILY_POLICIES, "spec.ipFamilyPolicy")
    wrong = list(_validate_addresses(addresses, old.clusterIPs))
    yield from wrong
    if len(addresses) > 2:
        yield field.invalid("spec.clusterIPs", shown, "may only hold up to 2 values")
    if wrong:
        return
    if len(addresses) > 1 and len({family_of(address) for address in addresses}) < 2:
        yield field.invalid("spec.clusterIPs", shown, "may specify no more than one IP for each IP family")
    if is_headless(spec):
        return
    for index, (address, family) in enumerate(zip(addresses, spec.ipFamilies, strict=False)):
        if family in _FAMILIES and family_of(address) != family:
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield field.invalid(f"spec.clusterIPs[{index}]", address, detail)


def _validate_addresses(addresses: tuple[str, ...], kept: tuple[str, ...]) -> FieldErrors:
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                yield field.invalid("spec.clusterIPs", AsJSON(addresses), "'None' must be the first and only value")
        elif address not in kept:
            yield from validate_ip_address(address, f"spec.clusterIPs[{index}]")


def validate_ips_kept(after: ServiceSpec, before: ServiceSpec) -> FieldErrors:
    """Check that an update keeps the addresses and families; a second one may come and go."""
    if "ExternalName" in (after.type, before.type) or (is_headless(after) and is_headless(before)):
        return
    addresses, shown = after.clusterIPs, AsJSON(after.clusterIPs)
    if before.clusterIPs and not addresses:
        yield field.invalid("spec.clusterIPs[0]", shown, "primary clusterIP can not be unset")
    for index, (now, then) in enumerate(zip(addresses, before.clusterIPs, strict=False)):
        if now != then and (index == 0 or len(addresses) == len(before.clusterIPs)):
            yield field.invalid(f"spec.clusterIPs[{index}]", shown, MAY_NOT_CHANGE)
    policy = AsJSON(after.ipFamilyPolicy)
    if len(before.clusterIPs) > len(addresses) == 1 and after.ipFamilyPolicy != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield field.invalid("spec.ipFamilyPolicy", policy, detail)
    if is_headless(after) or is_headless(before):
        return
    families = after.ipFamilies
    for index, (new, old) in enumerate(zip(families, before.ipFamilies, strict=False)):
        alike = len(families) == len(before.ipFamilies)
        if new != old and (index == 0 or alike):
            yield field.invalid("spec.ipFamilies[0]", AsJSON(families) if alike else shown, MAY_NOT_CHANGE)
    if len(before.ipFamilies) > len(families) == 1 and after.ipFamilyPolicy != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield field.invalid("spec.ipFamilyPolicy", policy, detail)


_CONFIGURED = "IPv4"
_POLICY = "spec.ipFamilyPolicy"
_SINGLE = "SingleStack"
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


def complete_families(spec: Raw, old: Raw | None) -> FieldErrors:
    """Fill in ipFamilyPolicy and ipFamilies; the errors found on the way end the request. `old` is the old object."""
    before = part(old or {}, "spec")
    if spec.get("type") == "ExternalName" or (old is not None and _still_prefers_two(spec, before)):
        return []
    is_free = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        usual = "RequireDualStack" if is_free else _SINGLE
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or usual
    wrong = list(validate_cluster_ips(convert_view(spec, ServiceSpec), convert_view(before, ServiceSpec)))
    wrong = wrong or [*_released(spec, before, old), *_too_many(spec), *_infer_families(spec)]
    if wrong:
        return wrong
    if is_free:
        families = spec.get("ipFamilies") or [_CONFIGURED]
        two = len(families) == 1 and spec["ipFamilyPolicy"] != _SINGLE
        spec["ipFamilies"] = [families[0], _OTHER[families[0]]] if two else families
        return []
    wrong = list(_not_configured(spec))
    if not wrong:
        spec["ipFamilies"] = spec.get("ipFamilies") or [_CONFIGURED]
    return wrong


def _still_prefers_two(spec: Raw, before: Raw) -> bool:
    """Return whether an update leaves alone a service that prefers two families: it is not given a second one."""
    return (
        spec.get("ipFamilyPolicy") == "PreferDualStack"
        and before.get("ipFamilyPolicy") in (None, "PreferDualStack")
        and before.get("type") == spec.get("type")
        and spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")
        and _same(spec, before, "clusterIPs")
        and _same(spec, before, "ipFamilies")
    )


def _same(spec: Raw, before: Raw, name: str) -> bool:
    return (spec.get(name) or []) == (before.get(name) or [])


def _released(spec: Raw, before: Raw, old: Raw | None) -> FieldErrors:
    """Check that only a single-stack service gives up its second address or family; drop these if it says so."""
    if old is None:
        return
    for name, called in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        now, then = spec.get(name) or [], before.get(name) or []
        if spec["ipFamilyPolicy"] == _SINGLE:
            if now == then and len(now) > 1:
                spec[name] = now[:1]
        elif 0 < len(now) < len(then):
            detail = f"must be 'SingleStack' to release the secondary {called}"
            yield invalid(_POLICY, AsJSON(spec["ipFamilyPolicy"]), detail)


def _too_many(spec: Raw) -> FieldErrors:
    if spec["ipFamilyPolicy"] != _SINGLE:
        return
    for name, called in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if len(spec.get(name) or ()) == 2:
            detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {called} are specified"
            yield invalid(_POLICY, AsJSON(_SINGLE), detail)


def _infer_families(spec: Raw) -> FieldErrors:
    """Take the families that are not given from the addresses."""
    addresses, families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or [])
    for index, address in enumerate(addresses):
        if address == "None":
            return
        if index >= len(families):
            family = family_of(address)
            if family != _CONFIGURED:
                detail = f"{family} is not configured on this cluster"
                yield invalid(f"spec.clusterIPs[{index}]", AsJSON(addresses), detail)
            else:
                families.append(family)
                spec["ipFamilies"] = families


def _not_configured(spec: Raw) -> FieldErrors:
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        yield invalid(_POLICY, AsJSON("RequireDualStack"), "this cluster is not configured for dual-stack services")
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family != _CONFIGURED:
            yield invalid(f"spec.ipFamilies[{index}]", AsJSON(family), "not configured on this cluster")


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
    ports = {port.get("nodePort") for port in items(spec, "ports")} | {spec.get("healthCheckNodePort")}
    return {number for number in ports if number}


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
