"""The order of a merged list: what the patch names comes as the patch says, the rest where it was.

In: the merged elements, the order that the patch wants, the order that the server had. Out: one list. An element that
only the server knows goes before the first patched element that stood behind it.
Kubernetes: the strategicpatch package's normalizeElementOrder; upstream compares every pair, here each element is
looked up once. Next: `strategic_merge`.
"""

from collections.abc import Hashable
from typing import Any

from moorage.serve.patch.go_values import go_type, go_value, token
from moorage.serve.patch.patch_error import PatchError


def in_order(merged: list[Any], wanted: list[Any], before: list[Any], merge_key: str, of_maps: bool) -> list[Any]:
    """The merged elements: those in `wanted` in that order, between them those of `before` only. Raises PatchError."""
    named = {_identity(item, merge_key, bool(merge_key)) for item in wanted}
    patched: list[Any] = []
    server_only: list[Any] = []
    for item in merged:
        known = _identity(item, merge_key, bool(merge_key)) in named
        (patched if known else server_only).append(item)
    patched = _sorted(patched, _positions(wanted, merge_key, of_maps), merge_key, of_maps)
    positions = _positions(before, merge_key, of_maps)
    server_only = _sorted(server_only, positions, merge_key, of_maps)
    return _interleaved(server_only, patched, positions, merge_key, of_maps)


def missing_merge_key(element: dict[str, Any], merge_key: str) -> PatchError:
    return PatchError(f"map: {go_value(element)} does not contain declared merge key: {merge_key}")


def wrong_type(expected: Any, actual: Any) -> PatchError:
    return PatchError(f"expected a {go_type(expected)}, but received a {go_type(actual)}")


def _identity(item: Any, merge_key: str, of_maps: bool) -> Hashable:
    if not of_maps:
        return token(item)
    if not isinstance(item, dict):
        raise wrong_type({}, item)
    if merge_key not in item:
        raise missing_merge_key(item, merge_key)
    return token(item[merge_key])


def _positions(items: list[Any], merge_key: str, of_maps: bool) -> dict[Hashable, int]:
    positions: dict[Hashable, int] = {}
    for position, item in enumerate(items):
        positions.setdefault(_identity(item, merge_key, of_maps), position)
    return positions


def _sorted(items: list[Any], positions: dict[Hashable, int], merge_key: str, of_maps: bool) -> list[Any]:
    """By position; elements marked for deletion come last."""
    found = [(positions.get(_identity(item, merge_key, of_maps)), item) for item in items]
    if of_maps:
        deleted = [item for item in items if item.get("$patch") == "delete"]
        found = [(place, item) for place, item in found if item.get("$patch") != "delete"]
    else:
        deleted = []
    if all(place is not None for place, _ in found):
        ordered = sorted(found, key=lambda pair: pair[0] or 0)
    else:
        ordered = _inserted(found)
    return [item for _, item in ordered] + deleted


def _inserted(found: list[tuple[int | None, Any]]) -> list[tuple[int | None, Any]]:
    """What upstream's sort makes of elements without a position, which it takes to be before everything."""
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


def _interleaved(
    left: list[Any], right: list[Any], positions: dict[Hashable, int], merge_key: str, of_maps: bool
) -> list[Any]:
    """`left` put into `right`, each element before the first of `right` that it stood before on the server."""
    if not left:
        return right
    placed: list[Any] = []
    waiting = [(positions.get(_identity(item, merge_key, of_maps)), item) for item in left]
    at = 0
    for item in right:
        place = positions.get(_identity(item, merge_key, of_maps))
        while at < len(waiting):
            ours = waiting[at][0]
            if ours is None or place is None or ours >= place:
                break
            placed.append(waiting[at][1])
            at += 1
        placed.append(item)
    return placed + [item for _, item in waiting[at:]]
