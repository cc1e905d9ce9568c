"""What selectors can see of a device: its driver, attributes and capacity. Equal devices have equal descriptions.

In: a driver's name and a `Device` of a ResourceSlice. Out: a `DeviceDescription`, hashable, so that a selector is
evaluated once for all devices that look alike. Kubernetes: dynamic-resource-allocation/cel (Device, DeviceMatches).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.libraries.quantity_and_semver import QuantityValue, SemverValue
from moorage.match.cel.values import CelError, CelMap
from moorage.match.devices.attributes import qualified
from moorage.match.semver import SemverError, parse
from moorage.model.types.view import AbsentList

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.model.quantity import Quantity
    from moorage.model.types.resource_slice import Device, DeviceAttribute

_NO_ENTRIES = CelMap()


class DeviceDescription:
    """What a selector can see of a device. Compared and hashed by content."""

    __slots__ = ("_hash", "_key", "_seen", "allow_multiple_allocations", "attributes", "capacity", "driver")

    def __init__(
        self,
        driver: str,
        allow_multiple_allocations: bool,
        attributes: tuple[tuple[str, DeviceAttribute], ...],
        capacity: tuple[tuple[str, Quantity], ...],
    ) -> None:
        self.driver = driver
        self.allow_multiple_allocations = allow_multiple_allocations
        self.attributes = attributes
        self.capacity = capacity
        # Amounts that are equal but written differently (1 and 1000m) are not the same to CEL.
        written = tuple((name, value.mantissa, value.exponent, value.big) for name, value in capacity)
        self._key = driver, allow_multiple_allocations, attributes, written
        self._hash = hash(self._key)
        # The device as CEL sees it, or why it cannot be shown: without lists, and with them.
        self._seen: list[CelDevice | CelError | None] = [None, None]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DeviceDescription) and self._hash == other._hash and self._key == other._key
        )

    def cel_device(self, lists: bool) -> CelDevice:
        """Return the value of the variable `device`; raises CelError if an attribute cannot be used."""
        seen = self._seen[lists]
        if seen is None:
            try:
                seen = CelDevice(self, lists)
            except CelError as error:
                seen = error
            self._seen[lists] = seen
        if isinstance(seen, CelError):
            raise seen
        return seen


def describe_device(driver: str, device: Device) -> DeviceDescription:
    return DeviceDescription(
        driver,
        bool(device.allowMultipleAllocations),
        tuple(sorted(device.attributes.items(), key=_name)),
        tuple(sorted(((name, capacity.value) for name, capacity in device.capacity.items()), key=_name)),
    )


def _name(entry: tuple[str, Any]) -> str:
    return entry[0]


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
