"""Applies manifests to a cluster before clients can connect: `moorage up --load`.

Namespaces and classes come first. Objects dumped from another cluster lose their UIDs, revisions and field owners. A
manifest that cannot be read or is refused ends the start.
"""

from collections.abc import Iterable
from typing import Any

from moorage.client.protocol import Client, PatchType
from moorage.cluster.api_server import CannotStart
from moorage.lint.sources import opened, reason_of, sources_of
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, kind_of
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents

Raw = dict[str, Any]

#: Kinds that others refer to come first; the rest in the order of the files.
_FIRST = tuple(kind.name for kind in KINDS.values() if kind.loads_first)
#: What only the cluster that an object comes from could say of it.
_FOREIGN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")


async def load_manifests(client: Client, paths: Iterable[str]) -> int:
    """Apply all objects and return how many there were. Raises CannotStart."""
    documents = sorted(_read(paths), key=_place)
    for document in documents:
        await _apply(client, document)
    return len(documents)


def _read(paths: Iterable[str]) -> list[Document]:
    documents: list[Document] = []
    paths = tuple(paths)
    for source in sources_of(paths):
        if source.problem:
            raise CannotStart(f"--load: {source.name}: {source.problem}")
        try:
            with opened(source) as stream:
                for found in read_documents(stream, source.name):
                    if isinstance(found, DecodeError):
                        raise CannotStart(f"--load: {found}")
                    documents.append(found)
        except OSError as error:
            raise CannotStart(f"--load: {source.name}: {reason_of(error)}") from None
    if not documents:
        raise CannotStart(f"--load: {', '.join(paths)}: no objects passed to apply")
    return documents


def _place(document: Document) -> int:
    name = document.raw.get("kind")
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


async def _apply(client: Client, document: Document) -> None:
    raw: Raw = document.raw
    kind = kind_of(raw)
    where = f"--load: {document.source}:{document.line}"
    if kind is None:
        raise CannotStart(f"{where}: {raw.get('apiVersion')} {raw.get('kind')} is a kind that Moorage does not serve")
    metadata: Raw = raw.get("metadata") or {}
    try:
        known: Any = convert_view({"metadata": metadata}, kind.view)
    except ConversionError as error:
        path, reason = error.problems[0]
        raise CannotStart(f"--load: {document.source}:{document.location(path).line}: {reason}") from None
    metadata = {name: value for name, value in metadata.items() if name not in _FOREIGN}
    name, namespace = known.metadata.name, known.metadata.namespace or "default"
    patch = {**raw, "metadata": metadata}
    try:
        if name:
            place = namespace if kind.namespaced else ""
            await client.patch(kind, name, place, patch, patch_type=PatchType.APPLY)
        else:
            await client.create(kind, patch, namespace if kind.namespaced else "")
    except ApiError as error:
        raise CannotStart(f"{where}: {error.message}") from None
