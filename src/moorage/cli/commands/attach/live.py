"""Ask a live cluster for the commands of attach, with one line for each way in which that can fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from moorage.cli.shared import say

if TYPE_CHECKING:
    from moorage.client.http_client import HttpClient

Answer = TypeVar("Answer")
CANNOT = 2


def asked(kubeconfig: str, context: str, question: Callable[[HttpClient], Awaitable[Answer]], hint: str = "") -> Answer:
    """Return the answer of a cluster; exit if there is none. `hint` is what else can be done."""
    from moorage.attached.install.cluster_version import UnknownVersion
    from moorage.client.http_client import HttpClient
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.client.kubeconfig.loading import load_access
    from moorage.client.protocol import Unreachable
    from moorage.model.api_error import ApiError

    async def ask() -> Answer:
        client = HttpClient(load_access(kubeconfig, context=context), "attach")
        try:
            return await question(client)
        finally:
            await client.close()

    try:
        return asyncio.run(ask())
    except Unreachable as error:
        why = f"the API server cannot be reached: {error}"
    except ApiError as error:
        why = f"the API server refuses: {error.message}"
    except (KubeconfigError, UnknownVersion) as error:
        why = str(error)
    say(f"{why}{f'; {hint}' if hint else ''}")
    raise click.exceptions.Exit(CANNOT)
