"""Validate custom objects: metadata, schema, scale, embedded objects, types of lists, rules; in this order.

Patterns, formats and CEL are imported with the first object.
Kubernetes: apiextensions-apiserver, pkg/registry/customresource (strategy.go, status_strategy.go, validator.go).
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.admit.metadata import path_segment_errors, validate_object_meta, validate_object_meta_update
from moorage.admit.raw import Raw
from moorage.custom.objects.correlation import Correlation, list_type_errors
from moorage.custom.objects.embedded import embedded_errors
from moorage.custom.structural import Structural
from moorage.model.field_error import ErrorKind, FieldError, invalid
from moorage.model.go.integers import INT32_MAX
from moorage.model.go.quoting import go_json, go_quote
from moorage.model.names import label_key_errors
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta

_STANDARD_FINALIZERS = frozenset(("orphan", "foregroundDeletion", "kubernetes"))
#: Errors after which rules are not run: they may rely on what these say is not so.
_BLOCKING = frozenset(
    (ErrorKind.NOT_SUPPORTED, ErrorKind.REQUIRED, ErrorKind.TOO_LONG, ErrorKind.TOO_MANY, ErrorKind.TYPE_INVALID)
)
_RULES_NOT_CHECKED = FieldError(
    ErrorKind.INVALID,
    "<nil>",
    "null",
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation",
)


class CustomRules(msgspec.Struct, frozen=True):
    """What one version of a definition says about its objects. `scale` has the paths of the scale subresource."""

    schema: Structural | None
    namespaced: bool = True
    scale: Mapping[str, Any] = {}


class CustomFindings(NamedTuple):
    """Errors of an object, and warnings: rules that it breaks where an update left it alone."""

    errors: list[FieldError]
    warnings: list[str]


def validate_custom_object(new: Raw, rules: CustomRules) -> CustomFindings:
    """Validate a new object, which is decoded and has its defaults."""
    schema = rules.schema
    errors = validate_object_meta(_meta(new), "metadata", namespaced=rules.namespaced, any_finalizer=True)
    if schema is not None:
        errors += _schema_errors(new, schema)
    errors += _scale_errors(new, rules.scale)
    if schema is not None:
        errors += embedded_errors(new, schema, embedded_metadata_errors)
        errors += list_type_errors(new, schema)
    return _with_rules(new, None, schema, None, errors)


def validate_custom_object_update(new: Raw, old: Raw, rules: CustomRules) -> CustomFindings:
    """Validate an update, leaving out errors of parts that it does not change."""
    schema = rules.schema
    errors = _metadata_errors_of_update(new, old, rules)
    correlation = None if schema is None else Correlation(new, old, schema)
    if schema is not None:
        errors += _schema_errors(new, schema, correlation)
    errors += _scale_errors(new, rules.scale)
    if schema is not None:
        errors += embedded_errors(new, schema, embedded_metadata_errors)
        if not list_type_errors(old, schema):
            errors += list_type_errors(new, schema)
    return _with_rules(new, old, schema, correlation, errors)


def validate_custom_status(new: Raw, old: Raw, rules: CustomRules) -> CustomFindings:
    """Validate an update of the status. Schemas of other fields do not matter, but rules and types of lists do."""
    schema = rules.schema
    errors = _metadata_errors_of_update(new, old, rules)
    correlation = None if schema is None else Correlation(new, old, schema)
    status_schema = None if schema is None else schema.properties.get("status")
    if status_schema is not None and correlation is not None and "status" in new:
        errors += _schema_errors(new["status"], status_schema, correlation.at_property("status"), "status")
    errors += _scale_errors(new, {name: path for name, path in rules.scale.items() if name != "specReplicasPath"})
    if schema is not None and not list_type_errors(old, schema):
        errors += list_type_errors(new, schema)
    return _with_rules(new, old, schema, correlation, errors)


def _metadata_errors_of_update(new: Raw, old: Raw, rules: CustomRules) -> list[FieldError]:
    """Return errors of the metadata, most of them several times: Kubernetes validates it once for all kinds of objects
    as if it were new, once as an update, and once more for custom objects. Its message has each error once.
    """
    meta = _meta(new)
    changed = validate_object_meta_update(meta, _meta(old), "metadata", any_finalizer=True)
    common = validate_object_meta(
        meta, "metadata", namespaced=rules.namespaced, name_rule=path_segment_errors, any_finalizer=True
    )
    return [*common, *changed, *changed]


def _schema_errors(
    value: Any, schema: Structural, correlation: Correlation | None = None, base: str = ""
) -> list[FieldError]:
    from moorage.custom.objects.validate import schema_errors

    return schema_errors(value, schema, correlation, base)


def _with_rules(
    new: Raw, old: Raw | None, schema: Structural | None, correlation: Correlation | None, errors: list[FieldError]
) -> CustomFindings:
    """Evaluate the rules, unless an error tells that they may rely on what is not so."""
    from moorage.custom.expressions import check_rules, rule_tree

    tree = None if schema is None else rule_tree(schema)
    if tree is None:
        return CustomFindings(errors, [])
    if any(error.kind in _BLOCKING for error in errors):
        return CustomFindings([*errors, _RULES_NOT_CHECKED], [])
    checked = check_rules(tree, new, old, correlation)
    return CustomFindings([*errors, *checked.errors], checked.warnings)


def finalizer_warnings(new: Raw, old: Raw | None) -> list[str]:
    """Return warnings about new finalizers whose name says not whose they are."""
    known = () if old is None else _meta(old).finalizers
    return [warning for name in sorted({*_meta(new).finalizers} - {*known}) for warning in _finalizer_warnings(name)]


def _finalizer_warnings(name: str) -> Iterable[str]:
    shown = f"metadata.finalizers: {go_quote(name)}"
    for message in label_key_errors(name):
        yield f"{shown}: {message}"
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        yield (
            f"{shown}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other "
            "finalizer writers"
        )


def _meta(obj: Raw) -> ObjectMeta:
    return convert_view(obj.get("metadata") or {}, ObjectMeta)


def embedded_metadata_errors(meta: ObjectMeta, path: str) -> list[FieldError]:
    named = meta if meta.name else msgspec.structs.replace(meta, name="fakename")
    return validate_object_meta(
        named, path, namespaced=bool(meta.namespace), name_rule=path_segment_errors, any_finalizer=True
    )


def _scale_errors(obj: Raw, scale: Mapping[str, Any]) -> list[FieldError]:
    """Return what is wrong with the numbers of replicas and the selector that the scale subresource shows."""
    errors = []
    for name in ("specReplicasPath", "statusReplicasPath"):
        if path := scale.get(name):
            replicas, problem = _nested(obj, path, int, "int64")
            if problem:
                errors.append(invalid(path, 0, problem))
            elif isinstance(replicas, int) and replicas < 0:
                errors.append(invalid(path, replicas, "should be a non-negative integer"))
            elif isinstance(replicas, int) and replicas > INT32_MAX:
                errors.append(invalid(path, replicas, f"should be less than or equal to {INT32_MAX}"))
    if path := scale.get("labelSelectorPath"):
        _, problem = _nested(obj, path, str, "string")
        if problem:
            errors.append(invalid(path, "", problem))
    return errors


def _nested(obj: Raw, path: str, kind: type, go_name: str) -> tuple[Any, str]:
    """Return the value at a path, or None, and why it cannot be read."""
    value: Any = obj
    steps = path.removeprefix(".").split(".")
    for number, name in enumerate(steps, 1):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            return None, _access_error(steps[:number], value, "map[string]interface{}")
        if name not in value:
            return None, ""
        value = value[name]
    return (value, "") if type(value) is kind else (None, _access_error(steps, value, go_name))


def _access_error(steps: list[str], value: Any, expected: str) -> str:
    where = ".".join(("", *steps))
    return f"{where} accessor error: {_go_value(value)} is of the type {_go_type(value)}, expected {expected}"


def _go_value(value: Any) -> str:
    """Return a JSON value as Go's %v writes it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_go_value(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go_value, value))}]"
    if isinstance(value, str):
        return value
    return "<nil>" if value is None else go_json(value)


def _go_type(value: Any) -> str:
    names = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return "<nil>" if value is None else names.get(type(value), "map[string]interface {}")
