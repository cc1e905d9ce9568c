"""Validate ResourceQuotas, LimitRanges and RuntimeClasses, and complete the defaults of LimitRanges.

Kubernetes: ValidateResourceQuota, ValidateLimitRange, SetDefaults_LimitRangeItem, ValidateRuntimeClass. Differs: errors
come in the order of resource names.
"""

from collections.abc import Iterator, Mapping

from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import KindRow, Rows, ungated
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import (
    FIELD_IS_IMMUTABLE,
    validate_dns_label,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.resources import resource_rules, validate_quantity, validate_resource_requirements
from moorage.admit.pod.tolerations import validate_tolerations
from moorage.admit.prepare.pod_defaults import round_up_lists
from moorage.admit.raw import Raw, items, part
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, duplicate, forbidden, invalid, required
from moorage.model.gates import GateSet
from moorage.model.names import label_key_errors
from moorage.model.quantity import MAX_MILLI_VALUE, Quantity
from moorage.model.types.container import ResourceRequirements
from moorage.model.types.policy import (
    LimitRange,
    LimitRangeItem,
    ResourceQuota,
    ResourceQuotaSpec,
    RuntimeClass,
    Scheduling,
    ScopeSelector,
)

_POD_AMOUNTS = frozenset({"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods"})
_CLAIM_AMOUNTS = frozenset({"persistentvolumeclaims", "requests.storage"})
_STANDARD = (
    _POD_AMOUNTS
    | _CLAIM_AMOUNTS
    | {"ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage"}
    | {"configmaps", "replicationcontrollers", "resourcequotas", "secrets"}
    | {"services", "services.nodeports", "services.loadbalancers"}
)
#: The scopes there are, and the standard amounts that each can be applied to.
_SCOPES: Mapping[str, frozenset[str]] = {
    "Terminating": _POD_AMOUNTS,
    "NotTerminating": _POD_AMOUNTS,
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": _POD_AMOUNTS,
    "PriorityClass": _POD_AMOUNTS,
    "VolumeAttributesClass": _CLAIM_AMOUNTS,
    "CrossNamespacePodAffinity": _POD_AMOUNTS,
}
_WITH_VALUES = ("PriorityClass", "VolumeAttributesClass")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_MUST_EXIST = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_VALUES_NEEDED = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
_NO_VALUES = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
_MISAPPLIED = "unsupported scope applied to resource"
_WARNED = ("cpu", "memory", "storage", "ephemeral-storage")


def default_quota(quota: Raw) -> None:
    round_up_lists(quota.get("spec"), "hard")
    round_up_lists(quota.get("status"), "hard", "used")


def prepare_quota(new: Raw, old: Raw | None, gates: GateSet) -> None:
    new["status"] = {} if old is None else old.get("status") or {}


def validate_quota(quota: ResourceQuota, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(quota.metadata, "metadata")
    yield from _validate_spec(quota.spec)
    yield from _validate_amounts(quota.status.hard, "status.hard")
    yield from _validate_amounts(quota.status.used, "status.used")


def validate_quota_update(new: ResourceQuota, old: ResourceQuota, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec(new.spec)
    if set(new.spec.scopes) != set(old.spec.scopes):
        yield invalid("spec.scopes", AsJSON(new.spec.scopes), FIELD_IS_IMMUTABLE)


def validate_quota_status(new: ResourceQuota, old: ResourceQuota) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_amounts(new.status.hard, "status.hard")
    yield from _validate_amounts(new.status.used, "status.used")


def _validate_spec(spec: ResourceQuotaSpec) -> FieldErrors:
    yield from _validate_amounts(spec.hard, "spec.hard")
    yield from _validate_scopes(spec)
    if spec.scopeSelector is not None:
        yield from _validate_selector(spec, spec.scopeSelector)


def _validate_amounts(amounts: Mapping[str, Quantity], path: str) -> FieldErrors:
    for name, amount in sorted(amounts.items(), key=lambda item: item[0]):
        at, rules = f"{path}[{name}]", resource_rules(name)
        yield from [invalid(at, AsJSON(name), message) for message in rules.name_errors]
        if "/" not in name and not _is_standard(name):
            yield invalid(at, AsJSON(name), "must be a standard resource for quota")
        yield from validate_quantity(amount, at, is_whole=rules.is_whole)


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))


def _misapplied(scope: str, spec: ResourceQuotaSpec) -> int:
    """Return how many of the quota's standard amounts the scope cannot be applied to."""
    allowed = _SCOPES.get(scope)
    return 0 if allowed is None else sum(_is_standard(name) and name not in allowed for name in spec.hard)


def _validate_scopes(spec: ResourceQuotaSpec) -> Iterator[FieldError]:
    shown = AsJSON(spec.scopes)
    for scope in spec.scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", shown, "unsupported scope")
        yield from [invalid("spec.scopes", shown, _MISAPPLIED)] * _misapplied(scope, spec)
    for pair in _OPPOSITES:
        if set(pair) <= set(spec.scopes):
            yield invalid("spec.scopes", shown, "conflicting scopes")


def _validate_selector(spec: ResourceQuotaSpec, selector: ScopeSelector) -> Iterator[FieldError]:
    path = "spec.scopeSelector.matchExpressions"
    for requirement in selector.matchExpressions:
        scope, operator, values = requirement.scopeName, requirement.operator, requirement.values
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", AsJSON(scope), "unsupported scope")
        shown = AsJSON(internal_form(selector))
        yield from [invalid(path, shown, _MISAPPLIED)] * _misapplied(scope, spec)
        if scope in _SCOPES and scope not in _WITH_VALUES and operator != "Exists":
            yield invalid(f"{path}.operator", AsJSON(operator), _MUST_EXIST)
        if operator in ("In", "NotIn"):
            if not values:
                yield required(f"{path}.values", _VALUES_NEEDED)
        elif operator not in ("Exists", "DoesNotExist"):
            yield invalid(f"{path}.operator", AsJSON(operator), "not a valid selector operator")
        elif values:
            yield invalid(f"{path}.values", AsJSON(values), _NO_VALUES)
    scopes = {requirement.scopeName for requirement in selector.matchExpressions}
    for pair in _OPPOSITES:
        if scopes.issuperset(pair):
            yield invalid(path, AsJSON(spec.scopes), "conflicting scopes")


def quota_warnings(quota: ResourceQuota) -> list[str]:
    """Warn where more can be requested than limited."""
    hard = quota.spec.hard
    warnings = []
    for name in _WARNED:
        asked, limited = f"requests.{name}", f"limits.{name}"
        if asked not in hard and name in ("cpu", "memory"):
            asked = name
        request, limit = hard.get(asked), hard.get(limited)
        if request is not None and limit is not None and request > limit:
            warnings.append(f"ResourceQuota {asked} ({request}) should be less than {limited} ({limit})")
    return warnings


CONTAINER, POD, CLAIM = "Container", "Pod", "PersistentVolumeClaim"
_TYPES = (POD, CONTAINER, CLAIM)
_NOT_OF_PODS = "may not be specified when `type` is 'Pod'"
_STORAGE_NEEDED = "either minimum or maximum storage value is required, but neither was provided"
_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ONE = Quantity.from_int(1)


def default_limit_range(limit_range: Raw) -> None:
    spec = part(limit_range, "spec")
    if not spec.get("limits"):
        spec["limits"] = None  # Go writes a list that is not there
    for item in items(spec, "limits"):
        if item.get("type") == CONTAINER:
            limits = dict(item.get("default") or {})
            for name, amount in (item.get("max") or {}).items():
                limits.setdefault(name, amount)
            requests = dict(item.get("defaultRequest") or {})
            for amounts in (limits, item.get("min") or {}):
                for name, amount in amounts.items():
                    requests.setdefault(name, amount)
            for field, amounts in (("default", limits), ("defaultRequest", requests)):
                if amounts:
                    item[field] = amounts
        round_up_lists(item, *_LISTS)


def validate_limit_range(limit_range: LimitRange, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(limit_range.metadata, "metadata")
    seen: set[str] = set()
    for index, item in enumerate(limit_range.spec.limits):
        path = f"spec.limits[{index}]"
        yield from _validate_type(item.type, f"{path}.type")
        if item.type in seen:
            yield duplicate(f"{path}.type", item.type)
        seen.add(item.type)
        yield from _validate_item(item, path)


def _validate_type(limit_type: str, path: str) -> list[FieldError]:
    errors = [invalid(path, limit_type, message) for message in label_key_errors(limit_type)]
    if not errors and "/" not in limit_type and limit_type not in _TYPES:
        errors.append(invalid(path, limit_type, "must be a standard limit type or fully qualified"))
    return errors


def _validate_item(item: LimitRangeItem, path: str) -> FieldErrors:
    """Check one entry; what a Pod's entry has as defaults is forbidden and not looked into."""
    is_pod = item.type == POD
    names: set[str] = set()
    for field in ("max", "min"):
        yield from _validate_names(item.type, getattr(item, field), f"{path}.{field}", names)
    for field in ("default", "defaultRequest"):
        if not is_pod:
            yield from _validate_names(item.type, getattr(item, field), f"{path}.{field}", names)
        elif getattr(item, field):
            yield forbidden(f"{path}.{field}", _NOT_OF_PODS)
    if item.type == CLAIM and "storage" not in item.min and "storage" not in item.max:
        yield required(f"{path}.limits", _STORAGE_NEEDED)
    yield from _validate_names(item.type, item.maxLimitRequestRatio, f"{path}.maxLimitRequestRatio", names)
    for name in sorted(names):
        default, request = (None, None) if is_pod else (item.default.get(name), item.defaultRequest.get(name))
        yield from _validate_limit_amounts(name, item.min.get(name), item.max.get(name), default, request, path)
        ratio = item.maxLimitRequestRatio.get(name)
        if ratio is not None:
            at = f"{path}.maxLimitRequestRatio[{name}]"
            yield from _validate_ratio(ratio, item.min.get(name), item.max.get(name), at)
        is_fixed = not resource_rules(name).may_be_overcommitted
        if is_fixed and default is not None and request is not None and default != request:
            detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
            yield invalid(f"{path}.defaultRequest[{name}]", str(request), detail)


def _validate_names(limit_type: str, amounts: Mapping[str, Quantity], path: str, names: set[str]) -> FieldErrors:
    for name in sorted(amounts):
        names.add(name)
        rules = resource_rules(name)
        messages = rules.container_errors if limit_type in (POD, CONTAINER) else rules.name_errors
        for message in messages:
            yield invalid(f"{path}[{name}]", AsJSON(name), message)


def _validate_limit_amounts(
    name: str,
    least: Quantity | None,
    most: Quantity | None,
    default: Quantity | None,
    request: Quantity | None,
    path: str,
) -> Iterator[FieldError]:
    """Check the order of amounts: minimum, default request, default limit, maximum."""
    if least is not None and most is not None and least > most:
        yield invalid(f"{path}.min[{name}]", str(least), f"min value {least} is greater than max value {most}")
    at = f"{path}.defaultRequest[{name}]"
    if request is not None and least is not None and least > request:
        yield invalid(at, str(request), f"min value {least} is greater than default request value {request}")
    if request is not None and most is not None and request > most:
        yield invalid(at, str(request), f"default request value {request} is greater than max value {most}")
    if request is not None and default is not None and request > default:
        yield invalid(
            at, str(request), f"default request value {request} is greater than default limit value {default}"
        )
    at = f"{path}.default[{name}]"
    if default is not None and least is not None and least > default:
        yield invalid(at, str(least), f"min value {least} is greater than default value {default}")
    if default is not None and most is not None and default > most:
        yield invalid(at, str(most), f"default value {default} is greater than max value {most}")


def _validate_ratio(ratio: Quantity, least: Quantity | None, most: Quantity | None, path: str) -> Iterator[FieldError]:
    if ratio < _ONE:
        yield invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    if least is None or most is None:
        return
    wanted, low, high = float(ratio.value()), least.value(), most.value()
    if max(ratio.value(), low, high) < MAX_MILLI_VALUE:
        wanted, low, high = ratio.milli_value() / 1000, least.milli_value(), most.milli_value()
    possible = _quotient(high, low)
    if wanted > possible:
        yield invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {go_fixed_point(possible)}")


def _quotient(high: int, low: int) -> float:
    if low:
        return high / low
    return float("nan") if not high else float("inf") if high > 0 else float("-inf")


def go_fixed_point(value: float) -> str:
    """Return a number as Go's %f prints it."""
    if value != value:
        return "NaN"
    return f"{value:f}" if abs(value) != float("inf") else f"{'+' if value > 0 else '-'}Inf"


def validate_limit_range_update(new: LimitRange, old: LimitRange, options: ValidationOptions) -> FieldErrors:
    return validate_limit_range(new, options)


def default_runtime_class(runtime_class: Raw) -> None:
    round_up_lists(runtime_class.get("overhead"), "podFixed")


def validate_runtime_class(runtime_class: RuntimeClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(runtime_class.metadata, "metadata", namespaced=False, any_finalizer=True)
    if not runtime_class.handler:
        yield required("handler")
    else:
        yield from validate_dns_label(runtime_class.handler, "handler")
    if runtime_class.overhead is not None:
        limits = ResourceRequirements(limits=runtime_class.overhead.podFixed)
        yield from validate_resource_requirements(limits, "overhead", frozenset(), options)
    if runtime_class.scheduling is not None:
        yield from _validate_scheduling(runtime_class.scheduling, "scheduling", options)


def _validate_scheduling(scheduling: Scheduling, path: str, options: ValidationOptions) -> FieldErrors:
    yield from validate_labels(scheduling.nodeSelector, f"{path}.nodeSelector")
    yield from validate_tolerations(scheduling.tolerations, f"{path}.tolerations", options)
    seen = set()
    for index, toleration in enumerate(scheduling.tolerations):
        key = (toleration.key, toleration.operator, toleration.value, toleration.effect)
        if key in seen:
            yield duplicate(f"{path}.tolerations[{index}]", AsJSON(internal_form(toleration)))
        seen.add(key)


def validate_runtime_class_update(new: RuntimeClass, old: RuntimeClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_runtime_class(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata", any_finalizer=True)
    yield from validate_immutable(new.handler, old.handler, "handler")


ROWS: Rows = {
    ResourceQuota: KindRow(
        validate_quota,
        validate_quota_update,
        default_quota,
        prepare_quota,
        validate_status=ungated(validate_quota_status),
        create_warnings=quota_warnings,
    ),
    LimitRange: KindRow(validate_limit_range, validate_limit_range_update, default_limit_range),
    RuntimeClass: KindRow(validate_runtime_class, validate_runtime_class_update, default_runtime_class),
}
