"""Find names of nodes, pods, workloads and namespaces for a line to be completed: in its files, or in the cluster.

Names are looked up while a user waits for TAB: reading is bounded by bytes and time, and whatever fails gives no names.
A line without files is completed from the cluster that its kubeconfig leads to, even if its input is piped.
Kubernetes: kubectl's own completion, which asks the cluster.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import click

    from moorage.model.kinds import Kind

_SECONDS = 1.0
_MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_NAMES = 500


class ObjectName(NamedTuple):
    """The name of an object; `namespace` is empty for objects without one."""

    namespace: str
    name: str


def object_names(context: click.Context, kind: Kind) -> list[ObjectName]:
    """Return the names of objects of a kind, sorted, some hundred at most."""
    paths = [path for name in ("paths", "files") for path in context.params.get(name) or () if path != "-"]
    found = set(_in_files(paths, kind))
    if not paths or context.params.get("kubeconfig") or context.params.get("context"):
        found |= set(_in_cluster(context, kind))
    return sorted(found)[:_MAX_NAMES]


def _in_files(paths: list[str], kind: Kind) -> Iterator[ObjectName]:
    from moorage.lint.sources import sources_of

    until = time.monotonic() + _SECONDS
    for source in sources_of(paths):
        if time.monotonic() > until:
            return
        if source.path and Path(source.path).is_file():  # reading a pipe would take what the command is to read
            yield from _in_file(Path(source.path), kind, until)


def _in_file(path: Path, kind: Kind, until: float) -> Iterator[ObjectName]:
    from moorage.model.kinds import KINDS
    from moorage.model.text.decode_error import DecodeError
    from moorage.model.text.documents import read_documents

    try:
        with path.open("rb") as file:
            stream = io.BytesIO(file.read(_MAX_FILE_BYTES))
    except OSError:
        return
    for document in read_documents(stream, str(path)):
        if time.monotonic() > until:
            return
        if isinstance(document, DecodeError):
            continue
        metadata = document.raw.get("metadata")
        about: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
        namespace = about.get("namespace")
        if kind is KINDS.NAMESPACE and isinstance(namespace, str):
            yield ObjectName("", namespace)
        if document.raw.get("kind") == kind.name and isinstance(about.get("name"), str):
            yield ObjectName(str(namespace or "default") if kind.namespaced else "", about["name"])


def _in_cluster(context: click.Context, kind: Kind) -> list[ObjectName]:
    from moorage.client.http_client import HttpClient
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.client.kubeconfig.loading import load_access
    from moorage.client.protocol import Unreachable
    from moorage.model.api_error import ApiError

    async def listed() -> list[ObjectName]:
        access = load_access(context.params.get("kubeconfig") or "", context=context.params.get("context") or "")
        client = HttpClient(access, "completion", request_seconds=_SECONDS)
        try:
            async with asyncio.timeout(_SECONDS):
                return await _names(client, kind)
        finally:
            await client.close()

    try:
        return asyncio.run(listed())
    except (KubeconfigError, Unreachable, ApiError, OSError, KeyError, TypeError, ValueError):
        return []


async def _names(client: Any, kind: Kind) -> list[ObjectName]:
    import msgspec

    base = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    answer = msgspec.json.decode(await client.get_path(f"{base}/{kind.plural}?limit={_MAX_NAMES}"))
    items = (item["metadata"] for item in answer["items"])
    return [ObjectName(metadata["namespace"] if kind.namespaced else "", metadata["name"]) for metadata in items]
