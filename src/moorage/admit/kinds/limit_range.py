"""Validate LimitRanges, and complete the defaults of containers from minimum and maximum.

Kubernetes: ValidateLimitRange, SetDefaults_LimitRangeItem. Differs: errors come in the order of resource names.
"""

from collections.abc import Iterator, Mapping

from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.metadata import validate_object_meta
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.resources import resource_rules
from moorage.admit.prepare.resource_defaults import round_up_lists
from moorage.admit.raw import Raw, items, part
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, duplicate, forbidden, invalid, required
from moorage.model.names import label_key_errors
from moorage.model.quantity import MAX_MILLI_VALUE, Quantity
from moorage.model.types.policy import LimitRange, LimitRangeItem

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
        yield from _validate_amounts(name, item.min.get(name), item.max.get(name), default, request, path)
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


def _validate_amounts(
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


ROWS: Rows = {LimitRange: KindRow(validate_limit_range, validate_limit_range_update, default_limit_range)}
