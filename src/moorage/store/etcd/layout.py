"""Translate the store's keys into those of etcd, and back.

A key is a root, such as `/apps/deployments/`, and a rest, such as `default/web`. In etcd it has a prefix, such as
`/registry`, and the root may have another name there. Moorage's own notes are under `/moorage/` and are not shown
to readers of the store: claims, fences, the revision up to which history is compacted.
"""

from collections.abc import Mapping

#: The root of Moorage's own notes.
NOTES = "/moorage/"
#: The roots of what kube-apiserver notes for itself: which node ports are taken, and which servers live.
_KUBERNETES_NOTES = ("/ranges/", "/masterleases/", "/peerserverleases/")
#: The note that is there while objects are being moved into etcd: until then no server may use them.
MIGRATION = "migration"


class KeyLayout:
    """The keys of one cluster in etcd. `roots` has the names of roots that are called otherwise in etcd."""

    def __init__(self, prefix: str, roots: Mapping[str, str]) -> None:
        self.prefix = f"/{prefix.strip('/')}" if prefix.strip("/") else ""
        self._to_etcd: dict[str, bytes] = {ours: f"{self.prefix}{theirs}".encode() for ours, theirs in roots.items()}
        self._from_etcd: dict[bytes, str] = {theirs: ours for ours, theirs in self._to_etcd.items()}
        self._notes = f"{self.prefix}{NOTES}".encode()
        self._kubernetes_notes = tuple(f"{self.prefix}{root}".encode() for root in _KUBERNETES_NOTES)
        #: The notes of the kube-apiservers that use this etcd.
        self.kubernetes_servers = f"{self.prefix}/masterleases/".encode()
        self._first = len(self.prefix) + 1
        #: All keys are from `begin` up to, but without, `end`.
        self.begin = f"{self.prefix}/".encode()
        self.end = f"{self.prefix}0".encode()  # the character after the slash

    def note(self, name: str) -> bytes:
        """Return the key of a note of Moorage's own."""
        return self._notes + name.encode()

    def is_note(self, key: bytes) -> bool:
        return key.startswith(self._notes)

    def is_kubernetes_note(self, key: bytes) -> bool:
        """Return whether kube-apiserver has written it for itself: it is no object of the API."""
        return key.startswith(self._kubernetes_notes)

    def note_name(self, key: bytes) -> str:
        """Return what `note` was given."""
        return key[len(self._notes) :].decode("utf-8", "replace")

    def to_etcd(self, key: str) -> bytes:
        """Return the key in etcd of a key, or of a prefix that has a whole root."""
        first = key.find("/", 1) + 1
        for end in (first, key.find("/", first) + 1):
            theirs = self._to_etcd.get(key[:end])
            if theirs is not None:
                return theirs + key[end:].encode()
        return f"{self.prefix}{key}".encode()

    def from_etcd(self, key: bytes) -> str:
        first = key.find(b"/", self._first) + 1
        for end in (first, key.find(b"/", first) + 1):
            ours = self._from_etcd.get(key[:end])
            if ours is not None:
                return ours + key[end:].decode("utf-8", "replace")
        return key[len(self.prefix) :].decode("utf-8", "replace")


def after_all(prefix: bytes) -> bytes:
    """Return the least key that is greater than all that start with a prefix."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1])
