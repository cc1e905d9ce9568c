"""Describe what selectors and constraints see of a device: its driver, attributes and capacity.

In: a driver's name and a `Device` of a ResourceSlice. Out: a `DeviceDescription`, hashable and equal for equal devices,
so that a selector is evaluated once for all devices that look alike; attributes by qualified name, compared by type
and raw value. CEL is imported by the first selector. Kubernetes: dynamic-resource-allocation/cel (Device,
DeviceMatches) and structured (lookupAttribute, matchAttributeConstraint).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.match.cel.values import CelError
    from moorage.match.devices.cel_device import CelDevice
    from moorage.model.quantity import Quantity
    from moorage.model.types.devices import Device, DeviceAttribute


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
            from moorage.match.devices.cel_device import show_device

            seen = self._seen[lists] = show_device(self, lists)
        if isinstance(seen, Exception):
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


if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.model.types.devices import DeviceAttribute

AttributeValue = tuple[str, Any]  # the name of its type, and the value
_SCALARS = ("string", "int", "bool", "version")
_LISTS = (("ints", "int"), ("bools", "bool"), ("strings", "string"), ("versions", "version"))


def qualified(name: str, driver: str) -> tuple[str, str]:
    """Split a qualified name into domain and identifier; a name without a domain is the driver's own."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def find_attribute(attributes: Mapping[str, DeviceAttribute], driver: str, name: str) -> DeviceAttribute | None:
    """Return the attribute of a fully qualified name; a device's unqualified names are in its driver's domain."""
    attribute = attributes.get(name)
    if attribute is not None:
        return attribute
    domain, slash, identifier = name.partition("/")
    return attributes.get(identifier) if slash and domain == driver else None


def scalar(attribute: DeviceAttribute) -> AttributeValue | None:
    """Return type and value; None if it has none that is known. Lists are not looked at."""
    for kind in _SCALARS:
        value = getattr(attribute, kind)
        if value is not None:
            return kind, value
    return None


def value_set(attribute: DeviceAttribute) -> tuple[str, frozenset[Any]] | None:
    """Return type and values, of a scalar its only one; None if it has none that is known."""
    for name, kind in _LISTS:
        values = getattr(attribute, name)
        if values:
            return kind, frozenset(values)
    for kind in ("int", "bool", "string", "version"):
        value = getattr(attribute, kind)
        if value is not None:
            return kind, frozenset((value,))
    return None
