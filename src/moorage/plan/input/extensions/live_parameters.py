"""Read from a live cluster what its policies look up: parameters, and roles if they ask for rights.

A policy whose parameters may not be read is left out, with a note. Kubernetes: the informers that the API server makes
for each paramKind.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.admit.extension.registered import REGISTERED_KINDS
from moorage.client.protocol import Client
from moorage.model.api_error import ApiError
from moorage.model.kind_rows.kind import custom_kinds
from moorage.model.kinds import KINDS, Kind

Raw = dict[str, Any]

_RBAC = (KINDS.CLUSTER_ROLE, KINDS.ROLE, KINDS.CLUSTER_ROLE_BINDING, KINDS.ROLE_BINDING)
_POLICIES = frozenset((KINDS.VALIDATING_ADMISSION_POLICY.name, KINDS.MUTATING_ADMISSION_POLICY.name))
REGISTERED = frozenset(kind.name for kind in REGISTERED_KINDS)


class Missing(NamedTuple):
    """A kind that could not be read, and why."""

    kind: str
    reason: str


class LiveParameters(NamedTuple):
    """What policies look up. `kinds` are the names of those of which everything was read."""

    objects: Sequence[Raw] = ()
    kinds: frozenset[str] = frozenset()
    missing: Sequence[Missing] = ()


async def read_parameters(client: Client, objects: Sequence[Raw], known: Iterable[Kind]) -> LiveParameters:
    """Read what the policies among objects need; those of `known` kinds were read before."""
    registered = [raw for raw in objects if raw["kind"] in REGISTERED]
    if not registered:
        return LiveParameters()
    reading = _Reading(client, objects, set(known))
    for raw in registered:
        kind = (raw.get("spec") or {}).get("paramKind") if raw["kind"] in _POLICIES else None
        if kind:
            await reading.read(str(kind.get("apiVersion")), str(kind.get("kind")))
    if any(b"authorizer" in msgspec.json.encode(raw) for raw in registered):
        for role in _RBAC:
            await reading.read(role.api_version, role.name)
    return LiveParameters(reading.objects, frozenset(reading.kinds), reading.missing)


class _Reading:
    """Lists kinds once each."""

    def __init__(self, client: Client, objects: Sequence[Raw], known: set[Kind]) -> None:
        self.objects: list[Raw] = []
        self.kinds = set[str]()
        self.missing: list[Missing] = []
        self._client, self._known = client, objects
        self._asked: set[tuple[str, str]] = {(kind.api_version, kind.name) for kind in known}
        self._definitions: list[Raw] | None = None

    async def read(self, api_version: str, name: str) -> None:
        """Read the objects of a kind, and if it is a custom one, its definition."""
        if (api_version, name) in self._asked:
            return
        self._asked.add((api_version, name))
        kind = KINDS.get((api_version, name)) or await self._custom_kind(api_version, name)
        found = None if kind is None else await self._list(kind)
        if found is not None:
            self.objects += found
            self.kinds.add(name)

    async def _custom_kind(self, api_version: str, name: str) -> Kind | None:
        for definition in await self._all_definitions():
            for kind in custom_kinds(definition):
                if (kind.api_version, kind.name) == (api_version, name):
                    if definition not in self._known:
                        self.objects.append(definition)
                    return kind
        return None

    async def _all_definitions(self) -> list[Raw]:
        if self._definitions is None:
            row = KINDS.CUSTOM_RESOURCE_DEFINITION
            known = [raw for raw in self._known if raw["kind"] == row.name]
            self._definitions = known or await self._list(row) or []
        return self._definitions

    async def _list(self, kind: Kind) -> list[Raw] | None:
        try:
            listing = await self._client.list_all(kind)
        except ApiError as error:
            self.missing.append(Missing(kind.name, error.message))
            return None
        return [{"apiVersion": kind.api_version, "kind": kind.name, **item.raw} for item in listing.items]
