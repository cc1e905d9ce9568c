"""Pods that differ by nothing but their names are looked at once.

In: the raw document of a pod to be created. Out: who owns its fields, and whether anything is wrong with their names,
from a pod like it that came before. Controllers and benchmarks make such pods by the thousand, and few clusters have
more than some dozens of templates. Kubernetes: nothing of the sort.
"""

from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.model.kinds import Kind
from moorage.serve.apply.field_set import Fields
from moorage.serve.apply.managed_fields import created_fields, entry_for

_fingerprint = msgspec.msgpack.Encoder().encode
_MAX_KNOWN = 4096


def likeness(raw: Raw) -> bytes:
    """Equal for two pods that differ by their names only; nothing for what cannot be told so easily."""
    metadata = raw.get("metadata")
    if type(metadata) is not dict or "managedFields" in metadata:
        return b""
    parts: list[Any] = [{name: value for name, value in metadata.items() if name != "name"}]
    for name, value in raw.items():
        if name != "metadata":
            parts.append(name)
            parts.append(value)
    try:
        return _fingerprint(parts)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""


class FieldOwners:
    """The owners of the fields of new pods. What it gives is shared: nobody may change it."""

    def __init__(self) -> None:
        self._fields: dict[tuple[bytes, str], Fields] = {}
        self._entries: dict[tuple[bytes, str], list[Raw]] = {}
        self._entries_are_of = ""

    def known(self, like: bytes, kind: Kind, manager: str, now: str) -> list[Raw] | None:
        """The managedFields of a pod like one that came before, made now by this manager."""
        fields = self._fields.get((like, manager))
        if fields is None:
            return None
        if now != self._entries_are_of:
            self._entries.clear()
            self._entries_are_of = now
        entries = self._entries.get((like, manager))
        if entries is None:
            entries = self._entries[like, manager] = entry_for(fields, kind, manager, now)
        return entries

    def learn(self, like: bytes, defaulted: Raw, kind: Kind, manager: str) -> None:
        """A pod of this likeness, with its defaults, is accepted."""
        if not like:
            return
        if len(self._fields) >= _MAX_KNOWN:
            self._fields.clear()
        try:
            self._fields[like, manager] = created_fields(defaulted, kind)
        except ValueError:
            return  # what cannot be owned in parts is owned by nobody, and looked at each time


class CheckedFields:
    """Pods whose fields all exist and stand once, by their likeness and the number of their keys."""

    def __init__(self) -> None:
        self._keys: dict[bytes, int] = {}

    def are_fine(self, like: bytes, keys: int) -> bool:
        return self._keys.get(like) == keys

    def learn(self, like: bytes, keys: int) -> None:
        if like:
            if len(self._keys) >= _MAX_KNOWN:
                self._keys.clear()
            self._keys[like] = keys
