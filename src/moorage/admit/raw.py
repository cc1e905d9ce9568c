"""Copy raw documents to write defaults into, and read optional parts of them.

The document is truth in Moorage, so what admission adds is written here and not into a typed view.
"""

from typing import Any, TypeAlias

import msgspec

Raw: TypeAlias = dict[str, Any]


def copy_document(document: Raw) -> Raw:
    """Copy deeply; what was one object in two places, by a YAML anchor, becomes two."""
    copied: Raw = msgspec.to_builtins(document)
    return copied


def part(document: Raw, name: str) -> Raw:
    """Return the object at `name`, which is made if it is absent or null."""
    value = document.get(name)
    if value is None:
        value = document[name] = {}
    member: Raw = value
    return member


def items(document: Raw, name: str) -> list[Raw]:
    """Return the list of objects at `name`, or an empty one that is not part of the document.

    A null among them becomes what Go makes of it, an empty object.
    """
    members: list[Any] = document.get(name) or []
    if None in members:
        members[:] = [{} if item is None else item for item in members]
    return members


def fill_empty(document: Raw, values: Raw) -> None:
    """Set what is absent or zero: for fields whose Go type cannot tell the two apart."""
    for name, value in values.items():
        if not document.get(name):
            document[name] = value


def fill_absent(document: Raw, values: Raw) -> None:
    """Set what is absent: for fields that are pointers in Go, where an explicit zero counts."""
    for name, value in values.items():
        if document.get(name) is None:
            document[name] = value
