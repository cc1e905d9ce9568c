"""Requests and limits: known names, sensible amounts, requests within limits, claims that exist.

In: the `ResourceRequirements` of a container or pod, or a pod's overhead. Out: field errors. Kubernetes:
validateResourceRequirements, validateResourceClaimNames, ValidateResourceQuantityValue.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from moorage.admit.dns_names import validate_dns_label
from moorage.admit.metadata import NOT_NEGATIVE
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers.resource_names import POD_LEVEL_RESOURCES, ResourceRules, resource_rules
from moorage.model.field_error import (
    AsJSON,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from moorage.model.quantity import Quantity
from moorage.model.types.container import ResourceClaim, ResourceRequirements

_LIMIT_NEEDED = "Limit must be set for non overcommitable resources"
_HUGE_PAGES_ALONE = "HugePages require cpu or memory"


def validate_resource_requirements(
    requirements: ResourceRequirements,
    path: str,
    claim_names: frozenset[str],
    options: ValidationOptions,
    *,
    pod_level: bool = False,
) -> list[FieldError]:
    """Go visits maps in random order; here it is the order of the names."""
    limits, requests = requirements.limits, requirements.requests
    errors: list[FieldError] = []
    huge_pages = cpu_or_memory = False
    for name, quantity in _sorted(limits):
        rules = resource_rules(name)
        if pod_level or not rules.is_plain or quantity.sign() < 0:
            errors += _validate_amount(name, quantity, rules, f"{path}.limits[{name}]", pod_level)
        if rules.is_huge_pages:
            huge_pages = True
            errors += _validate_pages(name, quantity, rules, f"{path}.limits[{name}]", options)
        cpu_or_memory = cpu_or_memory or rules.is_cpu_or_memory
    for name, quantity in _sorted(requests):
        rules = resource_rules(name)
        if pod_level or not rules.is_plain or quantity.sign() < 0:
            errors += _validate_amount(name, quantity, rules, f"{path}.requests[{name}]", pod_level)
        errors += _validate_against_limit(name, quantity, limits.get(name), rules, path)
        if rules.is_huge_pages:
            huge_pages = True
            errors += _validate_pages(name, quantity, rules, f"{path}.requests[{name}]", options)
        cpu_or_memory = cpu_or_memory or rules.is_cpu_or_memory
    if huge_pages and not cpu_or_memory:
        errors.append(forbidden(path, _HUGE_PAGES_ALONE))
    if requirements.claims:
        errors += _validate_claims(requirements.claims, f"{path}.claims", claim_names)
    return errors


def _sorted(amounts: Mapping[str, Quantity]) -> Iterable[tuple[str, Quantity]]:
    return sorted(amounts.items(), key=lambda item: item[0]) if len(amounts) > 1 else amounts.items()


def _validate_amount(
    name: str, quantity: Quantity, rules: ResourceRules, path: str, pod_level: bool
) -> list[FieldError]:
    messages = rules.name_errors if pod_level else rules.container_errors
    errors = [invalid(path, AsJSON(name), message) for message in messages]
    if pod_level and not messages and not rules.allowed_at_pod_level:
        errors.append(not_supported(path, AsJSON(name), POD_LEVEL_RESOURCES))
    return errors + validate_quantity(quantity, path, is_whole=rules.is_whole)


def validate_quantity(quantity: Quantity, path: str, *, is_whole: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if quantity.sign() < 0:
        errors.append(invalid(path, str(quantity), NOT_NEGATIVE))
    if is_whole and quantity.milli_value() % 1000 != 0:
        errors.append(invalid(path, AsJSON(str(quantity)), "must be an integer"))
    return errors


def _validate_against_limit(
    name: str, request: Quantity, limit: Quantity | None, rules: ResourceRules, path: str
) -> list[FieldError]:
    if limit is None:
        return [] if rules.may_be_overcommitted else [required(f"{path}.limits", _LIMIT_NEEDED)]
    if not rules.may_be_overcommitted and request != limit:
        return [invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")]
    if request > limit:
        return [invalid(f"{path}.requests", str(request), f"must be less than or equal to {name} limit of {limit}")]
    return []


def _validate_pages(
    name: str, quantity: Quantity, rules: ResourceRules, path: str, options: ValidationOptions
) -> list[FieldError]:
    if options.allow_indivisible_huge_pages_values:
        return []
    if rules.page_size is not None and quantity.value() % rules.page_size == 0:
        return []
    return [invalid(path, str(quantity), f"{quantity} is not positive integer multiple of {name}")]


def _validate_claims(claims: tuple[ResourceClaim, ...], path: str, claim_names: frozenset[str]) -> list[FieldError]:
    """A claim is used whole or request by request, each once, and must be one of the pod's."""
    errors: list[FieldError] = []
    used: set[str] = set()
    requests_used: Counter[str] = Counter()
    unknown = ""
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.name
        if not name:
            errors.append(required(at))
            continue
        if name in used:
            errors.append(duplicate(at, name))
        else:
            key = name
            if claim.request:
                errors += validate_dns_label(claim.request, f"{at}.request")
                key = f"{name}/{claim.request}"
            if key in used:
                errors.append(duplicate(at, key))
            elif not claim.request:
                errors += [duplicate(at, name)] * requests_used[name]
            if key not in used and "/" in key:
                requests_used[key.partition("/")[0]] += 1
            used.add(key)
        if name not in claim_names:
            unknown = unknown or _unknown_claim(claim_names)
            errors.append(not_found(at, name, unknown))
    return errors


def _unknown_claim(claim_names: frozenset[str]) -> str:
    known = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
    return f"must be one of the names in pod.spec.resourceClaims{known}"
