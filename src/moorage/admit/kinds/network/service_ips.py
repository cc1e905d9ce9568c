"""Validate the addresses and IP families of Services, alone and against what an update replaces.

Kubernetes: ValidateServiceClusterIPsRelatedFields and validateUpgradeDowngrade* (pkg/apis/core/validation).
"""

from ipaddress import IPv6Address, ip_address

from moorage.admit.kinds.fields import repeated_places
from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldErrors
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
