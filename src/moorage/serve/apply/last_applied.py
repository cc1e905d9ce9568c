"""Handle the annotation in which kubectl's client-side apply remembers what it applied.

Fields that the same kubectl applied on the client before do not conflict, and the annotation is kept up to date so that
the user may go back. Only for the field manager "kubectl": other names opt out. Kubernetes: managedfields/internal
(lastappliedmanager, lastappliedupdater, lastapplied).
"""

import json
from typing import Any, Final

from moorage.serve.apply.comparison import compare_documents
from moorage.serve.apply.entries import Writer
from moorage.serve.apply.field_set import NOTHING, Fields, difference
from moorage.serve.apply.ownership import fields_of
from moorage.serve.apply.ownership_schema import FieldOwnershipSchema
from moorage.serve.apply.path_elements import as_json
from moorage.serve.apply.typed_check import check

Raw = dict[str, Any]

KUBECTL: Final = "kubectl"
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS_SIZE = 256 * 1024


def remaining_conflicts(
    conflicts: dict[Writer, Fields], live: Raw, schema: FieldOwnershipSchema
) -> dict[Writer, Fields]:
    """The conflicts without those about the user's own last applied configuration."""
    allowed = _still_as_applied(live, schema)
    left = {writer: difference(fields, allowed) for writer, fields in conflicts.items()}
    return {writer: fields for writer, fields in left.items() if fields}


def _still_as_applied(live: Raw, schema: FieldOwnershipSchema) -> Fields:
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return NOTHING
    try:
        last = json.loads(text)
        if not isinstance(last, dict) or last.get("apiVersion") != live.get("apiVersion") or check(last, schema):
            return NOTHING
        differing = compare_documents(last, live, schema)
    except (ValueError, RecursionError):
        return NOTHING
    fields = fields_of(last, schema)
    for changed in differing:
        fields = difference(fields, changed)
    return fields


def with_annotation(document: Raw, patch: Raw) -> Raw:
    """The document with the annotation updated to this patch, if it has the annotation."""
    annotations = _annotations(document)
    if not annotations.get(ANNOTATION):
        return document
    annotations = {**annotations, ANNOTATION: _remembered(patch)}
    if sum(_size(name) + _size(value) for name, value in annotations.items()) > _MAX_ANNOTATIONS_SIZE:
        del annotations[ANNOTATION]
    return {**document, "metadata": {**document["metadata"], "annotations": annotations}}


def _size(text: Any) -> int:
    return len(str(text).encode("utf-8", "surrogatepass"))


def _remembered(patch: Raw) -> str:
    metadata = patch.get("metadata") or {}
    annotations = metadata.get("annotations")
    if annotations is not None:
        others = {name: value for name, value in annotations.items() if name != ANNOTATION}
        patch = {**patch, "metadata": {**metadata, "annotations": others}}
    return as_json(_sorted(patch)) + "\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _annotations(document: Raw) -> Raw:
    annotations = (document.get("metadata") or {}).get("annotations")
    return annotations if isinstance(annotations, dict) else {}
