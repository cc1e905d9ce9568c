"""Validate what several kinds of resource.k8s.io share: sizes, duplicates, names of drivers, pools and attributes.

Kubernetes: validateSlice, validateSet, validateMap, validatePoolName, validateQualifiedName, validateRawExtension,
validateDeviceBindingParameters (pkg/apis/resource/validation), ValidateConditions (apimachinery). Differs: opaque
parameters are measured in compact JSON.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from moorage.admit.metadata import subdomain_errors, validate_label_name
from moorage.admit.pod.volume_backends import validate_csi_driver_name
from moorage.model.field_error import (
    AsJSON,
    FieldErrors,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from moorage.model.names import byte_length, label_value_errors, regex_error
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.types.devices import DeviceTaint
from moorage.model.types.meta import Condition
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE

Item = TypeVar("Item")
ValidateItem = Callable[[Any, str], FieldErrors]

MAX_POOL_NAME = 253
MAX_IDENTIFIER = 32
MAX_OPAQUE_BYTES = 10 * 1024
_MAX_DOMAIN = 63
#: Longer keys of attributes and capacity are shortened in the middle where a path shows them.
MAX_SHOWN_KEY = _MAX_DOMAIN + 1 + MAX_IDENTIFIER
_MAX_BINDING_CONDITIONS = 4
_MAX_REASON, _MAX_MESSAGE = 1024, 32 * 1024
_CONDITION_STATUSES = ("False", "True", "Unknown")

DEVICE_TAINT_EFFECTS = (NO_EXECUTE, NO_SCHEDULE, "None")

validate_driver_name = validate_csi_driver_name

_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_is_identifier = whole(_IDENTIFIER)
_IDENTIFIER_ERROR = regex_error(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'",
    _IDENTIFIER,
    "my_name",
    "MY_NAME",
    "MyName",
)
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = whole(_REASON)
_REASON_ERROR = regex_error(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)


def validate_list(items: Sequence[Any], limit: int, validate: ValidateItem, path: str) -> FieldErrors:
    """Check each item of a list, or only its size if there are too many of them."""
    if len(items) > limit:
        yield too_many(path, len(items), limit)
        return
    for index, item in enumerate(items):
        yield from validate(item, f"{path}[{index}]")


def validate_set(
    items: Sequence[Item], limit: int, validate: ValidateItem, key: Callable[[Item], Hashable], path: str
) -> FieldErrors:
    """Check a list whose items must differ by their keys."""
    yield from validate_list(items, limit, validate, path)
    if len(items) <= limit:
        yield from duplicate_errors(map(key, items), path)


def duplicate_errors(keys: Iterable[Hashable], path: str) -> FieldErrors:
    seen: set[Hashable] = set()
    for index, key in enumerate(keys):
        if key in seen:
            yield duplicate(f"{path}[{index}]", key)
        seen.add(key)


def validate_map(
    entries: Mapping[str, Any], limit: int | None, max_shown: int, key_rule: ValidateItem, rule: ValidateItem, path: str
) -> FieldErrors:
    """Check the keys, reported at the path of the map, and the values of a map."""
    if limit is not None and len(entries) > limit:
        yield too_many(path, len(entries), limit)
        return
    for key, value in entries.items():
        yield from key_rule(key, path)
        yield from rule(value, f"{path}[{_shortened(key, max_shown)}]")


def _shortened(key: str, limit: int) -> str:
    """Return the key with its middle left out if it is longer than the limit, in bytes."""
    octets = key.encode("utf-8", "surrogatepass")
    if len(octets) <= limit:
        return key
    remaining = limit - 3
    shown = octets[: (remaining + 1) // 2] + b"..." + octets[len(octets) - remaining // 2 :]
    return shown.decode("utf-8", "replace")


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ", arguments=("",))
def validate_pool_name(name: str, path: str) -> FieldErrors:
    if not name:
        yield required(path)
        return
    if byte_length(name) > MAX_POOL_NAME:
        yield too_long(path, MAX_POOL_NAME)
    for part in name.split("/"):
        yield from (invalid(path, part, message) for message in subdomain_errors(part))


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ", arguments=("",))
def validate_qualified_name(name: str, path: str) -> FieldErrors:
    """Check `identifier` or `domain/identifier`; names with more slashes pass, as upstream lets them."""
    parts = name.split("/")
    if len(parts) == 1:
        yield from _validate_identifier(name, path)
        return
    if len(parts) > 2:
        return
    domain, identifier = parts
    if domain:
        yield from validate_driver_name(domain, path)
    else:
        yield invalid(path, "", "the domain must not be empty")
    if not identifier:
        yield invalid(path, "", "the name must not be empty")
        return
    yield from _validate_identifier(identifier, path)


def validate_fully_qualified_name(name: str, path: str) -> FieldErrors:
    yield from validate_qualified_name(name, path)
    if "/" not in name:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        yield invalid(path, AsJSON(name), detail)


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ", arguments=("",))
def _validate_identifier(name: str, path: str) -> FieldErrors:
    if byte_length(name) > MAX_IDENTIFIER:
        yield too_long(path, MAX_IDENTIFIER)
    if not _is_identifier(name):
        yield invalid(path, name, _IDENTIFIER_ERROR)


def validate_label_value(value: str, path: str) -> FieldErrors:
    return [invalid(path, value, message) for message in label_value_errors(value)]


def validate_opaque_data(data: Any, path: str, *, stored: bool = False) -> FieldErrors:
    """Check a driver's own data, which must be a JSON object; what is `stored` already may be of any size."""
    if data is None:
        yield required(path)
        return
    if not stored and len(msgspec.json.encode(data)) > MAX_OPAQUE_BYTES:
        yield too_long(path, MAX_OPAQUE_BYTES)
        return
    if not isinstance(data, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")


def validate_device_taint(taint: DeviceTaint, path: str, old: DeviceTaint | None = None) -> FieldErrors:
    yield from validate_label_name(taint.key, f"{path}.key")
    yield from validate_label_value(taint.value, f"{path}.value")
    if old is not None and old.effect == taint.effect:
        return
    if not taint.effect:
        yield required(f"{path}.effect")
        return
    yield from validate_device_effect(taint.effect, f"{path}.effect")


def validate_device_effect(effect: str, path: str) -> FieldErrors:
    if effect not in DEVICE_TAINT_EFFECTS:
        yield not_supported(path, AsJSON(effect), DEVICE_TAINT_EFFECTS)


def validate_binding_conditions(conditions: tuple[str, ...], failures: tuple[str, ...], path: str) -> FieldErrors:
    """Check the names of a device's binding conditions, which come with failure conditions or not at all."""
    at, failures_at = f"{path}.bindingConditions", f"{path}.bindingFailureConditions"
    yield from validate_list(conditions, _MAX_BINDING_CONDITIONS, validate_label_name, at)
    yield from validate_list(failures, _MAX_BINDING_CONDITIONS, validate_label_name, failures_at)
    yield from duplicate_errors(conditions, at)
    seen: set[str] = set()
    for index, failure in enumerate(failures):
        if failure in seen:
            yield duplicate(f"{failures_at}[{index}]", failure)
        seen.add(failure)
        if failure in conditions:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid(f"{failures_at}[{index}]", failure, detail)
    if failures and not conditions:
        detail = "bindingConditions are required to use bindingFailureConditions"
        yield invalid(at, AsJSON(conditions), detail)
    if conditions and not failures:
        detail = "bindingFailureConditions are required to use bindingConditions"
        yield invalid(failures_at, AsJSON(failures), detail)


def validate_conditions(conditions: tuple[Condition, ...], path: str) -> FieldErrors:
    """Check the conditions of a status, which must differ by their types."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        if condition.type in seen:
            yield duplicate(f"{path}[{index}].type", condition.type)
        seen.add(condition.type)
        yield from _validate_condition(condition, f"{path}[{index}]")


def _validate_condition(condition: Condition, path: str) -> FieldErrors:
    yield from validate_label_name(condition.type, f"{path}.type")
    if condition.status not in _CONDITION_STATUSES:
        yield not_supported(f"{path}.status", AsJSON(condition.status), _CONDITION_STATUSES)
    if condition.observedGeneration < 0:
        detail = "must be greater than or equal to zero"
        yield invalid(f"{path}.observedGeneration", condition.observedGeneration, detail)
    if condition.lastTransitionTime is None:
        yield required(f"{path}.lastTransitionTime")
    if not condition.reason:
        yield required(f"{path}.reason")
    elif not _is_reason(condition.reason):
        yield invalid(f"{path}.reason", condition.reason, _REASON_ERROR)
    if byte_length(condition.reason) > _MAX_REASON:
        yield too_long(f"{path}.reason", _MAX_REASON)
    if byte_length(condition.message) > _MAX_MESSAGE:
        yield too_long(f"{path}.message", _MAX_MESSAGE)
