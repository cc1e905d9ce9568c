"""Read the objects that a plan depends on from a live cluster, as kubectl would dump them.

Kinds that the server does not know or does not let the user list are left out, with a note; without nodes and pods it
is `NoLiveCluster`. The feature gates are read, too, where the cluster tells them. Nothing is written to the cluster.
Kubernetes: kubectl get.
"""

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Client, Unreachable
from moorage.lint.finding import Severity
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.inventory import Note
from moorage.plan.input.live_gates import LiveGates, ask_endpoints, ask_server, gate_notes, gates_in
from moorage.plan.input.reading import KnownObjects
from moorage.plan.planner import Planner

Raw = dict[str, Any]

#: Without these there is nothing to plan with.
_NEEDED = frozenset({"Node", "Pod"})
_NOT_FOUND, _FORBIDDEN = 404, 403
WANTED = tuple(kind for kind in KINDS.values() if kind.read_by_plan)
#: What `gates audit` reads, too: templates that decide about no pod's place.
PLAIN_TEMPLATES = tuple(kind for kind in KINDS.values() if kind.template and not kind.read_by_plan)
#: What manifests are read by that are applied on top.
DEFINITIONS = (KINDS.CUSTOM_RESOURCE_DEFINITION,)


class NoLiveCluster(Exception):
    """Why there is none: one line for the user."""


class Missing(NamedTuple):
    """A kind that could not be read, and why."""

    kind: str
    reason: str


class LiveCluster(NamedTuple):
    """The objects that were read, and when. `namespace` is that of the kubeconfig's context."""

    server: str
    namespace: str
    objects: list[Raw]
    missing: list[Missing]
    gates: LiveGates = LiveGates({})
    read_at: float = 0.0


def read_live_cluster(
    kubeconfig: str, context: str = "", endpoints: Collection[str] = (), more: Collection[Kind] = ()
) -> LiveCluster:
    """Read what a plan reads, objects of `more` kinds, and gates.

    `endpoints` are where components other than the API server serve metrics.

    Raises NoLiveCluster.
    """
    try:
        access = load_access(kubeconfig, context=context)
        client = HttpClient(access, "plan")
    except KubeconfigError as error:
        raise NoLiveCluster(str(error)) from None
    texts: dict[str, str] = {}
    problems: list[str] = []
    read_at = time.time()
    objects, missing = asyncio.run(_read_and_close(client, access.server, texts, problems, (*WANTED, *more)))
    ask_endpoints(endpoints, texts, problems)
    return LiveCluster(access.server, access.namespace, objects, missing, gates_in(texts, problems), read_at)


def load_live(
    planner: Planner,
    live: LiveCluster,
    wanted: Mapping[str, bool] | None = None,
    known: KnownObjects | None = None,
) -> None:
    """Make the cluster the planner's input; note what it lacks, and its gates, where others are not `wanted`."""
    planner.load_objects(live.objects, known)
    planner.inventory.is_live, planner.inventory.read_at = True, live.read_at
    for kind, why in live.missing:
        planner.inventory.notes.append(Note(Severity.WARNING, kind, f"was not read: {why}"))
    planner.inventory.notes += gate_notes(live.gates, wanted or {})


async def _read_and_close(
    client: HttpClient, server: str, texts: dict[str, str], problems: list[str], kinds: Collection[Kind]
) -> tuple[list[Raw], list[Missing]]:
    try:
        found = await read_objects(client, server, kinds)
        await ask_server(client, texts, problems)
        return found
    finally:
        await client.close()


async def read_objects(
    client: Client, server: str, kinds: Collection[Kind] = WANTED
) -> tuple[list[Raw], list[Missing]]:
    """List the objects of these kinds, by default those that a plan reads. Raises NoLiveCluster."""
    objects: list[Raw] = []
    missing: list[Missing] = []
    for kind in kinds:
        try:
            objects += await _list(client, kind)
        except ApiError as error:
            if error.code not in (_NOT_FOUND, _FORBIDDEN) or kind.name in _NEEDED:
                raise NoLiveCluster(f"{server}: {kind.plural} cannot be listed: {error.message}") from None
            if error.code == _NOT_FOUND and kind.gate is not None:
                continue
            why = "there is no such kind on the server" if error.code == _NOT_FOUND else error.message
            missing.append(Missing(kind.name, why))
        except Unreachable as error:
            why = str(error).removeprefix(f"{server}: ")
            raise NoLiveCluster(f"{server}: the API server cannot be reached: {why}") from None
    return objects, missing


async def _list(client: Client, kind: Kind) -> list[Raw]:
    """Return the objects of a kind, with the kind, which objects in lists do not name."""
    listing = await client.list_all(kind)
    return [{"apiVersion": kind.api_version, "kind": kind.name, **item.raw} for item in listing.items]
