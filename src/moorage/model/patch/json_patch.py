"""Apply a JSON patch, which is a list of operations, all or none, or a JSON merge patch.

The result shares what no operation touched; containers on the way to a change are copied once. What a patch copies is
shared until all operations are done, and its size is counted before it is built. Kubernetes: RFC 6902 and 7386 as
evanphx/json-patch does them: replacing an absent member adds it, negative indices count from the end, a path need not
start with a slash; copies may add up to 3 MiB. Nulls inside of new values of a merge patch are dropped, nulls inside of
a list that replaces an object are not. Differs: the result may not be deeper than 200 levels.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from moorage.model.api_error import Raw
from moorage.model.go.integers import read_int
from moorage.model.go.quoting import go_quote
from moorage.model.patch.patch_error import (
    BAD_REQUEST,
    MAX_LEVELS,
    TOO_LARGE,
    UNPROCESSABLE,
    PatchError,
    check_depth,
    not_decoded,
    too_deep,
)
from moorage.model.text.readers import reads_text
from moorage.model.well_known.limits import MAX_REQUEST_BYTES

Container = dict[str, Any] | list[Any]

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = MAX_REQUEST_BYTES
_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})
_MISSING = "missing value"
_NO_PATH = "operation missing path field: "
_TEXT = "value of type string"
_INVALID_INDEX = "invalid index referenced"


class _Failed(Exception):
    """Why an operation failed; the operation adds its own words."""


class _TestFailed(_Failed):
    """A value is another than a `test` expects."""


class FailedTest(PatchError):
    """A `test` operation found another value than it expects."""


def apply_json_patch(document: Raw, patch: Any) -> Raw:
    """Apply the patch of a request. Raises PatchError."""
    return apply_operations(document, _operations(patch))


def apply_operations(document: Raw, operations: Sequence[Raw]) -> Raw:
    """Apply operations whose fields may be of any type. Raises PatchError."""
    work = _Work(document)
    for operation in operations:
        kind = operation.get("op")
        method = _METHODS.get(kind) if isinstance(kind, str) else None
        if method is None:
            text = kind if isinstance(kind, str) else "unknown"
            raise PatchError(f"Unexpected kind: {text}", UNPROCESSABLE, hidden=True)
        try:
            method(work, operation)
        except _Failed as failed:
            error = FailedTest if isinstance(failed, _TestFailed) else PatchError
            raise error(str(failed), UNPROCESSABLE, hidden=True) from None
    if any(_may_deepen(operation) for operation in operations):
        check_depth(work.root)
    if not isinstance(work.root, dict):
        raise PatchError("the patched document is not an object", UNPROCESSABLE, hidden=True)
    return _unshared(work.root, set()) if work.copied else work.root


def copies_values(patch: Any) -> bool:
    """Return whether a patch may make a document much larger than both are."""
    return isinstance(patch, list) and any(isinstance(each, dict) and each.get("op") == "copy" for each in patch)


def _unshared(value: Any, seen: set[int]) -> Any:
    """Return a container in which nothing stands at two places; the first of several is left as it is."""
    is_again = id(value) in seen
    seen.add(id(value))
    places = value.items() if isinstance(value, dict) else enumerate(value)
    inner = {place: _unshared(item, seen) for place, item in places if isinstance(item, dict | list)}
    if not is_again and all(value[place] is item for place, item in inner.items()):
        return value
    copied = value.copy()
    for place, item in inner.items():
        copied[place] = item
    return copied


def unknown_operation_fields(patch: Any) -> list[str]:
    """Return the texts of strict field validation about unknown fields of operations."""
    if not isinstance(patch, list):
        return []
    return [
        f"json patch unknown field {go_quote(f'[{i}].{name}')}"
        for i, operation in enumerate(patch[:MAX_OPERATIONS])
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION_FIELDS
    ]


def _operations(patch: Any) -> list[Raw]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _bad_patch(not_decoded(patch, "value of type []handlers.jsonPatchOp"))
    if len(patch) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise PatchError(text, TOO_LARGE)
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            raise _bad_patch(not_decoded(operation, "value of type handlers.jsonPatchOp"))
        for name in ("op", "path", "from"):
            value = operation.get(name) if operation else None
            if value is not None and not isinstance(value, str):
                raise _bad_patch(not_decoded(value, f"struct field jsonPatchOp.{name} of type string"))
    return [operation or {} for operation in patch]


def _bad_patch(why: str) -> PatchError:
    return PatchError(f"error decoding patch: {why}", BAD_REQUEST)


def _may_deepen(operation: Raw) -> bool:
    return operation["op"] in ("move", "copy") or isinstance(operation.get("value"), dict | list)


class _Work:
    """The document being changed. Containers in `own` were made here and may be modified."""

    def __init__(self, document: Raw) -> None:
        self.root: Any = document
        self.own: dict[int, Container] = {}
        self.copied = 0
        #: Containers that are not modified any more, by their ids, and their bytes as JSON.
        self._sizes: dict[int, tuple[Container, int]] = {}

    def find(self, path: str) -> tuple[Container, str] | None:
        """Return the container and the last step of a path, to be read."""
        steps = _steps(path)
        if steps is None:
            return None
        place: Any = self.root
        for step in steps[:-1]:
            try:
                place = _get(place, step)
            except _Failed:
                return None
            if not isinstance(place, dict | list):
                return None
        return place, steps[-1]

    def find_to_write(self, path: str) -> tuple[Container, str] | None:
        """Return the same, to be modified: the containers on the way become our own."""
        if self.find(path) is None:
            return None
        steps = _steps(path) or []
        place: Any = self._owned(self.root)
        self.root = place
        for step in steps[:-1]:
            inner = self._owned(_get(place, step))
            if isinstance(place, dict):
                place[step] = inner
            else:
                place[int(step)] = inner
            place = inner
        return place, steps[-1]

    def share(self, value: Any) -> None:
        """Let a value stand at two places: it is copied before it is modified. Counts what writing it again adds."""
        if value is None:
            return
        waiting = [value]
        while waiting:
            container = waiting.pop()
            if self.own.pop(id(container), None) is not None:
                inner = container.values() if isinstance(container, dict) else container
                waiting += [item for item in inner if isinstance(item, dict | list)]
        self.copied += self._size(value)
        if self.copied > MAX_COPIED_BYTES:
            why = f"Unable to complete the copy, the accumulated size increase of copy is {self.copied}"
            raise PatchError(f"{why}, exceeding the limit {MAX_COPIED_BYTES}", UNPROCESSABLE, hidden=True)

    def _size(self, value: Any) -> int:
        """Return the bytes of a value as JSON. What is not modified any more is counted once, wherever it stands."""
        if not isinstance(value, dict | list):
            return len(msgspec.json.encode(value))
        counted = self._sizes.get(id(value))
        if counted is None:
            keys = sum(len(msgspec.json.encode(key)) + 1 for key in value) if isinstance(value, dict) else 0
            inner = value.values() if isinstance(value, dict) else value
            size = 2 + keys + max(0, len(value) - 1) + sum(map(self._size, inner))
            counted = self._sizes[id(value)] = value, size
        return counted[1]

    def _owned(self, container: Container) -> Container:
        if id(container) in self.own:
            return container
        copied = container.copy()
        self.own[id(copied)] = copied
        return copied


@reads_text("/", "~0", "~1", "a", raises=_Failed)
def _steps(path: str) -> list[str] | None:
    parts = path.split("/")
    if len(parts) < 2:
        return None
    if len(parts) > MAX_LEVELS:
        raise _Failed(f"the path has more than {MAX_LEVELS} steps")
    steps = parts[1:]
    if "~" in path:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in steps]
    return steps


@reads_text("1", "0", "-", "a", raises=_Failed)
def _index(text: str) -> int:
    number = read_int(text)
    if number is None:
        digits = text[1:] if text[:1] in ("+", "-") else text
        why = "value out of range" if digits.isascii() and digits.isdigit() else "invalid syntax"
        raise _Failed(f"strconv.Atoi: parsing {go_quote(text)}: {why}")
    return number


def _place(text: str, length: int) -> int:
    index = _index(text)
    if index >= length or index < -length:
        raise _Failed(f"Unable to access invalid index: {index}: {_INVALID_INDEX}")
    return index + length if index < 0 else index


def _get(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_place(key, len(container))]


def _add(container: Container, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        try:
            index = _index(key)
        except _Failed as failed:
            raise _Failed(f"value was not a proper array index: '{key}': {failed}") from None
        longer = len(container) + 1
        if index >= longer or index < -longer:
            raise _Failed(f"Unable to access invalid index: {index}: {_INVALID_INDEX}")
        container.insert(index + longer if index < 0 else index, value)


def _remove(container: Container, key: str) -> None:
    if isinstance(container, list):
        del container[_place(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise _Failed(f"Unable to remove nonexistent key: {key}: {_MISSING}")


def _path(operation: Raw, kind: str, missing: str = "") -> str:
    path = operation.get("path")
    if isinstance(path, str):
        return path
    why = not_decoded(path, _TEXT) if missing and path is not None else f"{missing}{_MISSING}"
    raise _Failed(f"{kind} operation failed to decode path: {why}")


def _from(operation: Raw, kind: str) -> str:
    place = operation.get("from")
    if isinstance(place, str):
        return place
    why = f"operation, missing from field: {_MISSING}" if place is None else not_decoded(place, _TEXT)
    raise _Failed(f"{kind} operation failed to decode from: {why}")


def _present(place: tuple[Container, str] | None, problem: str) -> tuple[Container, str]:
    if place is None:
        raise _Failed(f"{problem}: {_MISSING}")
    return place


@contextmanager
def _explained(context: str) -> Iterator[None]:
    """Put the context of an operation before the reason why it failed."""
    try:
        yield
    except _Failed as failed:
        raise _Failed(f"{context}: {failed}") from None


def _do_add(work: _Work, operation: Raw) -> None:
    path = _path(operation, "add")
    place = _present(work.find_to_write(path), f'add operation does not apply: doc is missing path: "{path}"')
    with _explained(f"error in add for path: '{path}'"):
        _add(*place, operation.get("value"))


def _do_remove(work: _Work, operation: Raw) -> None:
    path = _path(operation, "remove")
    place = _present(work.find_to_write(path), f'remove operation does not apply: doc is missing path: "{path}"')
    with _explained(f"error in remove for path: '{path}'"):
        _remove(*place)


def _do_replace(work: _Work, operation: Raw) -> None:
    path = _path(operation, "replace", _NO_PATH)
    value = operation.get("value")
    if path == "":
        if not isinstance(value, dict | list):
            raise _Failed("replace operation value must be object or array: %!w(<nil>)")
        work.root = value
        return
    problem = "replace operation does not apply: doc is missing"
    container, key = _present(work.find_to_write(path), f"{problem} path: {path}")
    if isinstance(container, dict):
        container[key] = value
        return
    try:
        place = _place(key, len(container))
    except _Failed:
        raise _Failed(f"{problem} key: {path}: {_MISSING}") from None
    container[place] = value


def _do_move(work: _Work, operation: Raw) -> None:
    source, problem = _from(operation, "move"), "move operation does not apply: doc is missing"
    container, key = _present(work.find_to_write(source), f"{problem} from path: {source}")
    with _explained(f"error in move for path: '{key}'"):
        value = _get(container, key)
        _remove(container, key)
    path = _path(operation, "move", _NO_PATH)
    place = _present(work.find_to_write(path), f"{problem} destination path: {path}")
    with _explained(f"error in move for path: '{path}'"):
        _add(*place, value)


def _do_copy(work: _Work, operation: Raw) -> None:
    source, problem = _from(operation, "copy"), "copy operation does not apply: doc is missing"
    place = _present(work.find(source), f"{problem} from path: {source}")
    with _explained(f"error in copy for from: '{source}'"):
        value = _get(*place)
    path = _path(operation, "copy")
    if work.find(path) is None:
        raise _Failed(f"{problem} destination path: {path}: {_MISSING}")
    try:
        work.share(value)
    except RecursionError:
        raise too_deep() from None
    place = _present(work.find_to_write(path), f"{problem} destination path: {path}")
    with _explained("error while adding value during copy"):
        _add(*place, value)


def _do_test(work: _Work, operation: Raw) -> None:
    path = _path(operation, "test", _NO_PATH)
    expected, value = operation.get("value"), work.root
    if path != "":
        place = _present(work.find(path), f"test operation does not apply: is missing path: {path}")
        with _explained(f"error in test for path: '{path}'"):
            value = _get(*place)
    try:
        same = same_json(value, expected)
    except RecursionError:
        raise too_deep() from None
    if not same:
        raise _TestFailed(f"testing value {path} failed: test failed")


def same_json(one: Any, other: Any) -> bool:
    """JSON equality: 1 is neither true nor 1.0."""
    if one is other or type(one) is not type(other):
        return one is other
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_json(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


_METHODS = {
    "add": _do_add,
    "remove": _do_remove,
    "replace": _do_replace,
    "move": _do_move,
    "copy": _do_copy,
    "test": _do_test,
}


def apply_merge_patch(document: Raw, patch: Any) -> Raw:
    if patch is None:
        raise PatchError("Invalid JSON Patch", BAD_REQUEST)
    if not isinstance(patch, dict):
        raise _bad_patch(not_decoded(patch))
    try:
        return _merge_objects(document, patch)
    except RecursionError:
        raise too_deep() from None


def _merge_objects(document: Raw, patch: Raw) -> Raw:
    merged = dict(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            current = merged.get(name)
            if not isinstance(current, dict):
                merged[name] = without_nulls(value)
            elif isinstance(value, dict):
                merged[name] = _merge_objects(current, value)
            else:
                merged[name] = value
    return merged


def without_nulls(value: Any) -> Any:
    """Return the value without members that are null; a null in a list is an element and stays."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def in_written_order(value: Any) -> Any:
    """Return a document with the fields of its objects sorted, as Go writes what a JSON patch has touched.

    Its decoder complains of the first field that it cannot read.
    """
    if isinstance(value, dict):
        return {name: in_written_order(value[name]) for name in sorted(value)}
    return [in_written_order(item) for item in value] if isinstance(value, list) else value
