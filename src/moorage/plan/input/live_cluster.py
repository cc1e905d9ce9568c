"""Read the objects that a plan depends on from a live cluster, as kubectl would dump them.

Kinds that the server does not know or does not let the user list are left out, with a note; without nodes and pods it
is `NoLiveCluster`. The feature gates are read, too, where the cluster tells them. Nothing is written to the cluster.
Kubernetes: kubectl get.
"""

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Client, Unreachable
from moorage.lint.finding import Severity
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.admitted.known_objects import KnownObjects
from moorage.plan.input.extensions.live_parameters import REGISTERED, Missing, read_parameters
from moorage.plan.input.inventory import Note
from moorage.plan.input.live_gates import LiveGates, ask_endpoints, ask_server, gate_notes, gates_in
from moorage.plan.input.live_pools import POOL_KINDS
from moorage.plan.planner import Planner

__all__ = ["LiveCluster", "Missing", "NoLiveCluster", "load_live", "read_live_cluster", "read_objects"]

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


class LiveCluster(NamedTuple):
    """The objects that were read, and when. `namespace` is that of the kubeconfig's context.

    `parameters` are the kinds that were read because policies look them up.
    """

    server: str
    namespace: str
    objects: list[Raw]
    missing: list[Missing]
    gates: LiveGates = LiveGates({})
    read_at: float = 0.0
    parameters: frozenset[str] = frozenset()


class ReadObjects(NamedTuple):
    """What was listed. `parameters` are the kinds that were read because policies look them up."""

    objects: list[Raw]
    missing: list[Missing]
    parameters: frozenset[str] = frozenset()


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
    found = asyncio.run(_read_and_close(client, access.server, texts, problems, (*WANTED, *more)))
    ask_endpoints(endpoints, texts, problems)
    gates = gates_in(texts, problems)
    return LiveCluster(access.server, access.namespace, found.objects, found.missing, gates, read_at, found.parameters)


def load_live(
    planner: Planner,
    live: LiveCluster,
    wanted: Mapping[str, bool] | None = None,
    known: KnownObjects | None = None,
) -> None:
    """Make the cluster the planner's input; note what it lacks, and its gates, where others are not `wanted`."""
    planner.load_objects(live.objects, known)
    inventory = planner.inventory
    inventory.is_live, inventory.read_at = True, live.read_at
    inventory.whole_kinds = _whole_kinds(live)
    inventory.notes += _missing_notes(live.missing)
    planner.inventory.notes += gate_notes(live.gates, wanted or {})


def _whole_kinds(live: LiveCluster) -> frozenset[str]:
    """Return the kinds of which everything was read."""
    return (live.parameters | {kind.name for kind in WANTED}) - {missing.kind for missing in live.missing}


def _missing_notes(missing: Collection[Missing]) -> Iterator[Note]:
    """Note the kinds that were not read; those of policies and webhooks together."""
    registered = [one for one in missing if one.kind in REGISTERED]
    for kind, why in missing:
        if kind not in REGISTERED:
            yield Note(Severity.WARNING, kind, f"was not read: {why}")
    if registered:
        kinds = " and ".join(one.kind for one in registered)
        text = f"{kinds} were not read, so that they are not applied: {registered[0].reason}"
        yield Note(Severity.WARNING, "", text)


async def _read_and_close(
    client: HttpClient, server: str, texts: dict[str, str], problems: list[str], kinds: Collection[Kind]
) -> ReadObjects:
    try:
        found = await read_objects(client, server, kinds)
        await ask_server(client, texts, problems)
        return found
    finally:
        await client.close()


async def read_objects(client: Client, server: str, kinds: Collection[Kind] = WANTED) -> ReadObjects:
    """List the objects of these kinds, by default those that a plan reads, and what policies among them look up.

    Raises NoLiveCluster.
    """
    objects: list[Raw] = []
    missing: list[Missing] = []
    for kind in kinds:
        try:
            objects += await _list(client, kind)
        except ApiError as error:
            if kind.name in REGISTERED:
                if error.code != _NOT_FOUND:  # older releases have no such kinds
                    missing.append(Missing(kind.name, error.message))
                continue
            if error.code not in (_NOT_FOUND, _FORBIDDEN) or kind.name in _NEEDED:
                raise NoLiveCluster(f"{server}: {kind.plural} cannot be listed: {error.message}") from None
            if error.code == _NOT_FOUND and (kind.gate is not None or kind in POOL_KINDS):
                continue
            why = "there is no such kind on the server" if error.code == _NOT_FOUND else error.message
            missing.append(Missing(kind.name, why))
        except Unreachable as error:
            why = str(error).removeprefix(f"{server}: ")
            raise NoLiveCluster(f"{server}: the API server cannot be reached: {why}") from None
    try:
        parameters = await read_parameters(client, objects, kinds)
    except Unreachable as error:
        why = str(error).removeprefix(f"{server}: ")
        raise NoLiveCluster(f"{server}: the API server cannot be reached: {why}") from None
    return ReadObjects([*objects, *parameters.objects], [*missing, *parameters.missing], parameters.kinds)


async def _list(client: Client, kind: Kind) -> list[Raw]:
    """Return the objects of a kind, with the kind, which objects in lists do not name."""
    listing = await client.list_all(kind)
    return [{"apiVersion": kind.api_version, "kind": kind.name, **item.raw} for item in listing.items]
