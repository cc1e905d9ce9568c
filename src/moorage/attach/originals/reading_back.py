"""Read lowered pods back as their users wrote them, for answers in their terms: what they tolerate and require.

What is read back is marked (`ATTACHED`): it compares whatever the gates of the cluster say, as it does in the cluster
because it is lowered. An annotation is believed only if it is what the pod's tolerations and node affinity were lowered
from: lowered again they have to be what they are, in whatever order. All other pods are left as they are written.
Kubernetes: knows nothing of it, and obeys what is written. Differs: of a pod that a DaemonSet has made only the
tolerations are compared, because its controller has replaced the required node affinity.
"""

import json
from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Final, NamedTuple

from moorage.attach import formats
from moorage.attach.formats import Raw
from moorage.attach.lowering import lower_affinity, original_tolerations, raise_pod
from moorage.attach.node_affinity import preferences, required_terms
from moorage.attach.originals.belonging import same_affinity, same_preferences
from moorage.attach.originals.marks import marked_affinity, marked_toleration, without_forged_marks, without_marks
from moorage.attach.pods import (
    KEPT,
    annotations_of,
    has_traces,
    node_affinity_of,
    read_pod,
    set_node_affinity,
    set_tolerations,
    tolerations_of,
)
from moorage.attach.refusals import Refused, Unreadable, is_version_comparison
from moorage.attach.tolerations import compared_pairs, covers, is_comparing
from moorage.model.types.view import ATTACHED

_REMEMBERED: Final = 4096
LEFT_BEHIND: Final = f"annotation {formats.TOLERATIONS} was left behind: the tolerations are not lowered"
OTHER_AFFINITY: Final = "node affinity is not what the tolerations of the annotation become"
OTHER_VERSIONS: Final = "node affinity is not what the annotation {} becomes"


class ReadBack(NamedTuple):
    """An object or pod with what its user wrote; the very same if it is not lowered, or if there is a `problem`."""

    pod: Raw
    problem: str = ""
    was_lowered: bool = False


class _Parts(NamedTuple):
    """What becomes of the parts of a pod, as JSON; a problem instead."""

    tolerations: str
    affinity: str
    problem: str = ""


def read_back(pod: Raw, *, is_daemon: bool = False) -> ReadBack:
    """Return a pod or template as its user wrote it, marked. `is_daemon`: a DaemonSet has made it."""
    if not has_traces(pod):
        return ReadBack(pod)
    asked = {
        "metadata": {"annotations": {name: text for name, text in annotations_of(pod).items() if name in KEPT}},
        "spec": {name: pod["spec"][name] for name in ("tolerations", "affinity") if pod["spec"].get(name)},
    }
    try:
        parts = _read_back(json.dumps(asked), is_daemon)
    except (TypeError, ValueError, RecursionError, Unreadable):
        return ReadBack(pod)  # admission refuses wrong types
    if parts.problem:
        return ReadBack(pod, parts.problem)
    return ReadBack(_with_parts(pod, json.loads(parts.tolerations), json.loads(parts.affinity)), was_lowered=True)


def original_object(document: Raw, path: Sequence[str], *, is_daemon: bool = False) -> ReadBack:
    """Return an object as its user wrote it, whose pod or template is at this path; the very same if nothing changes.

    Marks that it has already are not ours, and are left out.
    """
    steps: list[Raw] = [document]
    for name in path:
        below = steps[-1].get(name)
        if not isinstance(below, dict):
            return ReadBack(document)
        steps.append(below)
    given = without_forged_marks(steps.pop())
    found = read_back(given, is_daemon=is_daemon)
    made = found.pod
    for above, name in zip(reversed(steps), reversed(path), strict=True):
        if made is above.get(name):
            return found._replace(pod=document)
        made = {**above, name: made}
    return found._replace(pod=made)


@lru_cache(_REMEMBERED)
def _read_back(text: str, is_daemon: bool) -> _Parts:
    """Raises Unreadable."""
    asked: Raw = json.loads(text)
    read_pod(asked, "")
    stored = node_affinity_of(deepcopy(asked))
    annotations = dict(annotations_of(asked))
    try:
        original = original_tolerations(asked)
        raise_pod(asked)
    except Refused as refused:
        return _Parts("", "", str(refused))
    if original is None and formats.TOLERATIONS in annotations:
        return _Parts("", "", LEFT_BEHIND)
    counting = tolerations_of(asked)
    lowered = [] if original is None else original.lowered
    compared = [each for each in counting if not is_comparing(each) or each in lowered]
    if not _lowers_to(asked, compared, stored, is_daemon=is_daemon):
        return _Parts("", "", OTHER_AFFINITY)
    affinity = node_affinity_of(asked)
    if (missing := _unused(annotations, affinity)) and not is_daemon:
        return _Parts("", "", OTHER_VERSIONS.format(missing))
    marked = [marked_toleration(each) if each in lowered else each for each in counting]
    return _Parts(json.dumps(marked), json.dumps(marked_affinity(affinity)))


def _lowers_to(raised: Raw, tolerations: Sequence[Raw], stored: Raw, *, is_daemon: bool) -> bool:
    again = deepcopy(raised)
    try:
        lower_affinity(again, node_affinity_of(again), tolerations)
    except ValueError:
        return False  # a number that no requirement can have
    made = node_affinity_of(again)
    return same_preferences(made, stored) if is_daemon else same_affinity(made, stored)


def _unused(annotations: Raw, affinity: Raw) -> str:
    """Return the annotation of node affinity that was not read back; empty without one."""
    required = {"terms": required_terms(affinity)}
    preferred = {"terms": [each.get("preference") for each in preferences(affinity)]}
    for name, part in ((formats.NODE_AFFINITY, required), (formats.PREFERRED_NODE_AFFINITY, preferred)):
        terms = part["terms"] or ()
        expressions = (each for term in terms for each in (term or {}).get("matchExpressions") or ())
        if name in annotations and not any(map(is_version_comparison, expressions)):
            return name
    return ""


def _with_parts(pod: Raw, tolerations: list[Raw], affinity: Raw) -> Raw:
    """Return a pod with these parts, and without the annotations of attach."""
    changed: Raw = {**pod, "spec": dict(pod["spec"])}
    set_tolerations(changed, tolerations)
    if node_affinity_of(changed):
        set_node_affinity(changed, affinity)
    annotations = {name: text for name, text in annotations_of(pod).items() if name not in KEPT}
    if "metadata" in pod and annotations_of(pod):
        changed["metadata"] = {name: value for name, value in pod["metadata"].items() if name != "annotations"}
        if annotations:
            changed["metadata"]["annotations"] = annotations
    return changed


def put_back(changed: Raw, before: Raw, stored: Raw) -> Raw:
    """Return a pod that was changed as the cluster is to be sent it, which has `stored` what was read back as `before`.

    What is not changed stays as it is lowered. What is changed is written as users write it: it is lowered once more.
    """
    sent: Raw = without_marks(changed)
    sent["spec"] = dict(sent["spec"])
    if tolerations_of(changed) == tolerations_of(before):
        set_tolerations(sent, tolerations_of(stored))
    if node_affinity_of(changed) == node_affinity_of(before):
        set_node_affinity(sent, node_affinity_of(stored))
    kept = {name: text for name, text in annotations_of(stored).items() if name in KEPT}
    return {**sent, "metadata": {**(sent.get("metadata") or {}), "annotations": {**annotations_of(sent), **kept}}}


def concerns_lowered(added: Sequence[Raw], there: Sequence[Raw]) -> bool:
    """Whether tolerations that are added to those of a pod compare, or cover what is compared, so that it is not free.

    The affinity of a pod that exists cannot follow them.
    """
    pairs = compared_pairs([each for each in there if ATTACHED in each])
    return any(is_comparing(each) or any(covers(each, pair) for pair in pairs) for each in added)
