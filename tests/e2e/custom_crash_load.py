"""Writers of definitions, custom objects and role bindings, who remember what they were told: for crashes.

In: a way to reach the server. Out: complaints in the form of failed assertions. See `crash_load`.
"""

import asyncio
import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.e2e.crash_load import Writer
from tests.e2e.wire_client import Access, Answer, WireClient

Raw = dict[str, Any]

GROUP, QUOTA = "harbour.test", "harbour"
BOATS = f"/apis/{GROUP}/v1/namespaces/default/boats"
COUNT = f"count/boats.{GROUP}"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
_CORE = "/api/v1/namespaces/default"
_QUOTA = f"{_CORE}/resourcequotas/{QUOTA}"
_JSON = {"Content-Type": "application/json"}
_MERGE = {"Content-Type": "application/merge-patch+json"}
_LOST = (OSError, EOFError)
_TRIES, _PAUSE = 600, 0.1
_NAME = {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}
_CREW = {**_NAME, "maxItems": 100, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
_RULE = {"rule": "self.size() < 50", "message": "too many for a boat"}


def definition(plural: str) -> Raw:
    kind = plural.capitalize()
    crew = {**_CREW, "x-kubernetes-validations": [_RULE]}
    spec = {"type": "object", "properties": {"crew": crew, "flag": {"type": "string", "default": "blue"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    versions = [{"name": f"v{n}", "served": True, "storage": n == 1, "schema": schema} for n in (1, 2)]
    names = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }


async def post(client: WireClient, path: str, document: Raw) -> Answer:
    answer = await client.ask("POST", path, json.dumps(document).encode(), _JSON)
    assert answer.status == 201, answer
    return answer


async def eventually(ask: Callable[[], Any], what: str) -> None:
    """Wait until an awaited answer is true; controllers need a moment after a start."""
    for _ in range(_TRIES):
        if await ask():
            return
        await asyncio.sleep(_PAUSE)
    raise AssertionError(what)


async def prepare(client: WireClient) -> None:
    """Define boats, limit them, and make an account and a role that may list them."""
    await post(client, _DEFINITIONS, definition("boats"))
    quota = {"metadata": {"name": QUOTA}, "spec": {"hard": {COUNT: "100000"}}}
    await post(client, f"{_CORE}/resourcequotas", {"apiVersion": "v1", "kind": "ResourceQuota", **quota})
    await post(
        client,
        f"{_CORE}/serviceaccounts",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sailor"}},
    )
    rule = {"apiGroups": [GROUP], "resources": ["boats"], "verbs": ["list"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "sailor"}}
    await post(client, f"{_RBAC}/roles", {**role, "rules": [rule]})
    await eventually(lambda: _is_counted(client), "the quota is never counted")


async def _is_counted(client: WireClient) -> bool:
    return COUNT in ((await client.ask("GET", _QUOTA)).json.get("status") or {}).get("used", {})


class BoatWriter(Writer):
    """Creates, changes and deletes custom objects."""

    def _path(self, name: str = "") -> str:
        return BOATS + (f"/{name}" if name else "")

    def _document(self, name: str, count: int) -> Raw:
        metadata = {"name": name, "annotations": {"count": str(count)}}
        crew = [{"name": f"n{number}"} for number in range(count % 40)]
        return {"apiVersion": f"{GROUP}/v1", "kind": "Boats", "metadata": metadata, "spec": {"crew": crew}}


class DefinitionWriter:
    """Defines kinds, makes an object of each, and deletes some again."""

    def __init__(self, seed: int, acknowledged: Callable[[], None]) -> None:
        #: By plural, what was last acknowledged: "", "defined", "used" or "deleted"; and whether more was asked for.
        self.known: dict[str, str] = {}
        self._asked: set[str] = set()
        self._random = Random(seed)
        self._acknowledged = acknowledged

    async def run(self, access: Access) -> None:
        async with WireClient(access) as client:
            try:
                while True:
                    await self._write(client)
                    self._acknowledged()
            except _LOST:
                return

    async def _write(self, client: WireClient) -> None:
        used = [plural for plural, state in self.known.items() if state == "used" and plural not in self._asked]
        if len(used) > 3:
            plural = self._random.choice(used)
            await self._step(plural, "deleted", client.ask("DELETE", f"{_DEFINITIONS}/{plural}.{GROUP}"))
            return
        plural = f"kinds{len(self.known)}"
        self.known[plural] = ""
        await self._step(plural, "defined", post(client, _DEFINITIONS, definition(plural)))
        body = {"apiVersion": f"{GROUP}/v1", "kind": plural.capitalize(), "metadata": {"name": "first"}}
        await self._step(plural, "used", post(client, _objects(plural), body))

    async def _step(self, plural: str, state: str, asking: Any) -> None:
        self._asked.add(plural)
        answer: Answer = await asking
        assert answer.status in (200, 201), answer
        self._asked.discard(plural)
        self.known[plural] = state

    async def check(self, client: WireClient) -> None:
        """Whatever was defined is established and served at once; what was deleted goes, with its objects."""
        for plural, state in self.known.items():
            found = await client.ask("GET", f"{_DEFINITIONS}/{plural}.{GROUP}")
            is_sure = plural not in self._asked
            if state in ("defined", "used") and is_sure:
                assert found.status == 200, (plural, state, found)
                conditions = {one["type"]: one["status"] for one in found.json["status"]["conditions"]}
                assert conditions["Established"] == "True", conditions
                names = await self._names(client, plural)
                assert (names == ["first"]) if state == "used" else names in ([], ["first"]), (plural, names)
            elif state == "deleted":
                await self._is_gone(client, plural)
            if not is_sure:
                await self._settle(client, plural, found)

    async def _settle(self, client: WireClient, plural: str, found: Answer) -> None:
        """Find out what became of a request without an answer."""
        self._asked.discard(plural)
        if found.status == 404 or "deletionTimestamp" in found.json["metadata"]:
            assert self.known[plural] != "defined", f"{plural} was acknowledged and is lost"
            await self._is_gone(client, plural)
            self.known[plural] = "deleted"
        elif await self._names(client, plural) == ["first"]:
            self.known[plural] = "used"
        else:
            assert self.known[plural] != "used", f"the object of {plural} was acknowledged and is lost"
            self.known[plural] = "defined"

    async def _is_gone(self, client: WireClient, plural: str) -> None:
        async def gone() -> bool:
            definition_found = (await client.ask("GET", f"{_DEFINITIONS}/{plural}.{GROUP}")).status
            return definition_found == 404 and (await client.ask("GET", _objects(plural))).status == 404

        await eventually(gone, f"{plural} is never gone")

    async def _names(self, client: WireClient, plural: str) -> list[str]:
        answer = await client.ask("GET", _objects(plural, "v2"))
        assert answer.status == 200, (plural, answer)
        for item in answer.json["items"]:
            assert item["apiVersion"] == f"{GROUP}/v2"
        return [item["metadata"]["name"] for item in answer.json["items"]]


def _objects(plural: str, version: str = "v1") -> str:
    return f"/apis/{GROUP}/{version}/namespaces/default/{plural}"


class BindingWriter:
    """Grants and withdraws a role, again and again."""

    def __init__(self, acknowledged: Callable[[], None]) -> None:
        self._acknowledged = acknowledged
        self.is_granted: bool | None = False
        self.token = ""

    async def run(self, access: Access) -> None:
        async with WireClient(access) as client:
            try:
                if not self.token:
                    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
                    answer = await post(client, f"{_CORE}/serviceaccounts/sailor/token", body)
                    self.token = answer.json["status"]["token"]
                while True:
                    await self._flip(client)
                    self._acknowledged()
                    await self._agrees(client)
            except _LOST:
                return

    async def _flip(self, client: WireClient) -> None:
        before, self.is_granted = self.is_granted, None
        if before:
            answer = await client.ask("DELETE", f"{_RBAC}/rolebindings/sailor")
            assert answer.status == 200, answer
        else:
            subject = {"kind": "ServiceAccount", "name": "sailor", "namespace": "default"}
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "sailor"}
            binding = {"metadata": {"name": "sailor"}, "subjects": [subject], "roleRef": reference}
            kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding"}
            await post(client, f"{_RBAC}/rolebindings", {**kind, **binding})
        self.is_granted = not before

    async def _agrees(self, client: WireClient) -> None:
        answer = await client.ask("GET", f"{BOATS}?limit=1", headers={"Authorization": f"Bearer {self.token}"})
        assert answer.status == (200 if self.is_granted else 403), (self.is_granted, answer)

    async def check(self, client: WireClient) -> None:
        if not self.token:
            return
        if self.is_granted is None:
            self.is_granted = (await client.ask("GET", f"{_RBAC}/rolebindings/sailor")).status == 200
        await self._agrees(client)


async def check_quota(client: WireClient) -> None:
    """What is used is what there is, after a moment; and the limit holds."""
    limited = {"hard": {COUNT: "0"}}
    answer = await client.ask("PATCH", _QUOTA, json.dumps({"spec": limited}).encode(), _MERGE)
    assert answer.status == 200, answer
    page = (await client.ask("GET", f"{BOATS}?limit=1")).json  # a long page would come in chunks
    there = len(page["items"]) + page["metadata"].get("remainingItemCount", 0)

    async def is_right() -> bool:
        status = (await client.ask("GET", _QUOTA)).json["status"]
        return bool(status["used"].get(COUNT) == str(there) and status["hard"][COUNT] == "0")

    await eventually(is_right, f"the quota never says {there}")
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Boats", "metadata": {"name": "more"}}
    answer = await client.ask("POST", BOATS, json.dumps(body).encode(), _JSON)
    assert answer.status == 403, answer
    assert b"exceeded quota" in answer.body
    unlimited = {"hard": {COUNT: "100000"}}
    await client.ask("PATCH", _QUOTA, json.dumps({"spec": unlimited}).encode(), _MERGE)

    async def is_unlimited() -> bool:
        status = (await client.ask("GET", _QUOTA)).json["status"]
        return bool(status["hard"][COUNT] != "0")

    await eventually(is_unlimited, "the quota is never unlimited again")
