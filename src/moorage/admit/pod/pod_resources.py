"""Resources of the pod as a whole, and how they go together with its containers'.

In: a `PodSpec` with `resources`. Out: field errors. Kubernetes: validatePodResources, validatePodResourceConsistency,
and the sums of component-helpers/resource.
"""

from collections.abc import Mapping
from typing import Literal

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers.resource_names import resource_rules
from moorage.admit.pod.containers.resources import validate_resource_requirements
from moorage.model.field_error import FieldError, forbidden, invalid
from moorage.model.quantity import Quantity, QuantityError
from moorage.model.types.container import ResourceRequirements
from moorage.model.types.pod import PodSpec


def validate_pod_resources(
    spec: PodSpec, path: str, claim_names: frozenset[str], options: ValidationOptions
) -> list[FieldError]:
    """Check `path`, the spec's own path, plus `.resources`; a Windows pod must not have any."""
    resources = spec.resources
    if resources is None:
        return []
    at = f"{path}.resources"
    if spec.os is not None and spec.os.name == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    errors: list[FieldError] = []
    if resources.claims:
        errors.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    errors += validate_resource_requirements(resources, at, claim_names, options, pod_level=True)
    return errors + _validate_consistency(spec, resources, at)


def _validate_consistency(spec: PodSpec, resources: ResourceRequirements, path: str) -> list[FieldError]:
    """The pod's requests cover the sum of its containers', its limits each container's (huge pages: the sum)."""
    errors: list[FieldError] = []
    if resources.requests:
        for name, total in sorted(container_total(spec, "requests").items(), key=_by_name):
            request = resources.requests.get(name)
            if request is not None and total > request:
                detail = f"must be greater than or equal to aggregate container requests of {total}"
                errors.append(invalid(f"{path}.requests[{name}]", str(request), detail))
    if not resources.limits:
        return errors
    for name, total in sorted(container_total(spec, "limits").items(), key=_by_name):
        limit = resources.limits.get(name) if resource_rules(name).is_huge_pages else None
        if limit is not None and total > limit:
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(invalid(f"{path}.limits[{name}]", str(limit), detail))
    for index, container in enumerate(spec.containers):
        for name, amount in sorted(container.resources.limits.items(), key=_by_name):
            limit = resources.limits.get(name)
            if limit is not None and amount > limit:
                at = f"{path}.containers[{index}][{name}].limits"
                errors.append(invalid(at, str(amount), f"must be less than or equal to pod limits of {limit}"))
    return errors


def _by_name(item: tuple[str, Quantity]) -> str:
    return item[0]


def container_total(spec: PodSpec, side: Literal["requests", "limits"]) -> dict[str, Quantity]:
    """What the containers need together: the regular ones and sidecars at once, or an init container at its time."""
    total: dict[str, Quantity] = {}
    for container in spec.containers:
        _add(total, getattr(container.resources, side))
    sidecars: dict[str, Quantity] = {}
    during_init: dict[str, Quantity] = {}
    for container in spec.initContainers:
        amounts: Mapping[str, Quantity] = getattr(container.resources, side)
        if container.restartPolicy == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise_to(during_init, sidecars)
        else:
            alone = dict(amounts)
            _add(alone, sidecars)
            _raise_to(during_init, alone)
    _raise_to(total, during_init)
    return total


def _add(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = _sum(total[name], amount) if name in total else amount


def _sum(one: Quantity, other: Quantity) -> Quantity:
    """The sum; of amounts so far apart that it cannot be written out, the greater one, which it is for all purposes."""
    try:
        return one.add(other)
    except QuantityError:
        return max(one, other)


def _raise_to(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount
