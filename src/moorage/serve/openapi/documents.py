"""Render the OpenAPI documents, each once: `/openapi/v2`, `/openapi/v3` and the documents that its index names.

The addresses of the latter carry a hash, so that clients may keep them. Paths have the parameters that clients look
for: kubectl finds a kind by its path, and asks whether a patch takes `fieldValidation` and `dryRun`. Kubernetes:
kube-openapi's handlers, the routes of go-restful. Differs: version 3 is JSON only, also for clients that prefer
protobuf; responses and parameters are described briefly, and parameters are not shared.
"""

import hashlib
from functools import lru_cache

import msgspec

from moorage.client.protocol import PatchType, Raw
from moorage.model.kinds import Kind
from moorage.model.types.request import Binding, DeleteOptions, Eviction, Scale
from moorage.model.types.view import View
from moorage.serve.openapi.definitions import Definitions, definition_name, group_version_kind
from moorage.serve.openapi.older_types import in_older_version
from moorage.serve.openapi.protobuf_document import render_protobuf

_JSON = "application/json"
_PATCH_TYPES = tuple(patch_type.value for patch_type in PatchType)
_DRY_RUN = ("dryRun", "string", "All: do everything but store the result.")
_MANAGER = ("fieldManager", "string", "Who makes the change; owner of the fields that it sets.")
_VALIDATION = ("fieldValidation", "string", "What to do about unknown and repeated fields: Ignore, Warn or Strict.")
_FORCE = ("force", "boolean", "Take over fields that others own. For apply only.")
_WRITING = (_DRY_RUN, _MANAGER, _VALIDATION)
_LISTING = (
    ("allowWatchBookmarks", "boolean", "Send bookmarks in a watch."),
    ("continue", "string", "Go on with a list from where the last page ended."),
    ("fieldSelector", "string", "Only objects whose fields match."),
    ("labelSelector", "string", "Only objects whose labels match."),
    ("limit", "integer", "At most so many objects in a page."),
    ("resourceVersion", "string", "The revision that the answer must have, or at least have."),
    ("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
    ("sendInitialEvents", "boolean", "Start a watch with all that there is."),
    ("timeoutSeconds", "integer", "End a watch after so long."),
    ("watch", "boolean", "Send changes as they happen instead of a list."),
)
_DELETING = (
    _DRY_RUN,
    ("gracePeriodSeconds", "integer", "How long the object has to end; 0 is at once."),
    ("orphanDependents", "boolean", "Replaced by propagationPolicy."),
    ("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
)
_SUBRESOURCE_VIEWS: dict[str, type[View]] = {"binding": Binding, "eviction": Eviction, "scale": Scale}
#: Verb → HTTP method, what the operation is called, its query.
_ON_COLLECTION = {
    "list": ("get", "list", _LISTING),
    "create": ("post", "post", _WRITING),
    "deletecollection": ("delete", "deletecollection", (*_LISTING[1:7], *_DELETING)),
}
_ON_OBJECT = {
    "get": ("get", "get", ()),
    "update": ("put", "put", _WRITING),
    "patch": ("patch", "patch", (*_WRITING, _FORCE)),
    "delete": ("delete", "delete", _DELETING),
}


def add_paths(paths: dict[str, Raw], definitions: Definitions, kind: Kind) -> None:
    verbs = kind.verbs
    base = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    scoped = f"{base}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{base}/{kind.plural}"
    maker = _Maker(definitions, kind)
    maker.add(paths, scoped, verbs, _ON_COLLECTION, kind.view)
    if kind.namespaced:
        listing = tuple(verb for verb in verbs if verb == "list")
        maker.add(paths, f"{base}/{kind.plural}", listing, _ON_COLLECTION, kind.view)
    maker.add(paths, f"{scoped}/{{name}}", verbs, _ON_OBJECT, kind.view)
    for sub in kind.subresources:
        view = _SUBRESOURCE_VIEWS.get(sub.name, kind.view)
        methods = _ON_COLLECTION if sub.verbs == ("create",) else _ON_OBJECT
        maker.add(paths, f"{scoped}/{{name}}/{sub.name}", sub.verbs, methods, view)


class _Maker:
    """Makes the operations of one kind for a version of OpenAPI."""

    def __init__(self, definitions: Definitions, kind: Kind) -> None:
        self.definitions = definitions
        self.kind = kind
        self.version = definitions.version

    def add(self, paths: dict[str, Raw], path: str, verbs: tuple[str, ...], methods: Raw, view: type[View]) -> None:
        item: Raw = {}
        for verb, (method, action, query) in methods.items():
            if verb in verbs:
                item[method] = self._operation(path, action, query, view)
        if item:
            names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
            item["parameters"] = [self._parameter(name, "string", f"The {name}.", "path") for name in names]
            paths[path] = item

    def _operation(self, path: str, action: str, query: tuple[tuple[str, str, str], ...], view: type[View]) -> Raw:
        shown = self._shown(path, action, view)
        kind = group_version_kind(self.kind)
        if view is not self.kind.view:
            kind = _kind_of_view(view)
            self.definitions.found[definition_name(view)]["x-kubernetes-group-version-kind"] = [kind]
        made: Raw = {
            "description": f"{action} {kind['kind']}",
            "operationId": _operation_id(path, action),
            "parameters": [self._parameter(name, kind_of, text, "query") for name, kind_of, text in query],
            "responses": {"200": self._response(shown), "401": {"description": "Unauthorized"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
        }
        body: type[View] | None = {"post": view, "put": view}.get(action)
        if action.startswith("delete"):
            body = DeleteOptions
        if action == "patch":
            self._add_body(made, {"type": "object"}, _PATCH_TYPES, required=True)
        elif body is not None:
            schema = {"$ref": self.definitions.add_type(body)}
            self._add_body(made, schema, (_JSON, "application/yaml"), required=body is view)
        if self.version == 2:
            made.setdefault("consumes", ["*/*"])
            made["produces"] = [_JSON, "application/yaml"]
            made["schemes"] = ["https"]
        return made

    def _shown(self, path: str, action: str, view: type[View]) -> Raw:
        reference = self.definitions.add_type(view)
        if path.endswith("/log"):
            return {"type": "string"}
        return {"$ref": f"{reference}List" if action == "list" else reference}

    def _response(self, schema: Raw) -> Raw:
        if self.version == 2:
            return {"description": "OK", "schema": schema}
        return {"content": {_JSON: {"schema": schema}}, "description": "OK"}

    def _parameter(self, name: str, kind: str, text: str, where: str) -> Raw:
        made: Raw = {"description": text, "in": where, "name": name}
        if where == "path":
            made["required"] = True
        if self.version == 2:
            return {**made, "type": kind, "uniqueItems": True}
        return {**made, "schema": {"type": kind, "uniqueItems": True}}

    def _add_body(self, made: Raw, schema: Raw, types: tuple[str, ...], required: bool) -> None:
        if self.version == 2:
            made["consumes"] = list(types)
            made["parameters"].insert(0, {"in": "body", "name": "body", "required": required, "schema": schema})
        else:
            made["requestBody"] = {"content": {kind: {"schema": schema} for kind in types}, "required": required}


def _kind_of_view(view: type[View]) -> Raw:
    package = definition_name(view).rpartition(".")[0].split(".")
    group, version = package[-2], package[-1]
    return {"group": "" if group == "core" else group, "kind": view.__name__, "version": version}


def _operation_id(path: str, action: str) -> str:
    parts = [part.strip("{}") for part in path.split("/") if part]
    return action + "".join(part[:1].upper() + part[1:].replace(".", "") for part in parts)


_INFO = {"title": "Moorage", "version": "v1.36"}
_ENCODER = msgspec.json.Encoder(order="deterministic")


@lru_cache(maxsize=64)
def etag_of(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest().upper()


@lru_cache(maxsize=2)
def openapi_v2(kinds: tuple[Kind, ...]) -> bytes:
    definitions, paths = _all_contents(kinds, 2)
    return _ENCODER.encode(
        {
            "definitions": definitions,
            "info": _INFO,
            "paths": paths,
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
    )


@lru_cache(maxsize=2)
def openapi_v2_protobuf(kinds: tuple[Kind, ...]) -> bytes:
    """The same, for clients that ask for `protobuf_document.MEDIA_TYPE`."""
    return render_protobuf(msgspec.json.decode(openapi_v2(kinds)))


@lru_cache(maxsize=2)
def openapi_v3_index(kinds: tuple[Kind, ...]) -> bytes:
    """Which documents there are: one for each group and version."""
    paths: Raw = {}
    for group_version in sorted({kind.api_version for kind in kinds} | _older_versions(kinds)):
        place = f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"
        document = openapi_v3(group_version, kinds) or b""
        paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={etag_of(document)}"}
    return _ENCODER.encode({"paths": paths})


@lru_cache(maxsize=64)
def openapi_v3(group_version: str, kinds: tuple[Kind, ...]) -> bytes | None:
    """The document of a group and version ("v1", "apps/v1"), or None if no kind is of it."""
    of_group = tuple(kind for kind in kinds if kind.api_version == group_version)
    if group_version in _older_versions(kinds):
        made = _older_contents(group_version, kinds, 3)
    elif of_group:
        made = _contents(of_group, 3)
    else:
        return None
    definitions, paths = made
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
