"""Validate the spec of a ResourceClaim: device requests, constraints and configuration.

Kubernetes: validateResourceClaimSpec (pkg/apis/resource/validation). Differs: tolerations may have the operators of
KEP-5471 and KEP-5721 and the `expression` of KEP-5500, under the gates and with the texts of pods' tolerations.
"""

from collections.abc import Mapping

from moorage.admit.kinds.devices.shared import (
    DEVICE_TAINT_EFFECTS,
    validate_device_effect,
    validate_driver_name,
    validate_fully_qualified_name,
    validate_label_value,
    validate_list,
    validate_opaque_data,
    validate_set,
)
from moorage.admit.metadata import validate_dns_label, validate_dns_subdomain, validate_label_name
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.tolerations import validate_comparing_toleration, validate_toleration_with_expression
from moorage.match.devices.selector import SelectorProblem, compile_device_selector
from moorage.match.operators import TOLERATION, gate_of
from moorage.model.field_error import (
    AsJSON,
    FieldErrors,
    forbidden,
    internal_error,
    invalid,
    not_supported,
    required,
    too_long,
)
from moorage.model.gates import DRA_CONSUMABLE_CAPACITY
from moorage.model.names import byte_length
from moorage.model.text.readers import reads_text
from moorage.model.types import devices as views

MAX_REQUESTS = 32
MAX_CONSTRAINTS = 32
MAX_CONFIGURATIONS = 32
MAX_SELECTORS = 32
MAX_SUBREQUESTS = 8
MAX_EXPRESSION_BYTES = 10 * 1024

TOO_COMPLEX = "too complex, exceeds cost limit"
ONE_REQUEST_TYPE = "exactly one of `exactly` or `firstAvailable` is required"
NOT_A_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
#: Upstream says so of constraints in which no field is set.
NO_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_MODES = ("All", "ExactCount")
_OPERATORS = ("Equal", "Exists")

#: Names of requests, each with the names of its subrequests.
RequestNames = Mapping[str, frozenset[str]]


def request_names(claim: views.DeviceClaim) -> RequestNames:
    return {request.name: frozenset(sub.name for sub in request.firstAvailable) for request in claim.requests}


def validate_claim_spec(spec: views.ResourceClaimSpec, path: str, options: ValidationOptions) -> FieldErrors:
    claim, at = spec.devices, f"{path}.devices"
    names = request_names(claim)
    yield from validate_set(
        claim.requests,
        MAX_REQUESTS,
        lambda request, where: _validate_request(request, where, options),
        lambda request: request.name,
        f"{at}.requests",
    )
    yield from validate_list(
        claim.constraints,
        MAX_CONSTRAINTS,
        lambda constraint, where: _validate_constraint(constraint, where, names, options),
        f"{at}.constraints",
    )
    yield from validate_list(
        claim.config,
        MAX_CONFIGURATIONS,
        lambda config, where: (
            *validate_request_references(config.requests, f"{where}.requests", names),
            *validate_configuration(config, where),
        ),
        f"{at}.config",
    )


def _validate_request(request: views.DeviceRequest, path: str, options: ValidationOptions) -> FieldErrors:
    yield from validate_dns_label(request.name, f"{path}.name")
    if request.exactly is not None and request.firstAvailable:
        yield invalid(path, None, f"{ONE_REQUEST_TYPE}, but multiple fields are set")
    elif request.exactly is not None:
        yield from _validate_exact(request.exactly, f"{path}.exactly", options)
    elif request.firstAvailable:
        yield from validate_set(
            request.firstAvailable,
            MAX_SUBREQUESTS,
            lambda sub, at: (*validate_dns_label(sub.name, f"{at}.name"), *_validate_exact(sub, at, options)),
            lambda sub: sub.name,
            f"{path}.firstAvailable",
        )
    else:
        yield required(path, ONE_REQUEST_TYPE)


def _validate_exact(
    request: views.ExactDeviceRequest | views.DeviceSubRequest, path: str, options: ValidationOptions
) -> FieldErrors:
    name_at = f"{path}.deviceClassName"
    name = request.deviceClassName
    if name:
        yield from validate_dns_subdomain(name, name_at)
    else:
        yield required(name_at)
    yield from validate_selectors(request.selectors, f"{path}.selectors", options)
    yield from _validate_mode(request.allocationMode, request.count, path)
    for index, toleration in enumerate(request.tolerations):
        yield from validate_device_toleration(toleration, f"{path}.tolerations[{index}]", options)


def _validate_mode(mode: str, count: int, path: str) -> FieldErrors:
    if mode not in _MODES:
        yield not_supported(f"{path}.allocationMode", AsJSON(mode), _MODES)
    elif mode == "All" and count:
        yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode != "All" and count <= 0:
        yield invalid(f"{path}.count", count, "must be greater than zero")


def validate_selectors(
    selectors: tuple[views.DeviceSelector, ...], path: str, options: ValidationOptions, *, stored: bool = False
) -> FieldErrors:
    """Check device selectors; of expressions that are `stored` already, less is demanded."""

    def validate(selector: views.DeviceSelector, at: str) -> FieldErrors:
        if selector.cel is None:
            yield required(f"{at}.cel")
            return
        yield from _validate_expression(selector.cel.expression, f"{at}.cel.expression", options, stored)

    yield from validate_list(selectors, MAX_SELECTORS, validate, path)


def _validate_expression(expression: str, path: str, options: ValidationOptions, stored: bool) -> FieldErrors:
    if byte_length(expression) > MAX_EXPRESSION_BYTES:
        yield too_long(path, MAX_EXPRESSION_BYTES)
        return
    compiled = compile_device_selector(expression, options.gates, stored)
    if isinstance(compiled, SelectorProblem):
        detail = compiled.detail
        yield (internal_error(path, detail) if compiled.internal else invalid(path, expression, detail))
        return
    if compiled.exceeds_cost_limit:
        yield forbidden(path, TOO_COMPLEX)


def validate_device_toleration(
    toleration: views.DeviceToleration, path: str, options: ValidationOptions
) -> FieldErrors:
    if toleration.expression:
        yield from validate_toleration_with_expression(toleration, path, options)
        return
    gate = gate_of(toleration.operator, TOLERATION)
    if gate is not None and options.allows_operators_of(gate):
        yield from validate_comparing_toleration(toleration, path, options)
    else:
        if toleration.key:
            yield from validate_label_name(toleration.key, f"{path}.key")
        yield from _validate_plain_operator(toleration, path)
    if toleration.effect and toleration.effect not in DEVICE_TAINT_EFFECTS:
        yield from validate_device_effect(toleration.effect, f"{path}.effect")


def _validate_plain_operator(toleration: views.DeviceToleration, path: str) -> FieldErrors:
    match toleration.operator:
        case "Exists":
            detail = "must be empty for operator `Exists`"
            if toleration.value:
                yield invalid(f"{path}.value", toleration.value, detail)
        case "Equal":
            yield from validate_label_value(toleration.value, f"{path}.value")
        case "":
            yield required(f"{path}.operator")
        case other:
            yield not_supported(f"{path}.operator", AsJSON(other), _OPERATORS)


def _validate_constraint(
    constraint: views.DeviceConstraint, path: str, names: RequestNames, options: ValidationOptions
) -> FieldErrors:
    yield from validate_request_references(constraint.requests, f"{path}.requests", names)
    if constraint.matchAttribute is not None:
        yield from validate_fully_qualified_name(constraint.matchAttribute, f"{path}.matchAttribute")
    elif constraint.distinctAttribute is not None:
        yield from validate_fully_qualified_name(constraint.distinctAttribute, f"{path}.distinctAttribute")
    elif options.gates.enabled(DRA_CONSUMABLE_CAPACITY):
        yield required(path, NO_ATTRIBUTE)
    else:
        yield required(f"{path}.matchAttribute")


def validate_request_references(references: tuple[str, ...], path: str, names: RequestNames) -> FieldErrors:
    """Check a list of requests' names, which must differ."""
    return validate_set(
        references,
        MAX_REQUESTS,
        lambda name, at: validate_request_reference(name, at, names),
        lambda name: name,
        path,
    )


@reads_text("a", "/", "-", arguments=("", {}))
def validate_request_reference(reference: str, path: str, names: RequestNames) -> FieldErrors:
    """Check the name of a request, or of a request and a subrequest."""
    name, *subrequests = reference.split("/")
    if len(subrequests) > 1:
        yield invalid(path, reference, NOT_A_REQUEST)
        return
    for part in (name, *subrequests):
        yield from validate_dns_label(part, path)
    if name not in names or not names[name].issuperset(subrequests):
        yield invalid(path, reference, NOT_A_REQUEST)


def validate_configuration(config: views.DeviceConfiguration, path: str, *, stored: bool = False) -> FieldErrors:
    if config.opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from validate_driver_name(config.opaque.driver, f"{path}.opaque.driver")
    yield from validate_opaque_data(config.opaque.parameters, f"{path}.opaque.parameters", stored=stored)
