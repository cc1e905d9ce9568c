"""Mirror the taints of a node, and its labels that are versions, in labels that node affinity can compare.

`mirrored` is what a write to a node has to become; `policies.mirror` is the same as an admission policy.
Kubernetes: has no such mirror. Differs: a value with a part of a million or more (a version made of a date), or a key
whose prefix leaves no room, is not mirrored for comparison, so nothing that compares it matches.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from moorage.admit.requester import NODES_GROUP
from moorage.attach.formats import (
    EFFECT_NAMES,
    MIRRORED,
    NODE_STATE_KEYS,
    NUMBER,
    ORDERED_VERSION,
    RAW_VALUE,
    STATUS,
    VERSION,
    Raw,
    is_match_label,
    is_mirror_label,
    taint_label,
    version_label,
)
from moorage.attach.versions import ordered_integer
from moorage.match.numeric import NumberError, parse_canonical_int64


def mirrored(node: Raw, old: Raw | None, subresource: str = "", groups: Collection[str] = ()) -> dict[str, str]:
    """Return the labels of a node that is written, with its mirror, and without what only pretends to be mirror.

    Match labels answer questions about the taints there were: they go when those change, and a new node has none.
    Kubelets, which are known by their `groups`, may write labels of their node, but add no answers.
    A write of the status does not change taints, whatever it has in their place; labels it does change.
    """
    if subresource == STATUS and old is not None:
        node = {**node, "spec": old.get("spec")}
    wanted = mirror_labels(node)
    stale = old is None or _shown_taints(node) != _shown_taints(old)
    forgeable = NODES_GROUP in groups
    before = _labels(old) if old is not None else {}

    def is_kept(key: str, value: str) -> bool:
        if not is_match_label(key):
            return not is_mirror_label(key)
        return not stale and not (forgeable and before.get(key) != value)

    return {**{key: value for key, value in _labels(node).items() if is_kept(key, value)}, **wanted}


def mirror_labels(node: Raw) -> dict[str, str]:
    """Return the labels that mirror a node."""
    labels = {MIRRORED: VERSION}
    for taint in _taints(node):
        if taint["effect"] not in EFFECT_NAMES:
            continue  # validation refuses it
        labels.update(_of_taint(taint["key"], taint["effect"], taint.get("value", "")))
    labels.update(_of_versions(_labels(node)))
    return labels


def _of_taint(key: str, effect: str, value: str) -> Iterable[tuple[str, str]]:
    contents = {RAW_VALUE: value}
    if _is_integer(value):
        contents[NUMBER] = value
    if (number := ordered_integer(value)) is not None:
        contents[ORDERED_VERSION] = str(number)
    for content, text in contents.items():
        if (label := taint_label(content, effect, key)) is not None:
            yield label, text


def _of_versions(labels: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    for key, value in labels.items():
        label, number = version_label(key), ordered_integer(value)
        if label is not None and number is not None:
            yield label, str(number)


def _is_integer(text: str) -> bool:
    try:
        parse_canonical_int64(text)
    except NumberError:
        return False
    return True


def _taints(node: Raw) -> list[dict[str, Any]]:
    return (node.get("spec") or {}).get("taints") or []


def _labels(node: Raw) -> dict[str, str]:
    return (node.get("metadata") or {}).get("labels") or {}


def _shown_taints(node: Raw) -> list[tuple[str, str, str]]:
    """Return the taints that match labels depend on."""
    return [
        (taint["key"], taint.get("value", ""), taint["effect"])
        for taint in _taints(node)
        if taint["key"] not in NODE_STATE_KEYS
    ]
