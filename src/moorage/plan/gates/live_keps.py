"""Ask a live cluster for its version, and for what attach has put there to lower objects.

Kubernetes: /version; configurations of webhooks and policies are objects without a namespace. Nothing is written.
"""

import asyncio
import json
from contextlib import suppress
from typing import NamedTuple

from moorage.attach.policies.lowering import NAME
from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Client, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.plan.gates.kep_states import Lowering

_NOT_FOUND = 404
_MOST_DIGITS = 4


class LiveKeps(NamedTuple):
    """What the cluster says: the minor version and what lowers; None for what cannot be read."""

    minor: int | None
    lowering: Lowering | None


def read_keps(kubeconfig: str, context: str = "") -> LiveKeps:
    """Ask the API server. Raises KubeconfigError."""
    return asyncio.run(_ask(HttpClient(load_access(kubeconfig, context=context), "gates")))


async def _ask(client: HttpClient) -> LiveKeps:
    try:
        return await ask_keps(client)
    finally:
        await client.close()


async def ask_keps(client: HttpClient) -> LiveKeps:
    """Ask the API server behind a client."""
    return LiveKeps(await _minor(client), await lowering_of(client))


async def _minor(client: HttpClient) -> int | None:
    with suppress(ApiError, Unreachable, ValueError, KeyError, TypeError, AttributeError):
        text = str(json.loads(await client.get_path("/version"))["minor"]).rstrip("+")
        if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS:
            return int(text)
    return None


async def lowering_of(client: Client) -> Lowering | None:
    """Return what lowers new objects; None if that cannot be read."""
    known = True
    for kind, lowering in (
        (KINDS.MUTATING_WEBHOOK_CONFIGURATION, Lowering.WEBHOOK),
        (KINDS.MUTATING_ADMISSION_POLICY, Lowering.POLICY),
    ):
        try:
            await client.get(kind, NAME)
        except ApiError as error:
            known = known and error.code == _NOT_FOUND
        except Unreachable:
            known = False
        else:
            return lowering
    return Lowering.NOTHING if known else None
