"""Publish custom kinds in OpenAPI: a document for each of their versions, and their part of the Swagger document.

The schema is the definition's own. Swagger has no words for much of it: combinations are left out, and so is all that
is below a value that may be null or have unknown fields, because clients would refuse what the server accepts.
Kubernetes: apiextensions-apiserver, pkg/controller/openapi/builder.
"""

from collections.abc import Iterable
from typing import Any

from moorage.model.api_error import Raw
from moorage.model.types.meta import ObjectMeta
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.openapi.definitions import Definitions, custom_definition_name, describe_field, group_version_kind
from moorage.serve.openapi.paths import add_paths

_COMBINATIONS = ("allOf", "anyOf", "oneOf", "not")
_KEPT_IF_NULLABLE = frozenset({"description", "title", "default", "example"})
_HIDDEN_IF_UNKNOWN = frozenset({"properties", "items", "additionalProperties", "required"})


def custom_contents(kinds: Iterable[ServedKind], version: int) -> tuple[dict[str, Raw], dict[str, Raw]]:
    """Return the definitions and paths of custom kinds."""
    definitions, paths = Definitions(version), dict[str, Raw]()
    found = list(kinds)
    for kind in found:
        definitions.found[custom_definition_name(kind)] = _definition(kind, definitions)
        definitions.add_list(kind, custom_definition_name(kind))
        add_paths(paths, definitions, kind)
    return definitions.found, paths


def _definition(kind: ServedKind, definitions: Definitions) -> Raw:
    schema = _shown(kind.raw_schema(), definitions)
    made = _with_metadata({"type": "object", **schema}, definitions)
    made["x-kubernetes-group-version-kind"] = [group_version_kind(kind)]
    return made


def _shown(schema: Any, definitions: Definitions) -> Any:
    """Return a schema, and those below it, as this version of OpenAPI can say it."""
    if not isinstance(schema, dict):
        return schema
    if definitions.version == 2:
        schema = _in_swagger(schema)
    made = {}
    for name, value in schema.items():
        if name == "properties":
            made[name] = {key: _shown(below, definitions) for key, below in value.items()}
        elif name in ("items", "additionalProperties"):
            made[name] = _shown(value, definitions)
        else:
            made[name] = value
    if schema.get("x-kubernetes-embedded-resource"):
        return _with_metadata(made, definitions)
    return made


def _in_swagger(schema: Raw) -> Raw:
    made = {name: value for name, value in schema.items() if name not in _COMBINATIONS}
    if made.pop("nullable", False):
        return {name: value for name, value in made.items() if name in _KEPT_IF_NULLABLE or name.startswith("x-")}
    if made.get("x-kubernetes-preserve-unknown-fields"):
        return {name: value for name, value in made.items() if name not in _HIDDEN_IF_UNKNOWN}
    return made


def _with_metadata(schema: Raw, definitions: Definitions) -> Raw:
    named: Raw = {
        "apiVersion": {"description": describe_field("TypeMeta", "apiVersion"), "type": "string"},
        "kind": {"description": describe_field("TypeMeta", "kind"), "type": "string"},
        "metadata": definitions.described(definitions.add_type(ObjectMeta), describe_field("ObjectMeta", "metadata")),
    }
    return {**schema, "properties": {**(schema.get("properties") or {}), **named}}
