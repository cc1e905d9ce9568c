"""Tell items of lists apart: pair new values with old ones for ratcheting, and find repeated items of sets and maps.

Properties correlate by name, items of a list by their keys if its type is map; items of other lists do not. In lists of
type set and map no item, and no set of keys, may occur twice; a value that occurs three times is reported once.
Kubernetes: apiserver/pkg/cel/common/equality.go and maplist.go; apiextensions-apiserver, schema/listtype.
"""

from collections.abc import Hashable, Iterator
from typing import Any

from moorage.custom.structural import Structural
from moorage.model.field_error import FieldError, child_path, duplicate, invalid
from moorage.model.go.quoting import go_json


class Correlation:
    """A new value, its old value, and the schema of both."""

    __slots__ = ("_children", "_items", "_unchanged", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Structural) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._children: dict[str | int, Correlation | None] = {}
        self._unchanged: bool | None = None
        self._items: dict[Hashable, Any] | None = None

    def at_property(self, name: str) -> "Correlation | None":
        """Return the property that both values have, if the schema knows it."""
        if name not in self._children:
            self._children[name] = self._find_property(name)
        return self._children[name]

    def at_item(self, number: int) -> "Correlation | None":
        """Return the item of the new list beside the old one with the same keys."""
        if number not in self._children:
            self._children[number] = self._find_item(number)
        return self._children[number]

    @property
    def unchanged(self) -> bool:
        """Return whether the values are equal. An object with a field that the schema does not know never is."""
        if self._unchanged is None:
            self._unchanged = self._compare()
        return self._unchanged

    def _find_property(self, name: str) -> "Correlation | None":
        if not isinstance(self.new, dict) or not isinstance(self.old, dict):
            return None
        if name not in self.new or name not in self.old:
            return None
        schema = self.schema.child(name)
        return None if schema is None else Correlation(self.new[name], self.old[name], schema)

    def _find_item(self, number: int) -> "Correlation | None":
        if not isinstance(self.new, list) or not isinstance(self.old, list) or self.schema.listType != "map":
            return None
        if self._items is None:
            self._items = items_by_key(self.old, self.schema)
        old = find_item(self._items, self.new[number], self.schema)
        items = self.schema.items
        return None if old is None or items is None else Correlation(self.new[number], old, items)

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict):
            return isinstance(old, dict) and len(new) == len(old) and all(map(self._is_unchanged_property, new))
        if isinstance(new, list):
            return isinstance(old, list) and len(new) == len(old) and self._are_items_unchanged()
        return same_values(new, old)

    def _is_unchanged_property(self, name: str) -> bool:
        child = self.at_property(name)
        return child is not None and child.unchanged

    def _are_items_unchanged(self) -> bool:
        if self.schema.listType != "map":
            return same_values(self.new, self.old)
        children = map(self.at_item, range(len(self.new)))
        return all(child is not None and child.unchanged for child in children)


def items_by_key(items: list[Any], schema: Structural) -> dict[Hashable, Any]:
    """Return the items of a list of type map by their keys, the first of those with equal keys. Others have none."""
    if schema.type != "array" or schema.listType != "map" or not schema.listMapKeys:
        return {}
    by_key: dict[Hashable, Any] = {}
    for item in items:
        key = _key_of(item, schema)
        if key is not None:
            by_key.setdefault(key, item)
    return by_key


def find_item(items: dict[Hashable, Any], item: Any, schema: Structural) -> Any:
    key = _key_of(item, schema)
    return None if key is None else items.get(key)


def _key_of(item: Any, schema: Structural) -> Hashable | None:
    """Return an item's keys, or None if one is absent or no scalar. A number's type is part of its key."""
    if not isinstance(item, dict):
        return None
    keys = []
    for name in schema.listMapKeys:
        value = item.get(name)
        if not isinstance(value, str | int | float):
            return None
        keys.append((type(value), value))
    return tuple(keys)


def same_values(new: Any, old: Any) -> bool:
    """Return whether two JSON values are equal as Go compares them: an integer is never a float."""
    if isinstance(new, dict):
        return (
            isinstance(old, dict) and new.keys() == old.keys() and all(same_values(new[key], old[key]) for key in new)
        )
    if isinstance(new, list):
        return isinstance(old, list) and len(new) == len(old) and all(map(same_values, new, old))
    return type(new) is type(old) and bool(new == old)


def list_type_errors(obj: dict[str, Any], schema: Structural) -> list[FieldError]:
    """Return the duplicates in all lists of an object that its schema declares as sets or maps."""
    return list(_check_properties(obj, schema, ""))


def _check(value: Any, schema: Structural, path: str) -> Iterator[FieldError]:
    if isinstance(value, dict):
        yield from _check_properties(value, schema, path)
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


def _check_properties(obj: dict[str, Any], schema: Structural, path: str) -> Iterator[FieldError]:
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
