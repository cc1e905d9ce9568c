"""Apply what a mutation has constructed: an Object is merged by the schema of the kind, JSONPatches are carried out.

The object that is changed stays as it is; the result shares with it what did not change. Kubernetes: patch/smd.go and
patch/json_patch.go of plugin/policy/mutating.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from moorage.admit.apply.merging import merge
from moorage.admit.apply.ownership_schema import FieldOwnershipSchema, check, render_problems
from moorage.admit.extension.attributes import ObjectKind
from moorage.admit.extension.policies.mutating.constructed_documents import (
    merged_document,
    patch_value,
    without_foreign,
)
from moorage.admit.extension.policies.mutating.object_types import JsonPatchOperation, misnamed_parts
from moorage.admit.raw import Raw
from moorage.match.cel.constructed import ConstructedValue
from moorage.match.cel.values import CelError
from moorage.model.patch.json_patch import FailedTest, apply_json_patch
from moorage.model.patch.patch_error import PatchError, check_depth


class RefusedMutation(Exception):
    """A mutation cannot be applied to an object; the text is that of Kubernetes."""


def apply_configuration(
    document: Raw, value: ConstructedValue, schema: FieldOwnershipSchema | None, kind: ObjectKind
) -> Raw:
    """Return a document with an Object merged into it, as server-side apply does. Raises RefusedMutation.

    There is no schema for what only subresources serve, such as Scale.
    """
    _check_names(value)
    try:
        applied, has_foreign = merged_document(value)
    except CelError as error:
        raise RefusedMutation(str(error)) from None
    for name in ("apiVersion", "kind"):
        if name in document:
            applied[name] = document[name]
    try:
        return _merged(document, applied, has_foreign, schema, kind)
    except RefusedMutation as refusal:
        raise RefusedMutation(f"error applying patch: {refusal}") from None


def _check_names(value: ConstructedValue) -> None:
    misnamed = misnamed_parts(value)
    if misnamed:
        raise RefusedMutation("type mismatch: " + "\n".join(misnamed))


def _merged(
    document: Raw, applied: Raw, has_foreign: bool, schema: FieldOwnershipSchema | None, kind: ObjectKind
) -> Raw:
    if schema is None:
        problems = f"no corresponding type for {kind.group}/{kind.version}, Kind={kind.kind}"
    else:
        problems = render_problems(found) if (found := check(applied, schema)) else ""
    if schema is None or problems:
        raise RefusedMutation(f"failed to convert patch object to typed object: {problems}")
    atomics = ", ".join(atomic_parts(applied, schema))
    if atomics:
        raise RefusedMutation(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomics}")
    try:
        check_depth(applied)
        merged: Raw = merge(document, without_foreign(applied) if has_foreign else applied, schema)
    except ValueError as error:
        raise RefusedMutation(f"failed to convert original object to typed object: {error}") from None
    except PatchError as error:
        raise RefusedMutation(f"failed to merge patch: {error}") from None
    return merged


def atomic_parts(value: Any, schema: FieldOwnershipSchema, path: str = "") -> Iterator[str]:
    """Yield the paths of lists, maps and structs that would replace what is there instead of being merged into it."""
    if isinstance(value, dict):
        if not schema.divides_maps:
            yield path
        for name, item in value.items():
            if name in schema.fields:
                yield from atomic_parts(item, schema.fields[name], f"{path}.{name}")
    elif isinstance(value, list):
        if not schema.divides_lists:
            yield path
        for index, item in enumerate(value):
            yield from atomic_parts(item, schema.element, f"{path}[{index}]")


def apply_patches(document: Raw, operations: Sequence[Any]) -> Raw:
    """Return a document that JSONPatches were carried out on; the very same if a `test` fails.

    Raises RefusedMutation.
    """
    patch = [json_operation(operation) for operation in operations]
    try:
        return apply_json_patch(document, patch)
    except FailedTest:
        return document
    except PatchError as error:
        raise RefusedMutation(f"JSON Patch: {error}") from None


#: The null of a `test`, which Go finds equal neither to nothing nor to a null in the object; that of a webhook it does.
_EQUALS_NOTHING = object()


def json_operation(operation: Any) -> Raw:
    """Return a JSONPatch as an operation of RFC 6902. Raises RefusedMutation."""
    if not isinstance(operation, JsonPatchOperation):
        expected = "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch"
        raise RefusedMutation(expected)
    fields = operation.fields
    result: Raw = {"op": fields.get("op", ""), "path": fields.get("path", "")}
    if fields.get("from"):
        result["from"] = fields["from"]
    if "value" in fields:
        value = fields["value"]
        if isinstance(value, ConstructedValue) and not isinstance(value, JsonPatchOperation):
            _check_names(value)
        try:
            result["value"] = patch_value(value)
        except CelError as error:
            why = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
            raise RefusedMutation(f"{why}: {error}") from None
        if result["op"] == "test" and result["value"] is None:
            result["value"] = _EQUALS_NOTHING
    return result
