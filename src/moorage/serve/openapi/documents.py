"""Render the OpenAPI documents, each once: `/openapi/v2`, `/openapi/v3` and the documents that its index names.

The addresses of the latter carry a hash, so that clients may keep them. A custom kind has the schema of its definition;
Swagger leaves out combinations, and everything below a value that may be null or have unknown fields, because clients
would refuse what the server accepts. Definitions of older versions are made from those of the current one. Kubernetes:
kube-openapi's handlers, apiextensions-apiserver's pkg/controller/openapi/builder. Differs: version 3 is JSON only, also
for clients that prefer protobuf.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from moorage.model.api_error import Raw
from moorage.model.kind_rows.kind import openapi_group
from moorage.model.kinds import Kind
from moorage.model.schema.older_versions import EXACT_FIELDS
from moorage.model.types.meta import ObjectMeta
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.openapi.definitions import Definitions, custom_definition_name, describe_field, group_version_kind
from moorage.serve.openapi.paths import add_paths
from moorage.serve.openapi.protobuf_document import render_protobuf

_INFO = {"title": "Moorage", "version": "v1.36"}
_ENCODER = msgspec.json.Encoder(order="deterministic")


@lru_cache(maxsize=64)
def etag_of(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest().upper()


_REST: Raw = {
    "info": _INFO,
    "security": [{"BearerToken": []}],
    "securityDefinitions": {
        "BearerToken": {
            "description": "The token of the kubeconfig file.",
            "in": "header",
            "name": "authorization",
            "type": "apiKey",
        }
    },
    "swagger": "2.0",
}


@lru_cache(maxsize=2)
def _built_in_v2(kinds: tuple[Kind, ...]) -> tuple[bytes, bytes, frozenset[str]]:
    """Return the definitions and the paths of the built-in kinds as JSON, and the names of the definitions."""
    definitions, paths = _all_contents(kinds, 2)
    return _ENCODER.encode(definitions), _ENCODER.encode(paths), frozenset(definitions)


def openapi_v2(kinds: tuple[Kind, ...], custom: Sequence[ServedKind] = ()) -> bytes:
    definitions, paths, names = _built_in_v2(kinds)
    more, further = _custom_v2(custom, names)
    parts = (
        b'"definitions":' + _joined(definitions, _ENCODER.encode(more)),
        b'"paths":' + _joined(paths, _ENCODER.encode(further)),
        _ENCODER.encode(_REST)[1:-1],
    )
    return b"{" + b",".join(parts) + b"}"


def _custom_v2(custom: Sequence[ServedKind], names: frozenset[str]) -> tuple[Raw, Raw]:
    definitions, paths = custom_contents(custom, 2)
    return {name: definition for name, definition in definitions.items() if name not in names}, paths


def _joined(one: bytes, other: bytes) -> bytes:
    """Return the JSON of an object with the members of two."""
    return one if other == b"{}" else one[:-1] + b"," + other[1:]


@lru_cache(maxsize=2)
def _built_in_v2_protobuf(kinds: tuple[Kind, ...]) -> bytes:
    return render_protobuf(msgspec.json.decode(openapi_v2(kinds)))


def openapi_v2_protobuf(kinds: tuple[Kind, ...], custom: Sequence[ServedKind] = ()) -> bytes:
    """The same, for clients that ask for `protobuf_document.MEDIA_TYPE`. Messages that follow each other are merged."""
    if not custom:
        return _built_in_v2_protobuf(kinds)
    more, further = _custom_v2(custom, _built_in_v2(kinds)[2])
    return _built_in_v2_protobuf(kinds) + render_protobuf({"definitions": more, "paths": further})


def openapi_v3_index(kinds: tuple[Kind, ...], custom: Sequence[ServedKind] = ()) -> bytes:
    """Return which documents there are: one for each group and version."""
    tags = dict(_built_in_tags(kinds))
    for group_version in {kind.api_version for kind in custom}:
        tags[group_version] = etag_of(custom_openapi_v3(group_version, custom) or b"")
    paths: Raw = {}
    for group_version in sorted(tags):
        place = f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"
        paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={tags[group_version]}"}
    return _ENCODER.encode({"paths": paths})


@lru_cache(maxsize=2)
def _built_in_tags(kinds: tuple[Kind, ...]) -> dict[str, str]:
    versions = {kind.api_version for kind in kinds} | _older_versions(kinds)
    return {version: etag_of(openapi_v3(version, kinds) or b"") for version in versions}


def custom_openapi_v3(group_version: str, custom: Sequence[ServedKind]) -> bytes | None:
    """Return the document of a group and version of custom kinds, or None if no such kind is served."""
    kinds = [kind for kind in custom if kind.api_version == group_version]
    if not kinds:
        return None
    key = " ".join(["openapi v3", *(str(id(kind)) for kind in kinds)])
    return kinds[0].remembered(key, lambda _: _document_v3(*custom_contents(kinds, 3)))


@lru_cache(maxsize=64)
def openapi_v3(group_version: str, kinds: tuple[Kind, ...]) -> bytes | None:
    """Return the document of a group and version ("v1", "apps/v1"), or None if no kind is of it."""
    of_group = tuple(kind for kind in kinds if kind.api_version == group_version)
    if group_version in _older_versions(kinds):
        contents = _older_contents(group_version, kinds, 3)
    elif of_group:
        contents = _contents(of_group, 3)
    else:
        return None
    return _document_v3(*contents)


def _document_v3(definitions: dict[str, Raw], paths: dict[str, Raw]) -> bytes:
    return _ENCODER.encode({"components": {"schemas": definitions}, "info": _INFO, "openapi": "3.0.0", "paths": paths})


def _contents(kinds: tuple[Kind, ...], version: int) -> tuple[dict[str, Raw], dict[str, Raw]]:
    """Return definitions and paths."""
    definitions, paths = Definitions(version), dict[str, Raw]()
    definitions.add_kinds(kinds)
    for kind in kinds:
        add_paths(paths, definitions, kind)
    return definitions.found, paths


def _older_versions(kinds: tuple[Kind, ...]) -> set[str]:
    """Return the groups and versions in which kinds of other versions are served, too."""
    return {f"{kind.group}/{version}" for kind in kinds for version in kind.older_versions}


def _older_contents(group_version: str, kinds: tuple[Kind, ...], version: int) -> tuple[dict[str, Raw], dict[str, Raw]]:
    """Return definitions and paths of all kinds that are served in such a version."""
    group, _, older = group_version.rpartition("/")
    served = (kind for kind in kinds if kind.group == group)
    shown = tuple(
        kind if kind.version == older else kind.in_version(older)
        for kind in served
        if older in (kind.version, *kind.older_versions)
    )
    return in_older_version(*_contents(shown, version), group, older)


def _all_contents(kinds: tuple[Kind, ...], version: int) -> tuple[dict[str, Raw], dict[str, Raw]]:
    older = _older_versions(kinds)
    definitions, paths = _contents(tuple(kind for kind in kinds if kind.api_version not in older), version)
    for group_version in sorted(older):
        more, further = _older_contents(group_version, kinds, version)
        definitions, paths = {**more, **definitions}, {**paths, **further}
    return definitions, paths


_BASIC_TEXT: Final = "What the device is: everything but its name."


def in_older_version(
    definitions: dict[str, Raw], paths: dict[str, Raw], group: str, version: str
) -> tuple[dict[str, Raw], dict[str, Raw]]:
    """Return definitions and paths with types of this version only."""
    package = f"{openapi_group(group)}."
    types = re.compile(re.escape(package.encode()) + rb"v[0-9][0-9a-z]*\.")
    renamed = types.sub(f"{package}{version}.".encode(), msgspec.json.encode([definitions, paths]))
    converted: list[dict[str, Raw]] = msgspec.json.decode(renamed)
    if (group, version) == ("resource.k8s.io", "v1beta1"):
        _flatten_requests(converted[0], f"{package}{version}.")
        _nest_devices(converted[0], f"{package}{version}.")
    return converted[0], converted[1]


def _flatten_requests(definitions: dict[str, Raw], package: str) -> None:
    """Put what v1 has below `exactly` beside the name of a request."""
    exact = definitions.pop(f"{package}ExactDeviceRequest")
    fields = definitions[f"{package}DeviceRequest"]["properties"]
    del fields["exactly"]
    fields.update({name: exact["properties"][name] for name in EXACT_FIELDS})


def _nest_devices(definitions: dict[str, Raw], package: str) -> None:
    """Put everything of a device but its name below `basic`."""
    device, slices = definitions[f"{package}Device"], definitions[f"{package}ResourceSliceSpec"]
    fields = device["properties"]
    reference = f"{slices['properties']['devices']['items']['$ref'].removesuffix('Device')}BasicDevice"
    shown = {"$ref": reference} if reference.startswith("#/definitions/") else {"allOf": [{"$ref": reference}]}
    device["properties"] = {"basic": {**shown, "description": _BASIC_TEXT}, "name": fields.pop("name")}
    definitions[f"{package}BasicDevice"] = {"description": _BASIC_TEXT, "properties": fields, "type": "object"}


_PRESERVES, _EMBEDDED, _INT_OR_STRING = (
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)
#: What version 2 does not have, or does not say of custom kinds.
_NOT_IN_SWAGGER = frozenset({"allOf", "anyOf", "oneOf", "not", "nullable", "default"})
#: What is left out of a custom kind's schema where it is empty: Go's types do not tell that from none.
_NEVER_EMPTY = frozenset(
    {"allOf", "anyOf", "enum", "oneOf", "properties", "required", "x-kubernetes-list-map-keys"}
    | {"x-kubernetes-validations"}
)
#: Clients refuse what is not listed there, and cannot read lists without them.
_BELOW = frozenset({"properties", "items"})


def custom_contents(kinds: Iterable[ServedKind], version: int) -> tuple[dict[str, Raw], dict[str, Raw]]:
    """Return the definitions and paths of custom kinds."""
    definitions, paths = Definitions(version), dict[str, Raw]()
    listed = list(kinds)
    for kind in listed:
        definitions.found[custom_definition_name(kind)] = _definition(kind, definitions)
        definitions.add_list(kind, custom_definition_name(kind))
        add_paths(paths, definitions, kind)
    return definitions.found, paths


def _definition(kind: ServedKind, definitions: Definitions) -> Raw:
    schema = kind.raw_schema()
    if definitions.version == 2 and schema.get(_PRESERVES):
        # kubectl would take whatever is listed, even metadata, for everything that is allowed.
        definition: Raw = {"type": "object"}
    else:
        definition = _with_metadata({"type": "object", **_shown(schema, definitions)}, definitions)
    definition["x-kubernetes-group-version-kind"] = [group_version_kind(kind)]
    return definition


def _shown(schema: Any, definitions: Definitions) -> Any:
    """Return a schema, and those below it, as this version of OpenAPI can say it."""
    if not isinstance(schema, dict):
        return schema
    if definitions.version == 2:
        schema = _in_swagger(schema)
    elif schema.get(_INT_OR_STRING) and "anyOf" not in schema:
        schema = {**schema, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    shown: Raw = {}
    for name, value in schema.items():
        if name in _NEVER_EMPTY and not value:
            continue
        if name == "properties":
            shown[name] = {key: _shown(below, definitions) for key, below in value.items()}
        elif name in ("items", "additionalProperties"):
            shown[name] = _shown(value, definitions)
        else:
            shown[name] = value
    if not schema.get(_EMBEDDED) or (definitions.version == 2 and schema.get(_PRESERVES)):
        return shown
    required: list[str] = shown.get("required") or []
    more = [name for name in ("kind", "apiVersion") if name not in required]
    return _with_metadata({**shown, "required": [*required, *more]}, definitions)


def _in_swagger(schema: Raw) -> Raw:
    """Return a schema as version 2 says it. Kubernetes: ToStructuralOpenAPIV2, which works around kubectl."""
    shown = {name: value for name, value in schema.items() if name not in _NOT_IN_SWAGGER}
    preserves = schema.get(_PRESERVES)
    if schema.get("nullable") or preserves:
        shown = {name: value for name, value in shown.items() if name not in _BELOW}
    is_untyped = schema.get("nullable") or (shown.get("type") == "array" and "items" not in shown)
    if is_untyped or (preserves and shown.get("type") == "object"):
        shown.pop("type", None)
    if shown.get("required"):
        shown["required"] = _required(shown)
        if not shown["required"]:
            del shown["required"]
    return shown


def _required(schema: Raw) -> list[str]:
    """Return the required fields but those that may be null, which version 2 cannot say."""
    more = schema.get("additionalProperties")
    if isinstance(more, dict) and more.get("nullable"):
        return []
    fields = schema.get("properties") or {}
    return [name for name in schema["required"] if not (fields.get(name) or {}).get("nullable")]


def _with_metadata(schema: Raw, definitions: Definitions) -> Raw:
    named: Raw = {
        "apiVersion": {"description": describe_field("TypeMeta", "apiVersion"), "type": "string"},
        "kind": {"description": describe_field("TypeMeta", "kind"), "type": "string"},
        "metadata": definitions.described(definitions.add_type(ObjectMeta), describe_field("ObjectMeta", "metadata")),
    }
    return {**schema, "properties": {**(schema.get("properties") or {}), **named}}
