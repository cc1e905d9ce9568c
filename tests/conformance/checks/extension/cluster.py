"""An API server without a wire that policies and webhooks are registered on, for one case.

The objects that a file's cases have in common are made once for all of them: a case starts from a copy of that store.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

import msgspec
from tests.conformance.checks.platform.escalation import BOOTSTRAP_POLICY
from tests.conformance.checks.platform.server import Answer, PlatformServer, collection_path

from moorage.admit.objects_world import SYSTEM_NAMESPACES
from moorage.model.kinds import KINDS
from moorage.serve.access.modes import DEFAULT_MODES
from moorage.serve.pki.authentication import ADMIN, CREDENTIAL_ID
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Stored

Raw = dict[str, Any]

_METHODS = {
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "get": "GET",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")
_EVERYTHING = "/"
#: The administrator of the recording, known by a certificate.
_ADMIN = ADMIN._replace(extra={CREDENTIAL_ID: (f"X509SHA256={'0' * 64}",)})


class Cluster:
    """A server with what the cases of a file have in common. Make it with `started`."""

    _stores: ClassVar[dict[int, tuple[Sequence[Raw], list[Stored]]]] = {}

    def __init__(self, server: PlatformServer, documents: Iterable[Raw]) -> None:
        self.server = server
        self._paths = {(kind.api_version, kind.name): (kind.plural, kind.namespaced) for kind in KINDS.values()}
        self._learn(documents)

    @classmethod
    async def started(cls, common: Sequence[Raw]) -> "Cluster":
        made = cls._stores.get(id(common))
        if made is None or made[0] is not common:
            cls._stores[id(common)] = made = (common, await _store_of(common))
        store = MemoryStore()
        for stored in made[1]:
            await store.create(stored.key, stored.value)
        return cls(await _served(store), common)

    async def set_up(self, documents: Iterable[Raw]) -> str | None:
        """Create objects as the administrator, and return why one was refused."""
        for document in documents:
            self._learn((document,))
            answer = await self.make(document)
            if answer.code != 201:
                return f"{document['kind']} {document['metadata'].get('name')} of the setup is refused: {answer}"
        return None

    async def make(self, document: Raw, **query: str) -> Answer:
        """Create an object as the administrator."""
        return await self.ask("POST", self.path_of(document), msgspec.json.encode(document), query=query)

    def path_of(self, document: Raw) -> str:
        """Return where objects like a document are."""
        plural, namespaced = self._paths[document["apiVersion"], document["kind"]]
        namespace = document["metadata"].get("namespace", "default") if namespaced else ""
        return collection_path(document["apiVersion"], plural, namespace)

    async def ask(self, method: str, path: str, body: bytes = b"", **options: Any) -> Answer:
        return await self.server.ask(method, path, body, user=_ADMIN, **options)

    async def take(self, step: Raw) -> Answer:
        """Make the request of a step, as the user that it names. Changes are in effect at once: nothing settles."""
        if step["op"] == "settle":
            return Answer(200, {}, [])
        api_version, _, plural = step["resource"].rpartition("/")
        path, below = collection_path(api_version, plural, step.get("namespace", "")), step.get("subresource", "")
        where = "/".join(filter(None, (path, step.get("name") if _names_one(step) else "", below)))
        body: Any = step.get("body")
        if step["op"] == "update":
            body = await self._with_revision(body, f"{path}/{step['name']}")
        query = {name: step[name] for name in _PARAMETERS if name in step}
        query |= {"force": "true"} if step.get("force") else {}
        asked = "&".join(filter(None, (urlencode(query), step.get("query"))))
        return await self.ask(
            _METHODS.get(step["op"]) or step.get("method", "POST"),
            f"{where}?{asked}" if asked else where,
            b"" if body is None else msgspec.json.encode(body),
            content_type=_PATCHES[step["type"]] if step["op"] == "patch" else "application/json",
            headers=_impersonation(step),
        )

    async def _with_revision(self, body: Raw, path: str) -> Raw:
        """Return a body of an update with the current resourceVersion, if it has none and the object exists."""
        metadata = body.get("metadata") or {}
        if metadata.get("resourceVersion"):
            return body
        current = await self.ask("GET", path)
        if current.code != 200:
            return body
        return {**body, "metadata": {**metadata, "resourceVersion": current.document["metadata"]["resourceVersion"]}}

    def _learn(self, documents: Iterable[Raw]) -> None:
        """Note where the objects of definitions are."""
        for document in documents:
            if document["kind"] == "CustomResourceDefinition":
                spec = document["spec"]
                where = spec["names"]["plural"], spec["scope"] == "Namespaced"
                for version in spec["versions"]:
                    self._paths[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = where


async def _store_of(common: Sequence[Raw]) -> list[Stored]:
    store = MemoryStore()
    cluster = Cluster(await _served(store, *SYSTEM_NAMESPACES), common)
    if refusal := await cluster.set_up(common):
        raise ValueError(refusal)
    return (await store.list(_EVERYTHING)).items


async def _served(store: MemoryStore, *namespaces: str) -> PlatformServer:
    server = await PlatformServer.started(*namespaces, modes=DEFAULT_MODES, store=store)
    server.use_plugins(protects_storage=True)
    for kind, view in BOOTSTRAP_POLICY:
        server.api.roles.learn(kind, view)
    return server


def _names_one(step: Raw) -> bool:
    return step["op"] != "create" or "subresource" in step


def _impersonation(step: Raw) -> dict[str, str]:
    if "user" not in step:
        return {}
    groups = step.get("groups", ())
    return {"impersonate-user": step["user"], **({"impersonate-group": "\n".join(groups)} if groups else {})}
