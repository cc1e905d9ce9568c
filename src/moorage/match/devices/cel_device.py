"""Show a device to CEL as the variable `device`, and read a result that is neither true nor false.

Kubernetes: dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.libraries.quantity_and_semver import QuantityValue, SemverValue
from moorage.match.cel.types import Type
from moorage.match.cel.values import CelError, CelMap, Duration, OptionalValue, Timestamp, UInt, type_of_value
from moorage.match.devices.description import qualified
from moorage.match.semver import SemverError, parse
from moorage.model.types.view import AbsentList

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.match.devices.description import DeviceDescription
    from moorage.model.types.devices import DeviceAttribute

_NO_ENTRIES = CelMap()


def show_device(description: DeviceDescription, lists: bool) -> CelDevice | CelError:
    """Return the variable `device`, or why the device cannot be shown."""
    try:
        return CelDevice(description, lists)
    except CelError as error:
        return error


class CelDevice:
    """The variable `device`: the attributes are the names that expressions select."""

    __slots__ = ("allowMultipleAllocations", "attributes", "capacity", "driver")

    def __init__(self, description: DeviceDescription, lists: bool) -> None:
        driver = self.driver = description.driver
        self.allowMultipleAllocations = description.allow_multiple_allocations
        attributes = ((name, _attribute(name, attribute, lists)) for name, attribute in description.attributes)
        self.attributes = _by_domain(attributes, driver)
        self.capacity = _by_domain(((name, QuantityValue(value)) for name, value in description.capacity), driver)


def _by_domain(entries: Iterable[tuple[str, Any]], driver: str) -> CelMap:
    """Sort values by the domains of their names; an unknown domain is an empty map."""
    domains: dict[str, dict[str, Any]] = {}
    for name, value in entries:
        domain, identifier = qualified(name, driver)
        domains.setdefault(domain, {})[identifier] = value
    return CelMap(((domain, CelMap(names.items())) for domain, names in domains.items()), absent=_NO_ENTRIES)


def _attribute(name: str, attribute: DeviceAttribute, lists: bool) -> Any:
    if lists:
        for values in (attribute.ints, attribute.bools, attribute.strings):
            if not isinstance(values, AbsentList):
                return list(values)
        if not isinstance(attribute.versions, AbsentList):
            return [_version(name, text) for text in attribute.versions]
    for value in (attribute.int, attribute.bool, attribute.string):
        if value is not None:
            return value
    if attribute.version is not None:
        return _version(name, attribute.version)
    raise CelError(f"attribute {name}: unsupported attribute value")


def _version(name: str, text: str) -> SemverValue:
    try:
        return SemverValue(parse(text))
    except SemverError as error:
        raise CelError(f"attribute {name}: parse semantic version: {error}") from None


_CONVERSIONS: dict[type, str] = {
    str: "unsupported native conversion from string to 'bool'",
    int: "unsupported type conversion from 'int' to bool",
    UInt: "unsupported type conversion from 'uint' to bool",
    float: "type conversion error from Double to 'bool'",
    bytes: "type conversion error from Bytes to 'bool'",
    list: "type conversion error from list to 'bool'",
    type(None): "type conversion error from 'null_type' to 'bool'",
    Duration: "type conversion error from 'Duration' to 'bool'",
    Timestamp: "type conversion error from 'Timestamp' to 'bool'",
    Type: "type conversion not supported for 'type'",
}


def as_bool(result: Any) -> bool | str:
    """Return the result if it is a bool, or an optional that holds one; otherwise why it is not."""
    if isinstance(result, OptionalValue):
        return as_bool(result.value) if result.present else "optional.none() dereference"
    if type(result) is bool:
        return result
    known = _CONVERSIONS.get(type(result))
    if known is not None:
        return known
    name = type_of_value(result).name.rpartition(".")[2]
    return f"type conversion error from {name if name == 'map' else repr(name)} to 'bool'"
