"""Validate requests and limits of containers and pods: known names, sensible amounts, claims that exist.

Kubernetes: validateResourceRequirements, validateResourceClaimNames, validatePodResources,
validatePodResourceConsistency, pkg/apis/core/helper for what a resource's name says about it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from moorage.admit.metadata import NOT_NEGATIVE, validate_dns_label
from moorage.admit.options import ValidationOptions
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, invalid
from moorage.model.names import label_key_errors
from moorage.model.quantity import Quantity, QuantityError, parse_quantity, total_amounts
from moorage.model.text.remembering import remember_short
from moorage.model.types.container import ResourceClaim, ResourceRequirements
from moorage.model.types.pod import PodSpec

POD_LEVEL_RESOURCES = ("cpu", "hugepages-", "memory")
_COUNTED_OBJECTS = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
_COMPUTE = frozenset({"cpu", "ephemeral-storage", "memory"})
_STANDARD = (
    _COUNTED_OBJECTS
    | _COMPUTE
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE}
    | {"storage", "requests.storage"}
)
_HUGE_PAGES = "hugepages-"
_QUOTA_HUGE_PAGES = "requests.hugepages-"
_QUOTA_PREFIX = "requests."
_NATIVE_PREFIX = "kubernetes.io/"
_ORDINARY_LENGTH = 256  # of names worth remembering


class ResourceRules(msgspec.Struct, frozen=True):
    """The rules of one resource, by its name. `is_plain`: any amount that is not negative will do for a container."""

    name_errors: tuple[str, ...]
    container_errors: tuple[str, ...]
    allowed_at_pod_level: bool
    is_whole: bool
    is_huge_pages: bool
    is_cpu_or_memory: bool
    may_be_overcommitted: bool
    page_size: int | None
    is_plain: bool


def resource_rules(name: str) -> ResourceRules:
    return _remembered_rules(name) if len(name) <= _ORDINARY_LENGTH else _rules(name)


def _rules(name: str) -> ResourceRules:
    huge_pages = name.startswith(_HUGE_PAGES)
    native = is_native_resource(name)
    name_errors = _name_errors(name)
    container_errors = name_errors + _container_errors(name, native, huge_pages)
    whole = name in _COUNTED_OBJECTS or is_extended_resource(name)
    return ResourceRules(
        name_errors=name_errors,
        container_errors=container_errors,
        allowed_at_pod_level=name in ("cpu", "memory") or huge_pages,
        is_whole=whole,
        is_huge_pages=huge_pages,
        is_cpu_or_memory=name in ("cpu", "memory"),
        may_be_overcommitted=native and not huge_pages,
        page_size=_page_size(name) if huge_pages else None,
        is_plain=not container_errors and not whole and not huge_pages,
    )


_remembered_rules = remember_short(1024)(_rules)


def validate_container_resource_name(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name, message) for message in resource_rules(name).container_errors]


def is_native_resource(name: str) -> bool:
    """Kubernetes' own: without a prefix, or in a kubernetes.io namespace."""
    return "/" not in name or _NATIVE_PREFIX in name


def is_extended_resource(name: str) -> bool:
    """True for a name of another domain that stays valid when a quota puts `requests.` in front of it."""
    if is_native_resource(name) or name.startswith(_QUOTA_PREFIX):
        return False
    return not label_key_errors(f"{_QUOTA_PREFIX}{name}")


def _name_errors(name: str) -> tuple[str, ...]:
    errors = label_key_errors(name)
    if (
        not errors
        and "/" not in name
        and name not in _STANDARD
        and not name.startswith((_HUGE_PAGES, _QUOTA_HUGE_PAGES))
    ):
        errors.append("must be a standard resource type or fully qualified")
    return tuple(errors)


def _container_errors(name: str, native: bool, huge_pages: bool) -> tuple[str, ...]:
    if "/" not in name:
        return () if name in _COMPUTE or huge_pages else ("must be a standard resource for containers",)
    return () if native or is_extended_resource(name) else ("doesn't follow extended resource name standard",)


def _page_size(name: str) -> int | None:
    """In bytes; None where the name carries no positive whole number of them."""
    try:
        size = parse_quantity(name.removeprefix(_HUGE_PAGES))
    except QuantityError:
        return None
    whole = size.sign() > 0 and size.milli_value() % 1000 == 0
    return (size.value() or None) if whole else None  # a size too big to count in bytes divides nothing


_LIMIT_NEEDED = "Limit must be set for non overcommitable resources"
_HUGE_PAGES_ALONE = "HugePages require cpu or memory"


def validate_resource_requirements(
    requirements: ResourceRequirements,
    path: str,
    claim_names: frozenset[str],
    options: ValidationOptions,
    *,
    pod_level: bool = False,
) -> FieldErrors:
    """Go visits maps in random order; here it is the order of the names."""
    limits = requirements.limits
    huge_pages = cpu_or_memory = False
    for side, amounts in (("limits", limits), ("requests", requirements.requests)):
        for name, quantity in _sorted(amounts):
            rules = resource_rules(name)
            if pod_level or not rules.is_plain or quantity.sign() < 0:
                yield from _validate_amount(name, quantity, rules, f"{path}.{side}[{name}]", pod_level)
            if side == "requests":
                yield from _validate_against_limit(name, quantity, limits.get(name), rules, path)
            if rules.is_huge_pages:
                huge_pages = True
                yield from _validate_pages(name, quantity, rules, f"{path}.{side}[{name}]", options)
            cpu_or_memory = cpu_or_memory or rules.is_cpu_or_memory
    if huge_pages and not cpu_or_memory:
        yield field.forbidden(path, _HUGE_PAGES_ALONE)
    if requirements.claims:
        yield from _validate_claims(requirements.claims, f"{path}.claims", claim_names)


def _sorted(amounts: Mapping[str, Quantity]) -> Iterable[tuple[str, Quantity]]:
    return sorted(amounts.items(), key=lambda item: item[0]) if len(amounts) > 1 else amounts.items()


def _validate_amount(name: str, quantity: Quantity, rules: ResourceRules, path: str, pod_level: bool) -> FieldErrors:
    messages = rules.name_errors if pod_level else rules.container_errors
    yield from [field.invalid(path, AsJSON(name), message) for message in messages]
    if pod_level and not messages and not rules.allowed_at_pod_level:
        yield field.not_supported(path, AsJSON(name), POD_LEVEL_RESOURCES)
    yield from validate_quantity(quantity, path, is_whole=rules.is_whole)


def validate_quantity(quantity: Quantity, path: str, *, is_whole: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if quantity.sign() < 0:
        errors.append(field.invalid(path, str(quantity), NOT_NEGATIVE))
    if is_whole and quantity.milli_value() % 1000 != 0:
        errors.append(field.invalid(path, AsJSON(str(quantity)), "must be an integer"))
    return errors


def _validate_against_limit(
    name: str, request: Quantity, limit: Quantity | None, rules: ResourceRules, path: str
) -> list[FieldError]:
    if limit is None:
        return [] if rules.may_be_overcommitted else [field.required(f"{path}.limits", _LIMIT_NEEDED)]
    if not rules.may_be_overcommitted and request != limit:
        return [field.invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")]
    if limit < request:  # one comparison; the other operators take two
        return [
            field.invalid(f"{path}.requests", str(request), f"must be less than or equal to {name} limit of {limit}")
        ]
    return []


def _validate_pages(
    name: str, quantity: Quantity, rules: ResourceRules, path: str, options: ValidationOptions
) -> list[FieldError]:
    if options.allow_indivisible_huge_pages_values or is_whole_pages(quantity, rules):
        return []
    return [field.invalid(path, str(quantity), f"{quantity} is not positive integer multiple of {name}")]


def is_whole_pages(quantity: Quantity, rules: ResourceRules) -> bool:
    return rules.page_size is not None and quantity.value() % rules.page_size == 0


def _validate_claims(claims: tuple[ResourceClaim, ...], path: str, claim_names: frozenset[str]) -> FieldErrors:
    """Check that a claim is one of the pod's, and is used whole or request by request, each once."""
    used: set[str] = set()
    requests_used: Counter[str] = Counter()
    unknown = ""
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.name
        if not name:
            yield field.required(at)
            continue
        if name in used:
            yield field.duplicate(at, name)
        else:
            key = name
            if claim.request:
                yield from validate_dns_label(claim.request, f"{at}.request")
                key = f"{name}/{claim.request}"
            if key in used:
                yield field.duplicate(at, key)
            elif not claim.request:
                yield from [field.duplicate(at, name)] * requests_used[name]
            if key not in used and "/" in key:
                requests_used[key.partition("/")[0]] += 1
            used.add(key)
        if name not in claim_names:
            unknown = unknown or _unknown_claim(claim_names)
            yield field.not_found(at, name, unknown)


def _unknown_claim(claim_names: frozenset[str]) -> str:
    known = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
    return f"must be one of the names in pod.spec.resourceClaims{known}"


def validate_pod_resources(
    spec: PodSpec, path: str, claim_names: frozenset[str], options: ValidationOptions
) -> FieldErrors:
    """Check `path`, the spec's own path, plus `.resources`; a Windows pod must not have any."""
    resources = spec.resources
    if resources is None:
        return
    at = f"{path}.resources"
    if spec.os is not None and spec.os.name == "windows":
        yield field.forbidden(at, "may not be set for a windows pod")
        return
    if resources.claims:
        yield field.forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level")
    yield from validate_resource_requirements(resources, at, claim_names, options, pod_level=True)
    yield from _validate_consistency(spec, resources, at)


def _validate_consistency(spec: PodSpec, resources: ResourceRequirements, path: str) -> FieldErrors:
    """Check that the pod's requests cover the sum of its containers', its limits each container's (huge pages: sum)."""
    if resources.requests:
        for name, total in sorted(container_total(spec, "requests").items(), key=_by_name):
            request = resources.requests.get(name)
            if request is not None and total > request:
                detail = f"must be greater than or equal to aggregate container requests of {total}"
                yield field.invalid(f"{path}.requests[{name}]", str(request), detail)
    if not resources.limits:
        return
    for name, total in sorted(container_total(spec, "limits").items(), key=_by_name):
        limit = resources.limits.get(name) if resource_rules(name).is_huge_pages else None
        if limit is not None and total > limit:
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            yield field.invalid(f"{path}.limits[{name}]", str(limit), detail)
    for index, container in enumerate(spec.containers):
        for name, amount in sorted(container.resources.limits.items(), key=_by_name):
            limit = resources.limits.get(name)
            if limit is not None and amount > limit:
                at = f"{path}.containers[{index}][{name}].limits"
                yield field.invalid(at, str(amount), f"must be less than or equal to pod limits of {limit}")


def _by_name(item: tuple[str, Quantity]) -> str:
    return item[0]


def container_total(spec: PodSpec, side: Literal["requests", "limits"]) -> dict[str, Quantity]:
    return total_amounts(
        (getattr(container.resources, side) for container in spec.containers),
        (
            (init_container.restartPolicy == "Always", getattr(init_container.resources, side))
            for init_container in spec.initContainers
        ),
    )
