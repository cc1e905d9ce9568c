"""Find objects that `kubectl apply` cannot write, because its annotation with the whole object would be too long.

`kubectl apply` keeps the object as JSON in the annotation last-applied-configuration, and all annotations together may
have 262,144 bytes. So a ConfigMap of 300 kB can be created and not applied. Kubernetes: GetModifiedConfiguration of
kubectl (it adds the namespace and an empty map of annotations; Go escapes `<`, `>` and `&`), ValidateAnnotationsSize.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.admit.metadata import ANNOTATIONS_SIZE_LIMIT
from moorage.lint.catalogue import WARNING, Rule, Theme, declare
from moorage.lint.rules.decoding import exists_already
from moorage.lint.subject import Complaint
from moorage.model.well_known.annotations import LAST_APPLIED

if TYPE_CHECKING:
    from moorage.admit.raw import Raw

_RULE = "apply-annotation-too-long"
declare(
    Theme.API_SERVER,
    Rule(_RULE, WARNING, "The object is too large for the annotation that kubectl apply keeps it in."),
)
#: Go's encoder writes these as \\u003c and so on: five bytes more.
_ESCAPED = (b"<", b">", b"&")
_EMPTY_ANNOTATIONS = len('"annotations":{},')
_NAMESPACE = len('"namespace":"default",')


def check_applied_size(raw: Raw, *, namespaced: bool) -> Complaint | None:
    """Report an object that can be created, and not applied. What a server made, or is to name, is not applied."""
    if exists_already(raw):
        return None
    written = msgspec.json.encode(raw)
    if len(written) * 6 <= ANNOTATIONS_SIZE_LIMIT:
        return None
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return None
    annotations = metadata.get("annotations")
    others = dict(annotations) if isinstance(annotations, dict) else {}
    applied = _without_last_applied(raw, metadata, others) if LAST_APPLIED in others else written
    size = len(applied) + 5 * sum(map(applied.count, _ESCAPED)) + 1  # and a line feed
    size += _EMPTY_ANNOTATIONS if not isinstance(annotations, dict) else 0
    size += _NAMESPACE if namespaced and not metadata.get("namespace") else 0
    others.pop(LAST_APPLIED, None)
    total = size + sum(len(str(text).encode()) for pair in others.items() for text in pair) + len(LAST_APPLIED)
    if total <= ANNOTATIONS_SIZE_LIMIT:
        return None
    largest = max((len(msgspec.json.encode(value)), name) for name, value in raw.items())[1]
    return Complaint(
        _RULE,
        largest,
        f"kubectl apply fails: with the annotation {LAST_APPLIED}, which holds the whole object, the annotations have "
        f"{total:,} bytes, and at most {ANNOTATIONS_SIZE_LIMIT:,} are allowed",
        "use kubectl apply --server-side, or kubectl create and replace, which do not need the annotation; or split it",
    )


def _without_last_applied(raw: Raw, metadata: Raw, annotations: dict[str, object]) -> bytes:
    rest = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    return msgspec.json.encode({**raw, "metadata": {**metadata, "annotations": rest}})
