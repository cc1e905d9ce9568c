"""Join, intersect and subtract sets of field paths, in the form in which objects carry them (FieldsV1).

A set is a tree of dicts whose names are path elements: `f:name` for a field, `k:{"name":"a"}` and `v:"a"` for an
element of a list, `i:0` for a position; people see `.name`, `[name="a"]`, `[="a"]`, `[0]`. An empty dict is a member;
`"."` makes an inner node a member as well; an empty root is the empty set. Trees are never changed once made, and share
parts. Kubernetes: structured-merge-diff, fieldpath and value. Differs: elements are equal if their text is.
"""

import json
from collections.abc import Iterator
from typing import Any

from moorage.model.go.integers import read_int
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_dump = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_KINDS = {"f": 0, "k": 1, "v": 2, "i": 3}
_UNKNOWN_KIND = 4


def as_json(value: Any) -> str:
    """Compact JSON that is safe in HTML, which is how Go writes it."""
    return _dump(value).translate(_ESCAPES)


def value_element(value: Any) -> str:
    return "v:" + _scalar(value)


def key_element(keys: list[tuple[str, Any]]) -> str:
    return "k:{" + ",".join([f'"{name}":{_scalar(value)}' for name, value in keys]) + "}"


def _scalar(value: Any) -> str:
    """JSON of what is nearly always a short text or a number."""
    if type(value) is str:
        return _text(value)
    return str(value) if type(value) is int else as_json(value)


_text = remember_short(4096)(as_json)


@reads_text("f:", "k:", "v:", "i:", "{", "[", '"a"', ":", ",", "1", raises=ValueError)
def canonical_element(text: str) -> str | None:
    """A path element as this module writes it; None for a kind that a later version may know. Raises ValueError."""
    if len(text) < 2:
        raise ValueError("key must be 2 characters long:")
    kind, rest = text[:2], text[2:]
    if kind[1] != ":":
        raise ValueError(f"missing colon: {text}")
    if kind == "f:":
        return text
    if kind == "v:":
        return value_element(json.loads(rest))
    if kind == "k:":
        keys = json.loads(rest)
        if not isinstance(keys, dict):
            raise ValueError(f"expected an object: {text}")
        return "k:" + as_json(dict(sorted(keys.items())))
    if kind == "i:":
        return f"i:{_index(rest)}"
    return None


@remember_short(4096)
def element_order(element: str) -> tuple[Any, ...]:
    """Fields by name, then elements of lists by their values: numbers before text, text before booleans."""
    kind = element[:1]
    rank = _KINDS.get(kind, _UNKNOWN_KIND)
    if kind == "k":
        return (rank, [(name, _value_order(value)) for name, value in sorted(json.loads(element[2:]).items())])
    if kind == "v":
        return (rank, _value_order(json.loads(element[2:])))
    if kind == "i":
        return (rank, _index(element[2:]))
    return (rank if element != "." else -1, element)


def _index(text: str) -> int:
    index = read_int(text)
    if index is None:
        raise ValueError(f"expected an index: {text}")
    return index


def _value_order(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, _dump(value))


def render_path(path: tuple[str, ...]) -> str:
    """Return a path as messages show it: `.spec.containers[name="a"].image`."""
    return "".join(map(render_element, path))


def render_element(element: str) -> str:
    kind, rest = element[:2], element[2:]
    if kind == "k:":
        shown = (f"{name}={_shown(value)}" for name, value in sorted(json.loads(rest).items()))
        return f"[{','.join(shown)}]"
    if kind == "v:":
        return f"[={_shown(json.loads(rest))}]"
    if kind == "i:":
        return f"[{rest}]"
    return f".{rest}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


Fields = dict[str, Any]

NOTHING: Fields = {}
MEMBER: Fields = {}
SELF = "."


def of_paths(*paths: tuple[str, ...]) -> Fields:
    tree: Fields = {}
    for path in paths:
        tree = union(tree, at_path([f"f:{name}" for name in path]))
    return tree


def at_path(elements: list[str]) -> Fields:
    tree = MEMBER
    for element in reversed(elements):
        tree = {element: tree}
    return tree


def is_member(node: Fields) -> bool:
    """Return whether the path that led to this node is in the set."""
    return not node or SELF in node


def as_member(children: Fields) -> Fields:
    return {SELF: MEMBER, **children} if children and SELF not in children else children


def has(fields: Fields, path: tuple[str, ...]) -> bool:
    node: Fields | None = fields
    for element in path:
        node = node.get(element) if node else None
        if node is None:
            return False
    return node is not None and is_member(node)


def union(one: Fields, other: Fields) -> Fields:
    if not one or one is other:
        return other
    if not other:
        return one
    return _union(one, other)


def _union(one: Fields, other: Fields) -> Fields:
    if not one:
        return as_member(other)
    if not other:
        return as_member(one)
    joined = dict(one)
    for element, node in other.items():
        mine = joined.get(element)
        joined[element] = node if mine is None else _union(mine, node)
    return joined


def difference(one: Fields, other: Fields) -> Fields:
    """Return what is in `one` only. Taking away a parent leaves its children."""
    if not one or not other:
        return one
    return _difference(one, other) or NOTHING


def _difference(one: Fields, other: Fields) -> Fields | None:
    """Return the node, or None if nothing is left of it."""
    if not one:
        return None if is_member(other) else one
    if not other:
        if SELF not in one:
            return one
        return {element: node for element, node in one.items() if element != SELF}
    left: Fields = {}
    for element, node in one.items():
        theirs = other.get(element)
        if theirs is None:
            left[element] = node
        else:
            kept = _difference(node, theirs)
            if kept is not None:
                left[element] = kept
    if not left:
        return None
    return MEMBER if len(left) == 1 and SELF in left else left


def recursive_difference(one: Fields, other: Fields) -> Fields:
    """Return what is in `one` and not in or below a member of `other`."""
    if not one or not other:
        return one
    left: Fields = {}
    for element, node in one.items():
        theirs = other.get(element)
        if theirs is None:
            left[element] = node
        elif not is_member(theirs):
            kept = recursive_difference(node, theirs)
            if kept or not node or SELF in node:  # their node is no member, so ours stays one
                left[element] = kept
    return MEMBER if len(left) == 1 and SELF in left else left


def intersection(one: Fields, other: Fields) -> Fields:
    if not one or not other:
        return NOTHING
    return _intersection(one, other) or NOTHING


def _intersection(one: Fields, other: Fields) -> Fields | None:
    if not one:
        return MEMBER if is_member(other) else None
    if not other:
        return MEMBER if SELF in one else None
    shared: Fields = {}
    for element, node in one.items():
        theirs = other.get(element)
        if theirs is not None:
            both = _intersection(node, theirs)
            if both is not None:
                shared[element] = both
    if not shared:
        return None
    return MEMBER if len(shared) == 1 and SELF in shared else shared


def intersects(one: Fields, other: Fields) -> bool:
    return bool(one) and bool(other) and _intersects(one, other)


def _intersects(one: Fields, other: Fields) -> bool:
    if not one:
        return is_member(other)
    if not other:
        return SELF in one
    for element, node in one.items():
        theirs = other.get(element)
        if theirs is not None and _intersects(node, theirs):
            return True
    return False


def includes(all_of: Fields, some: Fields) -> bool:
    if not some:
        return True
    if not all_of:
        return False
    return _includes(all_of, some)


def _includes(all_of: Fields, some: Fields) -> bool:
    if not some:
        return is_member(all_of)
    if not all_of:
        return len(some) == 1 and SELF in some
    for element, node in some.items():
        theirs = all_of.get(element)
        if theirs is None or not _includes(theirs, node):
            return False
    return True


def leaves(fields: Fields) -> Fields:
    return {element: leaves(node) for element, node in fields.items() if element != SELF}


def paths(fields: Fields, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every member in order: those of a level before those below it."""
    elements = sorted((element for element in fields if element != SELF), key=element_order)
    for element in elements:
        if is_member(fields[element]):
            yield (*prefix, element)
    for element in elements:
        if fields[element]:
            yield from paths(fields[element], (*prefix, element))


def in_order(fields: Fields) -> Fields:
    if len(fields) < 2:
        return {element: in_order(node) if node else node for element, node in fields.items()}
    names = sorted(fields)
    if names[-2] > "g":  # elements of lists are ordered by their values, not their text
        names.sort(key=element_order)
    return {name: in_order(node) if (node := fields[name]) else MEMBER for name in names}


def decode(value: Any) -> Fields:
    """A set as a client sent it, put right. Unknown kinds of element are dropped; raises ValueError for nonsense."""
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    tree: Fields = {}
    for element, node in value.items():
        if element == SELF:
            tree[SELF] = MEMBER
            continue
        known = canonical_element(element)
        if known is not None:
            tree[known] = decode(node)
    return MEMBER if len(tree) == 1 and SELF in tree else tree
