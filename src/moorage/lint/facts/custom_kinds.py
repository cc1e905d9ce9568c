"""Keep the kinds that definitions of the input add, and the objects whose definition has not come yet.

They are held, bounded in number and size; those that do not fit are skipped like objects without a definition.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from moorage.admit.kinds.api_server.custom_objects import CustomRules
from moorage.admit.raw import Raw
from moorage.custom.structural import SchemaTooDeepError, schema_of_version
from moorage.model.kind_rows.kind import CustomKind, kind_facts
from moorage.model.text.documents import Document

_MAX_HELD = 10_000
_MAX_HELD_BYTES = 32 * 1024 * 1024


class DefinedKind(NamedTuple):
    """One version of a kind; `warning` is what clients are told if it is deprecated."""

    kind: CustomKind
    rules: CustomRules
    served: bool
    warning: str


class OwnLines(NamedTuple):
    """The lines of a document that outlives its stream."""

    document: Document

    def line(self, number: int) -> str:
        return self.document.line_text(number)


class CustomKinds:
    """Definitions by group and kind, and then by version."""

    def __init__(self) -> None:
        self._defined: dict[tuple[str, str], dict[str, DefinedKind]] = {}
        self._held: list[Document] = []
        self._held_bytes = 0

    def add(self, definition: Raw) -> None:
        """Take a definition that was admitted; a later one of the same kind replaces it."""
        spec = definition["spec"]
        accepted = {"spec": spec}  # as if all its names were
        versions = {}
        for version in spec["versions"]:
            try:
                schema = schema_of_version(version)
            except SchemaTooDeepError:
                continue
            kind = CustomKind(**kind_facts(accepted, version))
            scale = (version.get("subresources") or {}).get("scale") or {}
            rules = CustomRules(schema, kind.namespaced, scale)
            served = bool(version.get("served"))
            versions[version["name"]] = DefinedKind(kind, rules, served, _deprecation(kind, version))
        self._defined[spec["group"], spec["names"]["kind"]] = versions

    def versions_of(self, raw: Raw) -> dict[str, DefinedKind] | None:
        """Return the versions of an object's kind, or None without a definition."""
        group, _, _ = str(raw["apiVersion"]).rpartition("/")
        return self._defined.get((group, str(raw["kind"])))

    def hold(self, document: Document) -> bool:
        """Keep an object until its definition may have come. Returns whether there was room."""
        size = len(msgspec.json.encode(document.raw))
        if len(self._held) >= _MAX_HELD or self._held_bytes + size > _MAX_HELD_BYTES:
            return False
        self._held.append(document)
        self._held_bytes += size
        return True

    def held(self) -> Iterator[Document]:
        """Yield the objects that were kept, and forget them."""
        held, self._held, self._held_bytes = self._held, [], 0
        yield from held


def _deprecation(kind: CustomKind, version: Raw) -> str:
    if not version.get("deprecated"):
        return ""
    return str(version.get("deprecationWarning") or f"{kind.api_version} {kind.name} is deprecated")
