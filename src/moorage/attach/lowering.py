"""Lower the pod of a manifest, so that every Kubernetes places it as its tolerations and affinity mean; or raise it.

What is lowered is kept in annotations. Lowering begins by raising what was lowered before, so that it is idempotent,
and a changed manifest is lowered by what it says now; a list of tolerations without the marker is such a manifest. The
annotation has the list that was lowered, without what was left to the cluster.
Kubernetes: node affinity and `Exists`, which all components obey. Differs: annotations that cannot be read are refused
where the marker says that they are needed, and dropped where it does not.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from moorage.attach import formats
from moorage.attach.alternatives import preferred_terms, required_products
from moorage.attach.formats import Raw
from moorage.attach.node_affinity import (
    count_of_terms,
    lowered_preference,
    lowered_term,
    multiplied,
    preferences,
    preferences_without_added,
    required_terms,
    with_terms,
    without_added,
)
from moorage.attach.pods import (
    annotate,
    annotations_of,
    compares_node_versions,
    drop_annotations,
    has_traces,
    node_affinity_of,
    read_pod,
    set_node_affinity,
    set_tolerations,
    tolerations_of,
    without_nulls,
)
from moorage.attach.refusals import Refused, Unreadable, check_count, check_node_affinity, check_tolerations
from moorage.attach.tolerations import (
    RaisedTolerations,
    is_comparing,
    is_left,
    is_marker,
    lowered_tolerations,
    native_keys,
    raised_tolerations,
    without_empty,
)
from moorage.model.field_error import FieldError, child_path, invalid

NOT_OURS = "is not what moorage attach has written"
NEWER_FORMAT = f"is a format that this release does not know; it knows {formats.VERSION}"


def lower_pod(pod: Raw, path: str = "", native: Collection[str] = ()) -> None:
    """Lower a pod or template that concerns us, in place. Raises Refused and Unreadable.

    `native` are operators that the cluster knows. They are left alone, but not those of keys that were lowered before:
    only the annotation NATIVE gives these back to the cluster.
    """
    _read(pod, path)
    where, before = child_path(path, "spec"), tolerations_of(pod)
    lowered_before = [] if annotations_of(pod).get(formats.NATIVE) == formats.TRUE else _lowered_before(pod)
    kept = _raise(pod, path)
    tolerations = tolerations_of(pod)
    left = native_keys(tolerations, native, lowered_before)
    is_settled = kept is not None and kept.is_settled(left)
    compared = [each for each in (kept.original if kept and is_settled else tolerations) if not is_left(each, left)]
    affinity = node_affinity_of(pod)
    errors = check_tolerations(tolerations, f"{where}.tolerations", left)
    errors += check_node_affinity(affinity, f"{where}.affinity.nodeAffinity")
    if errors:
        raise Refused(errors)
    lower_affinity(pod, affinity, compared)
    if any(map(is_comparing, compared)):
        annotate(pod, formats.TOLERATIONS, [without_empty(each) for each in compared])
        set_tolerations(pod, before if is_settled else lowered_tolerations(tolerations, left).all)


def lower_affinity(pod: Raw, affinity: Raw, tolerations: Sequence[Raw]) -> None:
    """Set the node affinity of a pod: its own, which is checked, lowered with what these tolerations require."""
    required, preferred = required_terms(affinity), preferences(affinity)
    required_versions, preferred_versions = compares_node_versions(affinity)
    if required is not None and required_versions:
        annotate(pod, formats.NODE_AFFINITY, required)
        required = [lowered_term(term) for term in required]
    if preferred_versions:
        annotate(pod, formats.PREFERRED_NODE_AFFINITY, preferred)
        preferred = [lowered_preference(each) for each in preferred]
    products = required_products(tolerations, count_of_terms(required))
    added = preferred_terms(tolerations)
    if products or added or required_versions or preferred_versions:
        set_node_affinity(pod, with_terms(affinity, multiplied(required, products), [*preferred, *added]))


def raise_pod(pod: Raw, path: str = "") -> None:
    """Give a pod or template its original form, in place. Raises Refused and Unreadable."""
    _read(pod, path)
    _raise(pod, path)


def _read(pod: Raw, path: str) -> None:
    read_pod(pod, path)
    if errors := check_count(tolerations_of(pod), f"{child_path(path, 'spec')}.tolerations"):
        raise Refused(errors)


class _Kept(NamedTuple):
    """The tolerations that an annotation has kept, and what they are now."""

    original: list[Raw]
    now: RaisedTolerations

    def is_settled(self, left: Collection[str]) -> bool:
        """Whether lowering them again changes nothing that matters; `left` are keys that are left to the cluster."""
        added = [each for each in self.now.added if is_comparing(each)]
        return (
            self.now.is_settled
            and all(is_left(each, left) for each in added)
            and not any(is_left(each, left) for each in self.original)
        )


def _raise(pod: Raw, path: str) -> _Kept | None:
    """Raise a pod; return what its annotation has kept of its tolerations; None if they were not lowered."""
    if not has_traces(pod):
        return None
    _check_format(pod, path)
    kept = _raise_tolerations(pod, path)
    _raise_affinity(pod, path)
    drop_annotations(pod)
    return kept


def _check_format(pod: Raw, path: str) -> None:
    version = annotations_of(pod).get(formats.FORMAT, formats.VERSION)
    if version != formats.VERSION:
        raise Refused([_broken(path, formats.FORMAT, version, NEWER_FORMAT)])


class OriginalTolerations(NamedTuple):
    """What a pod was lowered from: the list as it was lowered, and those tolerations that count now.

    What others have added since counts, and comes last; what they have removed does not.
    """

    lowered: list[Raw]
    counting: list[Raw]


def original_tolerations(pod: Raw, path: str = "") -> OriginalTolerations | None:
    """Return what the tolerations of a pod mean; None if they are not lowered. Raises Refused and Unreadable.

    The pod is of the right types. Expressions are not compiled: one that cannot be matches nothing.
    """
    current = tolerations_of(pod)
    if not any(map(is_marker, current)):
        return None
    if errors := check_count(current, f"{child_path(path, 'spec')}.tolerations"):
        raise Refused(errors)
    _check_format(pod, path)
    kept = _kept(pod, formats.TOLERATIONS, path, _accept_uncompiled)
    counting = [each for each in raised_tolerations(current, kept).all if not is_marker(each)]
    return OriginalTolerations(kept, counting)


def _raise_tolerations(pod: Raw, path: str) -> _Kept | None:
    current = tolerations_of(pod)
    if not any(map(is_marker, current)):
        return None
    kept = _kept(pod, formats.TOLERATIONS, path, _accept_tolerations)
    raised = raised_tolerations(current, kept)
    set_tolerations(pod, [each for each in raised.all if not is_marker(each)])
    return _Kept(kept, raised)


def _lowered_before(pod: Raw) -> list[Raw]:
    """Return the tolerations that an annotation has kept, also where a manifest was applied over them."""
    try:
        return _kept(pod, formats.TOLERATIONS, "", _accept_tolerations)
    except Refused:
        return []


def _raise_affinity(pod: Raw, path: str) -> None:
    affinity, annotations = node_affinity_of(pod), annotations_of(pod)
    required = without_added(required_terms(affinity))
    preferred = preferences_without_added(preferences(affinity))
    if required and formats.NODE_AFFINITY in annotations:
        kept = _kept(pod, formats.NODE_AFFINITY, path, _accept_terms)
        required = kept if [lowered_term(each) for each in kept] == required else required
    if preferred and formats.PREFERRED_NODE_AFFINITY in annotations:
        kept = _kept(pod, formats.PREFERRED_NODE_AFFINITY, path, _accept_preferences)
        preferred = kept if [lowered_preference(each) for each in kept] == preferred else preferred
    if affinity:
        set_node_affinity(pod, with_terms(affinity, required, preferred))


# -- what annotations have kept ----------------------------------------------------------------------------------------


def _kept(pod: Raw, name: str, path: str, accept: Callable[[Any], bool]) -> list[Raw]:
    """Return the list that an annotation has. Users can write annotations: what is not ours is refused."""
    text = annotations_of(pod).get(name) or ""
    try:
        value = json.loads(text)
        is_list = isinstance(value, list) and all(isinstance(each, dict) for each in value)
        if is_list and without_nulls(value) == value and accept(value):
            return list(value)
    except (ValueError, RecursionError, Unreadable):
        pass
    raise Refused([_broken(path, name, text, NOT_OURS)])


def _accept_tolerations(tolerations: Any) -> bool:
    return not check_tolerations(tolerations, "")


def _accept_uncompiled(tolerations: Any) -> bool:
    return not check_tolerations(tolerations, "", compiles=False)


def _accept_terms(terms: Any) -> bool:
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return not check_node_affinity(affinity, "")


def _accept_preferences(terms: Any) -> bool:
    return not check_node_affinity({"preferredDuringSchedulingIgnoredDuringExecution": terms}, "")


def _broken(path: str, name: str, value: Any, detail: str) -> FieldError:
    return invalid(f"{child_path(path, 'metadata')}.annotations[{name}]", value, detail)
