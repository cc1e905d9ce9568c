"""Carry what differs between two views of an object over to a document, and write differences as a JSON patch.

A pod differs from the template it was made from: admission adds tolerations, a controller affinity. So a change
that was found for the pod is carried over to the template item by item, and nothing else of the template changes. The
patch tests every value that it replaces or removes, so that it fails where the object is not what it was.
Kubernetes: RFC 6902; kubectl patch --type=json takes it.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

import msgspec

Operation = dict[str, Any]
_encode = msgspec.json.Encoder(order="deterministic").encode


class CannotCarry(Exception):
    """The document does not have what is to be changed."""


def carried(document: Any, before: Any, after: Any) -> Any:
    """Return the document with what differs between two views. Raises CannotCarry."""
    if isinstance(before, dict) and isinstance(after, dict) and (document is None or isinstance(document, dict)):
        carried_document = dict(document or {})
        for name in dict.fromkeys((*before, *after)):
            if name not in after:
                # Of an object only what the view knows goes; nothing may be left of it.
                left = carried(carried_document.get(name), before[name], {}) if isinstance(before[name], dict) else {}
                if left:
                    carried_document[name] = left
                else:
                    carried_document.pop(name, None)
            elif name not in before or before[name] != after[name]:
                carried_document[name] = carried(carried_document.get(name), before.get(name), after[name])
        return carried_document
    if isinstance(after, list) and isinstance(before, list | None) and (document is None or isinstance(document, list)):
        return _carried_list(document or [], before or [], after)
    return after


def _carried_list(items: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """Return the items with those of `before` that changed changed, those that went gone, and new ones at the end."""
    matcher = SequenceMatcher(None, list(map(_encode, before)), list(map(_encode, after)), autojunk=False)
    kept: list[Any] = list(items)
    added: list[Any] = []
    gone: set[int] = set()
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        pairs = min(end - start, new_end - new_start)
        for offset in range(pairs):
            at = _index(items, before, start + offset)
            if at is None:
                raise CannotCarry(_brief(before[start + offset]))
            kept[at] = carried(items[at], before[start + offset], after[new_start + offset])
        positions = (_index(items, before, position) for position in range(start + pairs, end))
        gone.update(at for at in positions if at is not None)
        added += after[new_start + pairs : new_end]
    return [item for position, item in enumerate(kept) if position not in gone] + added


def _index(items: list[Any], before: list[Any], position: int) -> int | None:
    """Return where the item stands in the document: under its name, else where all its fields are the same."""
    sought = before[position]
    if isinstance(sought, dict) and "name" in sought:
        named = (at for at, item in enumerate(items) if isinstance(item, dict) and item.get("name") == sought["name"])
        return next(named, None)
    same = next((at for at, item in enumerate(items) if _covers(item, sought)), None)
    return position if same is None and len(items) == len(before) else same


def _covers(item: Any, sought: Any) -> bool:
    """Return whether an item says all that is wanted; it may also say what is the default."""
    if isinstance(item, dict) and isinstance(sought, dict):
        return all(name in item and _covers(item[name], value) for name, value in sought.items())
    if isinstance(item, list) and isinstance(sought, list):
        return len(item) == len(sought) and all(map(_covers, item, sought))
    return bool(item == sought)


def _brief(value: Any) -> str:
    text = _encode(value).decode()
    return text if len(text) <= 100 else f"{text[:99]}…"


# -- as a patch -------------------------------------------------------------------------------------------------------


def operations(before: Any, after: Any) -> list[Operation]:
    """Return the JSON patch from one document to the other."""
    return list(_operations(before, after, ""))


def _operations(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            inner = f"{path}/{escaped(name)}"
            if name not in after:
                yield _operation("test", inner, before[name])
                yield {"op": "remove", "path": inner}
            elif name not in before:
                yield _operation("add", inner, after[name])
            else:
                yield from _operations(before[name], after[name], inner)
        return
    if isinstance(before, list) and isinstance(after, list):
        if before and after[: len(before)] == before:
            yield from (_operation("add", f"{path}/-", item) for item in after[len(before) :])
            return
        if len(before) == len(after):
            for position, (old, new) in enumerate(zip(before, after, strict=True)):
                if old != new and isinstance(old, dict) and isinstance(new, dict) and old.get("name") is not None:
                    yield _operation("test", f"{path}/{position}/name", old["name"])
                yield from _operations(old, new, f"{path}/{position}")
            return
    yield _operation("test", path, before)
    yield _operation("replace", path, after)


def _operation(op: str, path: str, value: Any) -> Operation:
    return {"op": op, "path": path, "value": value}


def escaped(name: str) -> str:
    """Return a member's name as JSON pointers have it."""
    return name.replace("~", "~0").replace("/", "~1")


def changed_paths(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Return the members that differ, as deep as both documents have objects."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            if name not in before or name not in after:
                yield (*path, name)
            else:
                yield from changed_paths(before[name], after[name], (*path, name))
    elif before != after:
        yield path
