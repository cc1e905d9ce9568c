"""Read manifests, and apply them at the start of a cluster (`--load`).

Namespaces, classes and what else others refer to come first; objects dumped from another cluster lose their UIDs,
revisions and field owners. All refusals are reported together.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from moorage.client.protocol import Client, PatchType, Raw
from moorage.cluster.cannot_start import CannotStart
from moorage.lint.sources import opened, reason_of, sources_of
from moorage.model.api_error import ApiError
from moorage.model.kind_rows.kind import CustomKind, custom_kinds
from moorage.model.kinds import KINDS, Kind, kind_of
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.older_versions import convert_document
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents
from moorage.model.types.meta import OwnerReference

#: Kinds that others refer to come first; the rest in the order of the files.
_FIRST = tuple(kind.name for kind in KINDS.values() if kind.loads_first)
#: What only the cluster that an object comes from could say of it.
_FOREIGN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")
_MAX_REFUSALS = 50
#: Documents of Moorage's commands, such as cases of `policy test` and groups of nodes: no cluster has them.
_OF_COMMANDS = ("moorage.dev", "capacity.moorage.dev")


class _Refused(Exception):
    """Why one object is not applied."""


async def load_manifests(client: Client, paths: Iterable[str], *, skips_unserved: bool = False) -> list[str]:
    """Apply all objects; return what was skipped, in lines for the user. Raises CannotStart with all refusals."""
    documents, refusals = await asyncio.to_thread(read_manifests, "--load", tuple(paths))  # Ctrl-C must not wait for it
    unserved, of_commands = Counter[str](), Counter[str]()
    kinds = _Kinds(client)
    for document in sorted(documents, key=_place):
        convert_document(document)
        kind = await kinds.find(document.raw)
        if kind is None and str(document.raw.get("apiVersion")).partition("/")[0] in _OF_COMMANDS:
            of_commands[title_of_kind(document.raw)] += 1
            continue
        if kind is None and skips_unserved:
            unserved[title_of_kind(document.raw)] += 1
            continue
        try:
            await _apply(client, document, kind)
        except _Refused as refusal:
            refusals.append(str(refusal))
    if refusals:
        raise CannotStart("\n".join(bounded(refusals)))
    skipped = (("read by commands, not by clusters", of_commands), ("not served here", unserved))
    return [f"--load: {why}, and left out: {counted(found)}" for why, found in skipped if found]


class _Kinds:
    """The kinds of the table, and those of the definitions in the cluster, once there is an object of another kind.

    Definitions are applied first, and are established when that is answered.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._custom: dict[tuple[str, str], CustomKind] | None = None

    async def find(self, raw: Raw) -> Kind | None:
        kind = kind_of(raw)
        if kind is not None or not raw.get("apiVersion") or not raw.get("kind"):
            return kind
        if self._custom is None:
            listing = await self._client.list_all(KINDS.CUSTOM_RESOURCE_DEFINITION)
            kinds = (kind for item in listing.items for kind in custom_kinds(item.raw))
            self._custom = {(kind.api_version, kind.name): kind for kind in kinds}
        return self._custom.get((raw["apiVersion"], raw["kind"]))


def bounded(lines: list[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    more = len(lines) - _MAX_REFUSALS
    return [*lines[:_MAX_REFUSALS], f"… and {more} more"] if more > 0 else lines


def counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(kinds.items()))


def title_of_kind(raw: Raw) -> str:
    return f"{raw.get('kind') or 'object without a kind'} ({raw.get('apiVersion') or 'without an apiVersion'})"


def read_manifests(option: str, paths: Iterable[str]) -> tuple[list[Document], list[str]]:
    """Return the objects of files and what cannot be read. Raises CannotStart if there is neither."""
    documents: list[Document] = []
    refusals: list[str] = []
    paths = tuple(paths)
    for source in sources_of(paths):
        if source.problem:
            refusals.append(f"{option}: {source.name}: {source.problem}")
            continue
        try:
            with opened(source) as stream:
                for document in read_documents(stream, source.name):
                    if isinstance(document, DecodeError):
                        refusals.append(f"{option}: {document}")
                    else:
                        documents.append(document)
        except OSError as error:
            refusals.append(f"{option}: {source.name}: {reason_of(error)}")
    if not documents and not refusals:
        raise CannotStart(f"{option}: {', '.join(paths)}: no objects passed to apply")
    return documents, refusals


def _place(document: Document) -> int:
    name = document.raw.get("kind")
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


async def _owning_nodes(client: Client, owners: Iterable[OwnerReference]) -> list[Raw]:
    """Return references to the nodes of those names, so that the garbage collector keeps a dumped ResourceSlice."""
    nodes = []
    for owner in owners:
        if owner.kind == KINDS.NODE.name:
            with suppress(ApiError):
                node = await client.get(KINDS.NODE, owner.name)
                reference = {
                    "apiVersion": KINDS.NODE.api_version,
                    "kind": KINDS.NODE.name,
                    "name": node.name,
                    "uid": node.uid,
                }
                nodes.append({**reference, "controller": True})
    return nodes


def _unserved(document: Document) -> str:
    """Say that no API server serves this version of the kind, and which to write; else that Moorage does not."""
    from moorage.lint.rules.decoding import kind_complaint

    complaint = kind_complaint(document) if {"apiVersion", "kind"} <= document.raw.keys() else None
    if complaint is None:
        return f"{document.raw.get('apiVersion')} {document.raw.get('kind')} is a kind that Moorage does not serve"
    return f"{complaint.message}: {complaint.hint}" if complaint.hint else complaint.message


async def _apply(client: Client, document: Document, kind: Kind | None) -> None:
    """Raises _Refused."""
    raw: Raw = document.raw
    where = f"--load: {document.source}:{document.line}"
    if kind is None:
        raise _Refused(f"{where}: {_unserved(document)} (--skip-unserved leaves it out)")
    metadata: Raw = raw.get("metadata") or {}
    try:
        known: Any = convert_view({"metadata": metadata}, kind.view)
    except ConversionError as error:
        path, reason = error.problems[0]
        raise _Refused(f"--load: {document.source}:{document.location(path).line}: {reason}") from None
    metadata = {name: value for name, value in metadata.items() if name not in _FOREIGN}
    if kind is KINDS.RESOURCE_SLICE and known.metadata.ownerReferences:
        metadata["ownerReferences"] = await _owning_nodes(client, known.metadata.ownerReferences)
    name, namespace = known.metadata.name, known.metadata.namespace or "default"
    patch = {**raw, "metadata": metadata}
    try:
        if name:
            place = namespace if kind.namespaced else ""
            await client.patch(kind, name, place, patch, patch_type=PatchType.APPLY)
        else:
            await client.create(kind, patch, namespace if kind.namespaced else "")
    except ApiError as error:
        raise _Refused(f"{where}: {error.message}") from None
