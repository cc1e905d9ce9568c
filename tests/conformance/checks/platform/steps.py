"""The steps of a case: each is one request, made as the recording made it.

A step that needs more than a path, a body and parameters (a token, another user) is made by the check of its file.
"""

from typing import Any

import msgspec
from tests.conformance.checks.platform.server import ADMIN, Answer, PlatformServer, built_in, collection_path

from moorage.serve.pki.authentication import User

Raw = dict[str, Any]

_METHODS = {
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "apply": "PATCH",
    "status": "PATCH",
    "get": "GET",
    "table": "GET",
    "list": "GET",
    "delete": "DELETE",
}
_PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_APPLY = "application/apply-patch+yaml"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARAMETERS = ("fieldManager", "fieldValidation", "dryRun", "fieldSelector", "labelSelector")


class Resource:
    """Where the objects of one kind are: group, plural, and namespace ("" for the cluster's)."""

    def __init__(self, group: str, plural: str, namespace: str) -> None:
        self.group, self.plural, self.namespace = group, plural, namespace

    def path(self, version: str, name: str = "", subresource: str = "") -> str:
        api_version = f"{self.group}/{version}" if self.group else version
        parts = [collection_path(api_version, self.plural, self.namespace), name, subresource]
        return "/".join(part for part in parts if part)


def built_in_resource(document: Raw, namespace: str) -> tuple[Resource, str]:
    """Return where an object of a built-in kind is, and its version."""
    kind = built_in(document["apiVersion"], document["kind"])
    return Resource(kind.group, kind.plural, namespace if kind.namespaced else ""), kind.version


async def take_step(
    server: PlatformServer, step: Raw, resource: Resource, version: str = "v1", user: User = ADMIN
) -> Answer:
    """Make the request of a step."""
    operation, version = step["op"], step.get("version", version)
    body = step["raw"].encode() if "raw" in step else msgspec.json.encode(step["body"]) if "body" in step else b""
    subresource = "status" if operation == "status" else step.get("subresource", "")
    name = "" if operation in ("create", "list") and not subresource else step.get("name", "")
    query = {parameter: step[parameter] for parameter in _PARAMETERS if parameter in step}
    if step.get("force"):
        query["force"] = "true"
    path = resource.path(version, name, subresource)
    if operation == "update" and "raw" not in step:
        body = msgspec.json.encode(await _with_revision(server, step["body"], resource.path(version, name)))
    content_type = "application/json"
    if operation in ("patch", "status"):
        content_type = _PATCHES[step.get("type", "merge")]
    elif operation == "apply":
        content_type = _APPLY
    accept = _TABLE if operation == "table" else "application/json"
    return await server.ask(
        _METHODS[operation], path, body, content_type=content_type, accept=accept, query=query, user=user
    )


async def _with_revision(server: PlatformServer, body: Any, path: str) -> Any:
    """Return a body of an update with the current resourceVersion, if it has none and the object exists."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    if not isinstance(metadata, dict) or metadata.get("resourceVersion"):
        return body
    current = await server.ask("GET", path)
    if current.code != 200:
        return body
    return {**body, "metadata": {**metadata, "resourceVersion": current.document["metadata"]["resourceVersion"]}}
