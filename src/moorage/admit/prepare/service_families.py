"""Complete the IP families of a Service where a server allocates addresses; it refuses what it cannot give.

Kubernetes: initIPFamilyFields (pkg/registry/core/service/storage/alloc.go). Differs: one family, IPv4, is configured.
"""

from moorage.admit.kinds.network.service_ips import family_of, validate_cluster_ips
from moorage.admit.raw import Raw, part
from moorage.model.field_error import AsJSON, FieldErrors, invalid
from moorage.model.schema.conversion import convert_view
from moorage.model.types.core import ServiceSpec

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
    """Whether an update leaves alone a service that prefers two families: it is not given a second one."""
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
