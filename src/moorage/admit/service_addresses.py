"""What a server gives a Service: its address inside the cluster, and the ports it has on every node.

In: a raw Service with its defaults, the old one on update, and who gives out addresses and ports. Out: the same
Service, completed in place. Kubernetes: pkg/registry/core/service/storage (alloc.go, storage.go), which does this
before the strategy validates. Differs: one family, IPv4; nobody routes anything here, so addresses are names more than
places. Next: `moorage.serve` puts `ServiceAddresses` among its plugins; offline, nothing is allocated.
"""

from collections.abc import Callable
from typing import Protocol

from moorage.admit.plugins import Plugin
from moorage.admit.raw import Raw, items, part

NONE = "None"


class Allocator(Protocol):
    """Gives out what is free. What a service asks for by itself is told, so that nobody else gets it."""

    def cluster_ip(self, wanted: str) -> str: ...

    def node_port(self, wanted: int) -> int: ...


class ServiceAddresses(Plugin):
    """Completes services; the allocator is asked for each at the moment it is needed."""

    def __init__(self, allocator: Callable[[], Allocator]) -> None:
        self._allocator = allocator

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "Service":
            return
        keep_allocated(new, old)
        spec, allocator = part(new, "spec"), self._allocator()
        if has_address(spec):
            if not spec.get("clusterIP"):
                spec["clusterIP"] = allocator.cluster_ip("")
            elif spec["clusterIP"] != NONE and (old is None or old["spec"].get("clusterIP") != spec["clusterIP"]):
                spec["clusterIP"] = allocator.cluster_ip(spec["clusterIP"])
            spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
            spec["ipFamilies"] = spec.get("ipFamilies") or ["IPv4"]
            spec["ipFamilyPolicy"] = spec.get("ipFamilyPolicy") or "SingleStack"
        if has_node_ports(spec):
            known = {port.get("nodePort") for port in items(part(old or {}, "spec"), "ports")}
            for port in items(spec, "ports"):
                if port.get("nodePort") not in known or not port.get("nodePort"):
                    port["nodePort"] = allocator.node_port(port.get("nodePort") or 0)
        if has_health_port(spec) and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = allocator.node_port(0)


def has_address(spec: Raw) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def has_node_ports(spec: Raw) -> bool:
    if spec.get("type") == "NodePort":
        return True
    return spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False


def has_health_port(spec: Raw) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def keep_allocated(new: Raw, old: Raw | None) -> None:
    """What an update leaves out of what was given to the service is not given back; and one word says both fields."""
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
    elif before and one == (before.get("clusterIP") or "") and many != (before.get("clusterIPs") or []):
        spec["clusterIP"] = many[0] if many else ""


def _keep_node_ports(ports: list[Raw], before: list[Raw]) -> None:
    numbers = {port.get("nodePort") for port in ports} & {port.get("nodePort") for port in before}
    by_name = {port.get("name") or "": port.get("nodePort") for port in before}
    for port in ports:
        known = by_name.get(port.get("name") or "")
        if not port.get("nodePort") and known and known not in numbers:
            port["nodePort"] = known


def drop_what_the_type_has_not(new: Raw, old: Raw) -> None:
    """A service that changes its type lets go of what only the old type had, unless it changed that, too."""
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
