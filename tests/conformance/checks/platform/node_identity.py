"""node_identity.json: what nodes may read and write, by the Node authorizer and the NodeRestriction plugin.

The server authorizes by Node and RBAC. Nodes and others are impersonated by the administrator, as in the recording.
"""

import asyncio
import base64
import re
from typing import Any

import msgspec
from tests.conformance.checks.platform.comparison import difference, exactly, masked
from tests.conformance.checks.platform.escalation import BOOTSTRAP_POLICY
from tests.conformance.checks.platform.server import Answer, PlatformServer, built_in, collection_path

from moorage.admit.objects_world import SYSTEM_NAMESPACES
from moorage.serve.access.modes import DEFAULT_MODES
from moorage.serve.pki.authentication import ADMIN

Raw = dict[str, Any]

NAMESPACES = ("app", "other")
_METHODS = {
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_PARAMETERS = ("fieldSelector", "labelSelector", "dryRun", "fieldManager", "gracePeriodSeconds")
_UID = re.compile(r"<uid:([^>]*)>")
_RULES = ("resourceRules", "nonResourceRules")
#: The difference of two Go structs, at the end of the refusal of a claim's status.
_DIFF = re.compile(r"(status\.quantity and status\.conditions: ).*", re.DOTALL)
_CLAIMS = ("aud", "exp", "kubernetes.io", "sub")


def check_node_identity(case: Raw) -> str | None:
    return asyncio.run(_check(case["in"], case["out"]))


async def _check(given: Raw, wanted: Raw) -> str | None:
    server = await PlatformServer.started(*SYSTEM_NAMESPACES, *NAMESPACES, modes=DEFAULT_MODES)
    server.use_plugins(protects_storage=True)
    for kind, view in BOOTSTRAP_POLICY:
        server.api.roles.learn(kind, view)
    for document in given["setup"]:
        if refusal := await _set_up(server, document):
            return f"setup: {refusal}"
    for number, (step, want) in enumerate(zip(given["steps"], wanted["steps"], strict=True)):
        answer = await _take(server, step)
        if reason := _difference(step, answer, want):
            return f"step {number} ({step['op']} {step.get('resource', '')}): {reason}"
    return None


async def _set_up(server: PlatformServer, document: Raw) -> str | None:
    created = await server.post(document)
    if created.code != 201:
        return f"{created}"
    if "status" not in document:
        return None
    kind = built_in(document["apiVersion"], document["kind"])
    metadata = document["metadata"]
    path = collection_path(kind.api_version, kind.plural, metadata["namespace"] if kind.namespaced else "")
    patch = msgspec.json.encode({"status": document["status"]})
    answer = await server.ask("PATCH", f"{path}/{metadata['name']}/status", patch, content_type=_PATCHES["merge"])
    return None if answer.code == 200 else f"{answer}"


async def _take(server: PlatformServer, step: Raw) -> Answer:
    """Make the request of a step, as the user that it names."""
    headers = {}
    if "user" in step:
        headers = {"impersonate-user": step["user"]}
        if step["groups"]:
            headers["impersonate-group"] = "\n".join(step["groups"])
    if step["op"] == "raw":
        return await server.ask(step["method"], step["path"], headers=headers, user=ADMIN)
    api_version, _, plural = step["resource"].rpartition("/")
    parts = [collection_path(api_version, plural, step.get("namespace", ""))]
    parts += [step[part] for part in ("name", "subresource") if part in step]
    path, body = "/".join(parts), b""
    if "body" in step:
        document = await _with_uids(server, step["body"])
        if step["op"] == "update":
            document = await _with_revision(server, "/".join(parts[:2]), document)
        body = msgspec.json.encode(document)
    query = {name: str(step[name]) for name in _PARAMETERS if name in step}
    if step["op"] == "watch":
        query["watch"] = "true"
    content_type = _PATCHES[step["type"]] if step["op"] == "patch" else "application/json"
    method = _METHODS[step["op"]]
    return await server.ask(method, path, body, content_type=content_type, query=query, headers=headers, user=ADMIN)


async def _with_uids(server: PlatformServer, document: Any) -> Any:
    """Return a body with the uids of the objects that it names."""
    text = msgspec.json.encode(document).decode()
    for name in set(_UID.findall(text)):
        plural, *where = name.split("/")
        namespace = where[0] if len(where) == 2 else ""
        stored = await server.ask("GET", f"{collection_path('v1', plural, namespace)}/{where[-1]}")
        text = text.replace(f"<uid:{name}>", stored.document["metadata"]["uid"])
    return msgspec.json.decode(text)


async def _with_revision(server: PlatformServer, path: str, document: Raw) -> Raw:
    stored = await server.ask("GET", path)
    if stored.code != 200 or "resourceVersion" in document["metadata"]:
        return document
    revision = stored.document["metadata"]["resourceVersion"]
    return {**document, "metadata": {**document["metadata"], "resourceVersion": revision}}


def _difference(step: Raw, answer: Answer, want: Raw) -> str | None:
    code, document = answer.code, answer.document
    if "text" in want:
        shown: Any = {"code": code, "text": document}
        return None if shown == want else f"got {shown}, want {want}"
    if code >= 400 or code != want["code"]:
        if isinstance(document, dict) and "message" in document:
            document = {**document, "message": _DIFF.sub(r"\1<diff>", document["message"])}
        return difference(answer._replace(document=document, warnings=[]), want)
    shown = _shown(step, document)
    expected = {name: value for name, value in want.items() if name != "code"}
    shown = {name: shown.get(name) for name in expected}
    return None if exactly(shown, expected) else f"got {shown}, want {expected}"


def _shown(step: Raw, document: Any) -> Raw:
    """Return what the recording shows of an answer."""
    if step["op"] == "list":
        names = (item["metadata"] for item in document["items"])
        return {"items": sorted("/".join(filter(None, (m.get("namespace"), m["name"]))) for m in names)}
    if "show" in step:
        for name in step["show"].split("."):
            document = document.get(name) if isinstance(document, dict) else None
        return {"shown": document}
    if not isinstance(document, dict):
        return {}
    status = document.get("status") or {}
    if not isinstance(status, dict):  # that of a Status
        return {}
    if "token" in status and document.get("kind") == "TokenRequest":
        return {"claims": _claims(status["token"])}
    shown = {"status": {name: value for name, value in status.items() if name not in _RULES}}
    if "userInfo" in status:
        shown["userInfo"] = status["userInfo"]
    if document.get("kind") == "CertificateSigningRequest":
        shown["spec"] = {name: document["spec"].get(name) for name in ("groups", "signerName", "username")}
    return shown


def _claims(token: str) -> Raw:
    part = token.split(".")[1]
    claims = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    claims["exp"] -= claims["iat"]
    shown = {name: claims[name] for name in _CLAIMS}
    document: Raw = msgspec.json.decode(masked(msgspec.json.encode(shown).decode()))
    return document
