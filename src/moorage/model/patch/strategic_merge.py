"""Apply a strategic merge patch: a merge patch that knows the merge keys of lists, and takes directives.

Directives: `$patch: replace|delete`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`, `$retainKeys`. Of a
merged list, elements that the patch names come in its order; one that only the server has goes before the first patched
element that stood behind it. Kubernetes: the strategicpatch package's mergeMap, with its messages, and
normalizeElementOrder; upstream compares every pair, here each element is looked up once. Differs: null members are
dropped from new values, since no typed decoding follows; fields without a schema are merged as objects and replaced as
lists.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from moorage.model.api_error import Raw
from moorage.model.go.quoting import go_quote
from moorage.model.patch.json_patch import without_nulls
from moorage.model.patch.patch_error import (
    BAD_REQUEST,
    UNPROCESSABLE,
    PatchError,
    go_string,
    go_type,
    go_value,
    not_decoded,
    token,
    too_deep,
)
from moorage.model.schema.merge_schema import UNTYPED, Field, ListType, MapType, Scalar, SchemaType, StructType, Untyped

_DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_SET_ORDER = "$setElementOrder"
_DELETE_FROM = "$deleteFromPrimitiveList"
_UNTYPED_FIELD = Field(UNTYPED)


def apply_strategic_merge(document: Raw, patch: Any, schema: StructType) -> Raw:
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise PatchError(not_decoded(patch), BAD_REQUEST)
    try:
        return _merge_objects(document, patch, schema)
    except RecursionError:
        raise too_deep() from None


def _merge_objects(original: Raw, patch: Raw, schema: SchemaType) -> Raw:
    if _DIRECTIVE in patch:
        return _replaced_or_deleted(patch)
    merged = dict(original)
    if any(name.startswith("$") for name in patch):
        patch = dict(patch)
        if _RETAIN_KEYS in patch:
            _retain_keys(merged, patch)
        for name in [name for name in patch if name.startswith(_SET_ORDER)]:
            _merge_ordered_list(merged, patch, name, schema)
    for name, value in patch.items():
        deleting = name.startswith(_DELETE_FROM)
        field = _list_name(name, _DELETE_FROM, "primitive list") if deleting else name
        if value is None:
            merged.pop(field, None)
        else:
            _merge_member(merged, field, value, schema, deleting)
    return merged


def _merge_member(merged: Raw, name: str, value: Any, schema: SchemaType, deleting: bool) -> None:
    current = merged.get(name)
    if isinstance(current, dict) and isinstance(value, dict):
        field = _field(schema, name)
        if field.patch_strategy == "replace":
            merged[name] = without_nulls(value)
        else:
            merged[name] = _merge_objects(current, value, field.type)
    elif isinstance(current, list) and isinstance(value, list):
        field, element = _list_field(schema, name)
        merged[name] = _merge_lists(current, value, field, element, deleting)
    elif not deleting:
        _take(merged, name, value)


def _replaced_or_deleted(patch: Raw) -> Raw:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {name: without_nulls(value) for name, value in patch.items() if name != _DIRECTIVE and value is not None}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: Any, patch: Raw) -> PatchError:
    return PatchError(f"unknown patch type: {go_string(directive)} in map: {go_value(patch)}")


def _retain_keys(merged: Raw, patch: Raw) -> None:
    """Drop every member of the original that the directive does not name; the patch may only set what it names."""
    names = patch.pop(_RETAIN_KEYS)
    if not isinstance(names, list):
        raise PatchError("invalid patch format of retainKeys", BAD_REQUEST)
    kept = {token(name) for name in names}
    for name, value in patch.items():
        if value is not None and name not in kept and not name.startswith((_DELETE_FROM, _SET_ORDER)):
            raise PatchError("invalid patch format of retainKeys", BAD_REQUEST)
    for name in [name for name in merged if name not in kept]:
        del merged[name]


def _merge_ordered_list(merged: Raw, patch: Raw, directive: str, schema: SchemaType) -> None:
    """Merge the list that a `$setElementOrder` is about, and take both out of the patch."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise wrong_type([], order)
    name = _list_name(directive, _SET_ORDER, "setElementOrder list")
    current, has_patch = merged.get(name), name in patch
    changes = patch.get(name)
    if current is not None and not isinstance(current, list):
        raise wrong_type([], current)
    if has_patch and not isinstance(changes, list):
        raise wrong_type([], changes)
    field, element = _list_field(schema, name, must_be_known=True)
    _check_order(changes or [], order, field.patch_merge_key)
    if current is None and changes is None:
        return
    if changes is None:
        combined = current or []
    elif current is None:
        combined = _new_elements(changes)
    else:
        combined = _merge_lists(current, changes, field, element, deleting=False, ordered=False)
    of_maps = _are_maps(current or [], changes or [])
    before = current or []
    if of_maps and changes and field.patch_strategy == "merge" and all(i.get(_DIRECTIVE) != "replace" for i in changes):
        # Upstream appends in place: new elements stand where deleted ones left room at the end.
        before = combined[: len(before)]
    merged[name] = in_order(combined, order, before, field.patch_merge_key, of_maps)
    patch.pop(name, None)


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    """Raise PatchError unless the elements of the patch are among those of the directive, in its order."""
    if not order or not changes:
        return
    waiting = changes
    if merge_key:
        for item in changes:
            if not isinstance(item, dict):
                raise wrong_type({}, item)
        waiting = [item for item in changes if item.get(_DIRECTIVE) != "delete"]
    at = 0
    for item in order:
        while at < len(waiting) and isinstance(waiting[at], dict) and _DIRECTIVE in waiting[at]:
            at += 1
        if at == len(waiting):
            return
        if _same_element(waiting[at], item, merge_key):
            at += 1
    if at < len(waiting):
        text = f"The order in patch list:\n{go_value(changes)}\n doesn't match {_SET_ORDER} list:\n{go_value(order)}\n"
        raise PatchError(text)


def _same_element(one: Any, other: Any, merge_key: str) -> bool:
    if not merge_key:
        return token(one) == token(other)
    if not isinstance(other, dict):
        raise wrong_type({}, other)
    for item in (one, other):
        if merge_key not in item:
            raise missing_merge_key(item, merge_key)
    return token(one[merge_key]) == token(other[merge_key])


def _merge_lists(
    original: list[Any], patch: list[Any], field: Field, element: SchemaType, deleting: bool, ordered: bool = True
) -> list[Any]:
    if field.patch_strategy != "merge" and not deleting:
        return [without_nulls(item) for item in patch]
    if not original and not patch:
        return original
    if not _are_maps(original, patch):
        if deleting:
            gone = {token(item) for item in patch}
            return [item for item in original if token(item) not in gone]
        seen = {token(item): item for item in [*patch, *original]}
        return in_order(list(seen.values()), patch, original, field.patch_merge_key, of_maps=False)
    if not field.patch_merge_key:
        raise PatchError(f"cannot merge lists without merge key for {_kind_name(element)}")
    original, patch = _without_directives(original, patch, field.patch_merge_key)
    merged = _merge_elements(original, patch, field.patch_merge_key, element)
    return in_order(merged, patch, original, field.patch_merge_key, of_maps=True) if ordered else merged


def _without_directives(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Return the original without what the patch deletes, and the patch without elements that are directives."""
    plain, gone, replace = [], set[Hashable](), False
    for item in patch:
        if _DIRECTIVE not in item:
            plain.append(item)
            continue
        directive = item[_DIRECTIVE]
        if directive == "delete":
            if merge_key not in item:
                raise missing_merge_key(item, merge_key)
            gone.add(token(item[merge_key]))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise PatchError("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, item)
    if replace:
        return [without_nulls(item) for item in plain], []
    if gone:
        original = [item for item in original if merge_key not in item or token(item[merge_key]) not in gone]
    return original, plain


def _merge_elements(original: list[Any], patch: list[Any], merge_key: str, element: SchemaType) -> list[Any]:
    merged = list(original)
    places: dict[Hashable, int] = {}
    for place, item in enumerate(original):
        if merge_key in item:
            places.setdefault(token(item[merge_key]), place)
    for item in patch:
        if merge_key not in item:
            raise missing_merge_key(item, merge_key)
        key = token(item[merge_key])
        found = places.get(key)
        if found is None:
            places[key] = len(merged)
            merged.append(without_nulls(item))
        else:
            merged[found] = _merge_objects(merged[found], item, element)
    return merged


def _are_maps(*lists: list[Any]) -> bool:
    """Return whether the elements, which must be of one type, are objects."""
    kinds = {type(item) for items in lists for item in items}
    if len(kinds) > 1:
        raise PatchError(f"list element types are not identical: {go_value(list(lists))}")
    if not kinds:
        raise PatchError("no elements in any of the given slices")
    kind = kinds.pop()
    if kind is list:
        raise PatchError("lists of lists are not supported", UNPROCESSABLE, hidden=True)
    if kind is type(None):
        raise PatchError("a list that is merged cannot have null elements")
    return kind is dict


def _field(schema: SchemaType, name: str) -> Field:
    if isinstance(schema, StructType):
        return schema.field(name)
    if isinstance(schema, MapType) and not isinstance(schema.element, StructType):
        raise PatchError("merging an object in json but data type is not struct, instead is: map")
    return _UNTYPED_FIELD


def _list_field(schema: SchemaType, name: str, must_be_known: bool = False) -> tuple[Field, SchemaType]:
    if must_be_known and isinstance(schema, StructType) and name not in schema.fields:
        text = f"unable to find api field in struct {schema.name} for the json field {go_quote(name)}"
        raise PatchError(text)
    field = _field(schema, name)
    if isinstance(field.type, ListType):
        return field, field.type.element
    if must_be_known and not isinstance(field.type, Untyped):
        raise PatchError("expected slice or array type, but got: struct")
    return field, UNTYPED


def _list_name(directive: str, prefix: str, what: str) -> str:
    head, slash, name = directive.partition("/")
    if head != prefix or not slash:
        raise PatchError(f"invalid patch format of {what}", BAD_REQUEST)
    return name


def _kind_name(element: SchemaType) -> str:
    if isinstance(element, StructType):
        return "struct"
    if isinstance(element, Scalar):
        return {"integer": "int64", "boolean": "bool"}.get(element.json_type, "string")
    return "map"


def _take(merged: Raw, name: str, value: Any) -> None:
    """Set a member that is new, or is of another type than it was."""
    if isinstance(value, dict) and _DIRECTIVE in value:
        merged.pop(name, None)
    else:
        merged[name] = _new_elements(value) if isinstance(value, list) else _new(value)


def _new_elements(items: list[Any]) -> list[Any]:
    return [_new(item) for item in items if not (isinstance(item, dict) and _DIRECTIVE in item)]


def _new(value: Any) -> Any:
    """Return a value that was not there before: without null members and without objects that are directives."""
    if isinstance(value, dict):
        merged: Raw = {}
        for name, item in value.items():
            if item is not None:
                _take(merged, name, item)
        return merged
    return _new_elements(value) if isinstance(value, list) else value


def in_order(merged: list[Any], wanted: list[Any], before: list[Any], merge_key: str, of_maps: bool) -> list[Any]:
    """The merged elements: those in `wanted` in that order, between them those of `before` only. Raises PatchError."""
    if of_maps and not merge_key:
        for item in (*merged, *before, *wanted):
            raise missing_merge_key(item, merge_key) if isinstance(item, dict) else wrong_type({}, item)
    named = _positions(identities(wanted, merge_key))
    keys = identities(merged, merge_key)
    patched = _sorted([(named[key], item) for key, item in zip(keys, merged, strict=True) if key in named], of_maps)
    if len(patched) == len(merged):
        return patched
    known = _positions(identities(before, merge_key))
    server_only = [(known.get(key), item) for key, item in zip(keys, merged, strict=True) if key not in named]
    rest = _sorted(server_only, of_maps)
    return _interleaved(rest, patched, known, merge_key) if patched else rest


def identities(items: list[Any], merge_key: str) -> list[Hashable]:
    """Return the merge keys of the elements, or the elements themselves without a merge key. Raises PatchError."""
    if not merge_key:
        return [token(item) for item in items]
    keys: list[Hashable] = []
    for item in items:
        if not isinstance(item, dict):
            raise wrong_type({}, item)
        if merge_key not in item:
            raise missing_merge_key(item, merge_key)
        key = item[merge_key]
        keys.append(key if type(key) is str else token(key))
    return keys


def missing_merge_key(element: dict[str, Any], merge_key: str) -> PatchError:
    return PatchError(f"map: {go_value(element)} does not contain declared merge key: {merge_key}")


def wrong_type(expected: Any, actual: Any) -> PatchError:
    return PatchError(f"expected a {go_type(expected)}, but received a {go_type(actual)}")


def _positions(keys: list[Hashable]) -> dict[Hashable, int]:
    positions: dict[Hashable, int] = {}
    for position, key in enumerate(keys):
        positions.setdefault(key, position)
    return positions


def _sorted(pairs: Sequence[tuple[int | None, Any]], of_maps: bool) -> list[Any]:
    """By position; elements marked for deletion come last."""
    deleted: list[Any] = []
    if of_maps and any("$patch" in item for _, item in pairs):
        deleted = [item for _, item in pairs if item.get("$patch") == "delete"]
        pairs = [pair for pair in pairs if pair[1].get("$patch") != "delete"]
    if any(place is None for place, _ in pairs):
        pairs = _inserted(pairs)
    elif len(pairs) > 1:
        pairs = sorted(pairs, key=lambda pair: pair[0] or 0)
    return [item for _, item in pairs] + deleted


def _inserted(pairs: Sequence[tuple[int | None, Any]]) -> Sequence[tuple[int | None, Any]]:
    """Order elements of which some have no position, as upstream's sort does: such an element is less than all."""
    if len(pairs) > 20:
        return pairs
    ordered: list[tuple[int | None, Any]] = []
    for pair in pairs:
        at = len(ordered)
        while at > 0 and _before(pair[0], ordered[at - 1][0]):
            at -= 1
        ordered.insert(at, pair)
    return ordered


def _before(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one < other


def _interleaved(left: list[Any], right: list[Any], known: dict[Hashable, int], merge_key: str) -> list[Any]:
    """Insert `left` into `right`, each element before the first of `right` that it preceded on the server."""
    placed: list[Any] = []
    ours = [known.get(key) for key in identities(left, merge_key)]
    at = 0
    for key, item in zip(identities(right, merge_key), right, strict=True):
        theirs = known.get(key)
        while at < len(left):
            place = ours[at]
            if place is None or theirs is None or place >= theirs:
                break
            placed.append(left[at])
            at += 1
        placed.append(item)
    return placed + left[at:]
