"""Describe the paths of a kind in OpenAPI: operations, parameters, bodies and answers.

Paths have the parameters that clients look for: kubectl finds a kind by its path, and asks whether a patch takes
`fieldValidation` and `dryRun`. Kubernetes: the routes of go-restful. Differs: responses and parameters are described
briefly, and parameters are not shared.
"""

from moorage.client.protocol import PatchType, Raw
from moorage.model.kind_rows.kind import CustomObject
from moorage.model.kinds import CustomKind, Kind
from moorage.model.types.request import Binding, DeleteOptions, Eviction, Scale
from moorage.model.types.view import View
from moorage.serve.openapi.definitions import Definitions, custom_definition_name, definition_name, group_version_kind

_JSON = "application/json"
_PATCH_TYPES = tuple(patch_type.value for patch_type in PatchType)
_CUSTOM_PATCH_TYPES = tuple(one for one in _PATCH_TYPES if one != PatchType.STRATEGIC.value)
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
    ("limit", "integer", "At most this number of objects in a page."),
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
            if names:
                item["parameters"] = [self._parameter(name, "string", f"The {name}.", "path") for name in names]
            paths[path] = item

    def _operation(self, path: str, action: str, query: tuple[tuple[str, str, str], ...], view: type[View]) -> Raw:
        shown = self._shown(path, action, view)
        kind = group_version_kind(self.kind)
        if view is not self.kind.view:
            kind = _kind_of_view(view)
            self.definitions.found[definition_name(view)]["x-kubernetes-group-version-kind"] = [kind]
        operation: Raw = {
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
            types = _CUSTOM_PATCH_TYPES if isinstance(self.kind, CustomKind) else _PATCH_TYPES
            self._add_body(operation, {"type": "object"}, types, required=True)
        elif body is not None:
            schema = {"$ref": self._reference(body)}
            self._add_body(operation, schema, (_JSON, "application/yaml"), required=body is view)
        if self.version == 2:
            operation.setdefault("consumes", ["*/*"])
            operation["produces"] = [_JSON, "application/yaml"]
            operation["schemes"] = ["https"]
        if not operation["parameters"]:
            del operation["parameters"]  # Go's types do not tell an empty list from none
        return operation

    def _reference(self, view: type[View]) -> str:
        if isinstance(self.kind, CustomKind) and view is CustomObject:
            return self.definitions.reference(custom_definition_name(self.kind))
        return self.definitions.add_type(view)

    def _shown(self, path: str, action: str, view: type[View]) -> Raw:
        reference = self._reference(view)
        if path.endswith("/log"):
            return {"type": "string"}
        return {"$ref": f"{reference}List" if action == "list" else reference}

    def _response(self, schema: Raw) -> Raw:
        if self.version == 2:
            return {"description": "OK", "schema": schema}
        return {"content": {_JSON: {"schema": schema}}, "description": "OK"}

    def _parameter(self, name: str, kind: str, text: str, where: str) -> Raw:
        parameter: Raw = {"description": text, "in": where, "name": name}
        if where == "path":
            parameter["required"] = True
        if self.version == 2:
            return {**parameter, "type": kind, "uniqueItems": True}
        return {**parameter, "schema": {"type": kind, "uniqueItems": True}}

    def _add_body(self, operation: Raw, schema: Raw, types: tuple[str, ...], required: bool) -> None:
        if self.version == 2:
            operation["consumes"] = list(types)
            operation["parameters"].insert(0, {"in": "body", "name": "body", "required": required, "schema": schema})
        else:
            operation["requestBody"] = {"content": {kind: {"schema": schema} for kind in types}, "required": required}


def _kind_of_view(view: type[View]) -> Raw:
    package = definition_name(view).rpartition(".")[0].split(".")
    group, version = package[-2], package[-1]
    return {"group": "" if group == "core" else group, "kind": view.__name__, "version": version}


def _operation_id(path: str, action: str) -> str:
    parts = [part.strip("{}") for part in path.split("/") if part]
    return action + "".join(part[:1].upper() + part[1:].replace(".", "") for part in parts)
