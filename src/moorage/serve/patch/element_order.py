"""Order a merged list: elements that the patch names in its order, the others where they were.

An element that only the server has goes before the first patched element that stood behind it. Kubernetes: the
strategicpatch package's normalizeElementOrder; upstream compares every pair, here each element is looked up once.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from moorage.serve.patch.go_values import go_type, go_value, token
from moorage.serve.patch.patch_error import PatchError


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
    """The merge keys of the elements, or the elements themselves without a merge key. Raises PatchError."""
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
    """Where each key first occurs."""
    positions: dict[Hashable, int] = {}
    for position, key in enumerate(keys):
        positions.setdefault(key, position)
    return positions


def _sorted(found: Sequence[tuple[int | None, Any]], of_maps: bool) -> list[Any]:
    """By position; elements marked for deletion come last."""
    deleted: list[Any] = []
    if of_maps and any("$patch" in item for _, item in found):
        deleted = [item for _, item in found if item.get("$patch") == "delete"]
        found = [pair for pair in found if pair[1].get("$patch") != "delete"]
    if any(place is None for place, _ in found):
        found = _inserted(found)
    elif len(found) > 1:
        found = sorted(found, key=_place)
    return [item for _, item in found] + deleted


def _place(pair: tuple[int | None, Any]) -> int:
    return pair[0] or 0


def _inserted(found: Sequence[tuple[int | None, Any]]) -> Sequence[tuple[int | None, Any]]:
    """Order elements of which some have no position, as upstream's sort does: such an element is less than all."""
    if len(found) > 20:
        return found
    ordered: list[tuple[int | None, Any]] = []
    for pair in found:
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
