"""Items of lists of type set and map: no item, and no set of keys, may occur twice.

Kubernetes: apiextensions-apiserver, schema/listtype. A value that occurs three times is reported once.
"""

from collections.abc import Hashable, Iterator
from typing import Any

from moorage.custom.schema.structural import Structural
from moorage.model.field_error import FieldError, child_path, duplicate, invalid
from moorage.model.go.quoting import go_json


def list_type_errors(obj: dict[str, Any], schema: Structural) -> list[FieldError]:
    """Return the duplicates in all lists of an object that its schema declares as sets or maps."""
    return list(_check_object(obj, schema, ""))


def _check(value: Any, schema: Structural, path: str) -> Iterator[FieldError]:
    if isinstance(value, dict):
        yield from _check_object(value, schema, path)
    elif isinstance(value, list):
        if schema.listType == "set":
            for number in _repeated(value):
                yield duplicate(f"{path}[{number}]", value[number])
        elif schema.listType == "map":
            yield from _check_keys(value, schema, path)
        if schema.items is not None:
            for number, item in enumerate(value):
                if isinstance(item, dict | list):
                    yield from _check(item, schema.items, f"{path}[{number}]")


def _check_object(obj: dict[str, Any], schema: Structural, path: str) -> Iterator[FieldError]:
    if schema.additional is not None:
        for name, value in obj.items():
            if isinstance(value, dict | list):
                yield from _check(value, schema.additional, f"{path}[{name}]")
    for name, below in schema.properties.items():
        value = obj.get(name)
        if isinstance(value, dict | list):
            yield from _check(value, below, child_path(path, name))


def _check_keys(items: list[Any], schema: Structural, path: str) -> Iterator[FieldError]:
    for number, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            yield invalid(f"{path}[{number}]", item, "must be an object for an array of list-type map")
            return
    keys = [{name: item[name] for name in schema.listMapKeys if name in item} if item else {} for item in items]
    for number in _repeated(keys):
        yield duplicate(f"{path}[{number}]", keys[number])


def _repeated(values: list[Any]) -> Iterator[int]:
    """Yield the place of the second of several equal values."""
    seen: dict[Hashable, int] = {}
    for number, value in enumerate(values):
        key = _identity(value)
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            yield number


def _identity(value: Any) -> Hashable:
    return (type(value), go_json(value) if isinstance(value, dict | list) else value)
