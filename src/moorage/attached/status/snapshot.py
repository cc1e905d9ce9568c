"""Read what the checks look at from a live cluster: the installation, all nodes, and what is or was lowered.

Objects in which no name of attach stands are dropped as they come, so that a large cluster costs no memory.
Kubernetes: /version, /metrics and lists. Differs: what may not be read, or is not served, is noted and not an error.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from moorage.attach.formats import DOMAIN
from moorage.attached import names
from moorage.attached.controller.lowered_pods import TEMPLATE_KINDS
from moorage.attached.install.cluster_version import read_version
from moorage.attached.native import native_operators
from moorage.client.http_client import HttpClient
from moorage.client.protocol import Object
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.live_gates import LiveGates, ask_server, gates_in

Raw = dict[str, Any]

NOT_FOUND: Final = 404
_MARK: Final = DOMAIN.encode()
#: Kinds with objects that are lowered, or that keep what was.
LOWERED_KINDS: Final[tuple[Kind, ...]] = (KINDS.POD, *TEMPLATE_KINDS, KINDS.CONTROLLER_REVISION)
#: Kinds of the installation that have no namespace, and those in its namespace.
_CLUSTER_KINDS: Final[tuple[Kind, ...]] = (
    KINDS.MUTATING_ADMISSION_POLICY,
    KINDS.MUTATING_ADMISSION_POLICY_BINDING,
    KINDS.MUTATING_WEBHOOK_CONFIGURATION,
    KINDS.CLUSTER_ROLE,
    KINDS.CLUSTER_ROLE_BINDING,
    KINDS.NAMESPACE,
)
_NAMESPACE_KINDS: Final[tuple[Kind, ...]] = (
    KINDS.SERVICE,
    KINDS.SERVICE_ACCOUNT,
    KINDS.ROLE,
    KINDS.ROLE_BINDING,
    KINDS.POD_DISRUPTION_BUDGET,
)


class Snapshot(msgspec.Struct):
    """What was read at `now`. `unread` has the reason for each kind that could not be listed, by its plural.

    `objects` has those of kinds that may be lowered only if they name attach, and all others of their kinds.
    """

    namespace: str
    now: float
    version: str = ""
    minor: int = 0
    gates: LiveGates = LiveGates({})
    objects: dict[Kind, list[Object]] = {}
    totals: dict[Kind, int] = {}
    unread: dict[str, str] = {}

    def of(self, kind: Kind) -> list[Object]:
        return self.objects.get(kind, [])

    def find(self, kind: Kind, name: str, namespace: str = "") -> Raw | None:
        """Return the document of an object; None if it is not there."""
        key = f"{namespace}/{name}" if namespace else name
        return next((each.raw for each in self.of(kind) if each.key == key), None)

    @property
    def native(self) -> frozenset[str]:
        """Return the operators that the cluster knows."""
        return native_operators(self.gates)

    def why_unread(self, *kinds: Kind) -> str:
        """Return why one of these kinds could not be read; empty if all were."""
        return next((self.unread[kind.plural] for kind in kinds if kind.plural in self.unread), "")


async def read_snapshot(client: HttpClient, namespace: str) -> Snapshot:
    """Read everything. Raises Unreachable, ApiError if the API server refuses even its version, UnknownVersion."""
    minor, version = await read_version(client)
    snapshot = Snapshot(namespace, time.time(), version, minor)
    lists = [_list(client, snapshot, kind) for kind in (*_CLUSTER_KINDS, KINDS.NODE, *LOWERED_KINDS)]
    lists += [_list(client, snapshot, kind, namespace) for kind in _NAMESPACE_KINDS]
    gets = [
        _get(client, snapshot, kind, name, namespace)
        for kind, name in (
            (KINDS.LEASE, names.CONTROLLER),
            (KINDS.SECRET, names.CERTIFICATES),
        )
    ]
    await asyncio.gather(_read_gates(client, snapshot), *lists, *gets)
    return snapshot


async def _read_gates(client: HttpClient, snapshot: Snapshot) -> None:
    texts: dict[str, str] = {}
    problems: list[str] = []
    await ask_server(client, texts, problems)
    snapshot.gates = gates_in(texts, problems)


async def _list(client: HttpClient, snapshot: Snapshot, kind: Kind, namespace: str = "") -> None:
    try:
        listing = await client.list_all(kind, namespace)
    except ApiError as error:
        if error.code != NOT_FOUND:
            snapshot.unread[kind.plural] = error.message
        return
    snapshot.totals[kind] = len(listing.items)
    snapshot.objects[kind] = list(kept(kind, listing.items))


def kept(kind: Kind, items: Iterable[Object]) -> Iterable[Object]:
    """Yield the objects that checks look at."""
    if kind not in LOWERED_KINDS:
        return items
    return (each for each in items if not each.body or _MARK in each.body)


async def _get(client: HttpClient, snapshot: Snapshot, kind: Kind, name: str, namespace: str) -> None:
    try:
        snapshot.objects[kind] = [await client.get(kind, name, namespace)]
    except ApiError as error:
        if error.code != NOT_FOUND:
            snapshot.unread[kind.plural] = error.message
