"""Read the state of another cluster: from its API server by a context, or from what `kubectl get … -A -o yaml` printed.

Everything is read that Moorage serves, but for Secrets, which nothing here needs. Kinds that the other cluster has and
Moorage does not serve are counted. Nothing is written to the other cluster.
"""

import asyncio
from collections import Counter
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Raw, Unreachable
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.transfer.manifests import bounded, read_manifests, title_of_kind
from moorage.model.api_error import ApiError
from moorage.model.kind_rows.kind import stored_kind
from moorage.model.kinds import KINDS, OLDER_VERSIONS
from moorage.model.schema.older_versions import convert_document

_OPTION = "--from"
_NEEDED = frozenset({"Node", "Pod"})
#: Both APIs of events show the same objects.
NOT_READ = frozenset({("v1", "Secret"), ("events.k8s.io/v1", "Event")})
_SERVED = {(kind.group, kind.name) for kind in (*KINDS.values(), *OLDER_VERSIONS.values())} | {
    ("metrics.k8s.io", "NodeMetrics"),
    ("metrics.k8s.io", "PodMetrics"),
}


class Foreign(NamedTuple):
    """An object of the other cluster, and where it was found."""

    raw: Raw
    where: str


class OtherCluster(NamedTuple):
    """What was read; `unserved` counts what Moorage does not serve, `notes` are lines for the user."""

    objects: list[Foreign]
    unserved: Counter[str]
    notes: list[str]


async def read_other_cluster(source: str) -> OtherCluster:
    """Read a file, a directory or standard input (-), or the context if there is no such file. Raises CannotStart."""
    if source == "-" or Path(source).exists():
        return await asyncio.to_thread(_read_files, source)
    try:
        access = load_access(context=source)
        client = HttpClient(access, "from")
    except KubeconfigError as error:
        raise CannotStart(f"{_OPTION}: {source} is neither a file nor a context: {error}") from None
    try:
        return await read_live(client, access.server)
    except Unreachable as error:
        raise CannotStart(f"{_OPTION}: the API server cannot be reached: {error}") from None
    except KubeconfigError as error:
        raise CannotStart(f"{_OPTION}: {error}") from None
    finally:
        await client.close()


def _read_files(source: str) -> OtherCluster:
    documents, refusals = read_manifests(_OPTION, (source,))
    if refusals:
        raise CannotStart("\n".join(bounded(refusals)))
    other = OtherCluster([], Counter(), [])
    defined = {name for document in documents for name in _names_of(document.raw)}
    for document in documents:
        convert_document(document)
        raw = document.raw
        if (raw.get("apiVersion"), raw.get("kind")) in KINDS or _defined_name(raw) in defined:
            other.objects.append(Foreign(raw, f"{document.source}:{document.line}"))
        else:
            other.unserved[title_of_kind(raw)] += 1
    return other


async def read_live(client: HttpClient, server: str) -> OtherCluster:
    """Raises CannotStart, Unreachable."""
    other = OtherCluster([], Counter(), [])
    for (version, name), kind in KINDS.items():
        if (version, name) in NOT_READ:
            continue
        try:
            listing = await client.list_all(kind)
        except ApiError as error:
            if name in _NEEDED:
                raise CannotStart(f"{_OPTION}: {server}: {kind.plural} cannot be listed: {error.message}") from None
            if error.code != 404:
                other.notes.append(f"{_OPTION}: {kind.plural} were not read: {error.message}")
            continue
        other.objects.extend(
            Foreign({"apiVersion": version, "kind": name, **item.raw}, server) for item in listing.items
        )
    defined = set()
    for raw in [
        foreign.raw for foreign in other.objects if foreign.raw["kind"] == KINDS.CUSTOM_RESOURCE_DEFINITION.name
    ]:
        if (custom := stored_kind(raw)) is not None:
            defined.add((custom.group, custom.name))
            listing = await client.list_all(custom)
            about = {"apiVersion": custom.api_version, "kind": custom.name}
            other.objects.extend(Foreign({**about, **item.raw}, server) for item in listing.items)
    other.unserved.update(await _count_unserved(client, defined))
    return other


def _names_of(raw: Raw) -> list[tuple[str, str]]:
    """Return the API versions and kinds that a document defines, if it is a custom resource definition."""
    if (raw.get("apiVersion"), raw.get("kind")) != (
        KINDS.CUSTOM_RESOURCE_DEFINITION.api_version,
        KINDS.CUSTOM_RESOURCE_DEFINITION.name,
    ):
        return []
    try:
        spec = raw["spec"]
        return [(f"{spec['group']}/{version['name']}", spec["names"]["kind"]) for version in spec["versions"]]
    except (KeyError, TypeError):
        return []  # it is refused with the reason when it is imported


def _defined_name(raw: Raw) -> tuple[str, str]:
    return str(raw.get("apiVersion")), str(raw.get("kind"))


async def _count_unserved(client: HttpClient, defined: Container[tuple[str, str]]) -> Counter[str]:
    """Count the objects of kinds that Moorage does not serve, as far as the other server tells."""
    counts: Counter[str] = Counter()
    for path, version in await _group_versions(client):
        for resource in (await _get(client, path)).get("resources") or []:
            name, kind = resource.get("name", ""), resource.get("kind", "")
            if "/" in name or "list" not in (resource.get("verbs") or []):
                continue
            group = version.rpartition("/")[0]
            if (group, kind) in _SERVED or (group, kind) in defined or kind == "ComponentStatus":
                continue
            page = await _get(client, f"{path}/{name}?limit=1")
            items = len(page.get("items") or []) + int((page.get("metadata") or {}).get("remainingItemCount") or 0)
            if items:
                counts[f"{kind} ({version})"] += items
    return counts


async def _group_versions(client: HttpClient) -> list[tuple[str, str]]:
    """Return the path and the name of the preferred version of each group."""
    groups = (await _get(client, "/apis")).get("groups") or []
    versions = [(group.get("preferredVersion") or {}).get("groupVersion") for group in groups]
    return [("/api/v1", "v1"), *((f"/apis/{version}", version) for version in versions if version)]


async def _get(client: HttpClient, path: str) -> dict[str, Any]:
    """Return a document of the server; an empty one if the server has no such path."""
    try:
        return msgspec.json.decode(await client.get_path(path), type=dict[str, Any])
    except (ApiError, msgspec.MsgspecError):
        return {}
