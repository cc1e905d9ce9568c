"""Device attributes by qualified name, and how two of them are compared: by type and raw value.

Kubernetes: dynamic-resource-allocation/structured (lookupAttribute, matchAttributeConstraint).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    found = attributes.get(name)
    if found is not None:
        return found
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
