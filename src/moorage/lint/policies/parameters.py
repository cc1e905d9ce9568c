"""Keep the objects that policies may look up as parameters: ConfigMaps, custom objects and so on.

They are kept within bounds: what does not fit is not known. Policies that want it are left out, as those are whose
parameters are not in the input. An object that is looked up is completed as the API server does when it stores one.
"""

from collections.abc import Iterable

import msgspec

from moorage.admit.raw import Raw, copy_document, part
from moorage.admit.registry import row_of
from moorage.custom.objects.embedded import MalformedError
from moorage.model.kinds import CustomKind, Kind
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import kept_part
from moorage.serve.custom.served_kind import ServedKind

_MAX_BYTES = 32 * 1024 * 1024
#: Group and name of a kind, and a namespace.
_Place = tuple[str, str, str]


class Parameters:
    """Documents by kind and namespace, and then by name."""

    def __init__(self) -> None:
        self._documents: dict[_Place, dict[str, Raw]] = {}
        self._completed: dict[tuple[Kind, str, str], Raw | None] = {}
        self._bytes = 0

    def put(self, kind: Kind, namespace: str, name: str, raw: Raw) -> None:
        """Keep a document, if there is room. It may be wrong: then nothing finds it, because it could not exist."""
        self._bytes += len(msgspec.json.encode(raw))
        if self._bytes <= _MAX_BYTES:
            self._documents.setdefault(_place(kind, namespace), {})[name] = raw
            self._completed.clear()

    def find(self, kind: Kind, namespace: str, name: str) -> Raw | None:
        raw = self._documents.get(_place(kind, namespace), {}).get(name)
        if raw is None:
            return None
        key = kind, namespace, name
        if key not in self._completed:
            self._completed[key] = _completed(raw, kind, namespace)
        return self._completed[key]

    def all_of(self, kind: Kind, namespace: str) -> Iterable[Raw]:
        names = list(self._documents.get(_place(kind, namespace), ()))
        found = (self.find(kind, namespace, name) for name in names)
        return [document for document in found if document is not None]

    def copy(self) -> "Parameters":
        """Return the same documents, to which others may be added."""
        made = Parameters()
        made._documents = {place: dict(documents) for place, documents in self._documents.items()}
        made._bytes = self._bytes
        return made


def _place(kind: Kind, namespace: str) -> _Place:
    return kind.group, kind.name, namespace if kind.namespaced else ""


def _completed(raw: Raw, kind: Kind, namespace: str) -> Raw | None:
    """Return the document as it would be stored; None if it cannot be."""
    try:
        if isinstance(kind, CustomKind):
            document = copy_document(raw)
            if type(kind) is ServedKind:
                document = kind.reads(document)
        else:
            convert_view(raw, kind.view)
            document = copy_document(kept_part(raw, kind.view))
            row_of(kind).default(document)
    except (ConversionError, MalformedError):
        return None
    if kind.namespaced:
        part(document, "metadata")["namespace"] = namespace
    return document
