"""Repeat writes of kubelets that differ by names, addresses and times only, at the cost of a few searches in text.

In: a patch of a pod's status, or of a Lease, sent in this process, and what is stored. Both are text in which names,
addresses and times are replaced by marks; with the order of the times, the rest of the text is the form of the write.
The first two writes of a form go the usual way. If what was learned of the first one predicts the second, value and
view, later ones are written from it. Kubernetes: no counterpart.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from secrets import token_hex
from typing import Any, NamedTuple

import msgspec

from moorage.client.protocol import PatchType
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import decoder_of
from moorage.model.types.core import Lease, LeaseSpec
from moorage.model.types.pod import Pod, PodStatus
from moorage.store.protocol import Stored

_encode = msgspec.json.Encoder().encode
_replace = msgspec.structs.replace
#: Each takes some 3 KiB.
_MAX_FORMS = 4096
_DIGEST_BYTES = 16
_MAX_TIMES = 64
_TIME = re.compile(rb'"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z)"')
_BYTE = rb"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IS_ADDRESS = re.compile(rb"(?:%b\.){3}%b" % (_BYTE, _BYTE)).fullmatch
#: Words that no object contains. They stand for UIDs, names and addresses, in this order.
_MARKS = tuple(token_hex(16).encode() for _ in range(6))
_SPLIT_MARKS = re.compile(b"(" + b"|".join(_MARKS) + b")").split
_NUMBER_OF = {mark: number for number, mark in enumerate(_MARKS)}


class _Part(NamedTuple):
    """The part of a kind's objects that such writes change: its name, and the decoder of its view."""

    subresource: str
    patch_type: PatchType
    field: str
    decoder: msgspec.json.Decoder[Any]


_PARTS: dict[Kind, _Part] = {
    KINDS.POD: _Part("status", PatchType.STRATEGIC, "status", decoder_of(PodStatus)),
    KINDS.LEASE: _Part("", PatchType.MERGE, "spec", decoder_of(LeaseSpec)),
}


def may_repeat(kind: Kind, subresource: str, patch_type: str) -> bool:
    """Return whether patches of this kind are looked at here."""
    part = _PARTS.get(kind)
    return part is not None and part.subresource == subresource and part.patch_type.value == patch_type


class RepeatableWrite(NamedTuple):
    """A write of the form `key`. `names` are what the marks stand for, `times` all times in it, in their order."""

    kind: Kind
    stored: Stored
    key: bytes
    names: Sequence[bytes]
    times: Sequence[bytes]


class _Learned:
    """What was made of a write of one form: text, numbers of names and, after those, numbers of times.

    The part that the view shows is between `begin` and `end`. `is_confirmed`: it has predicted a second write.
    """

    __slots__ = ("begin", "end", "is_confirmed", "pieces")

    def __init__(self, pieces: list[bytes | int], begin: int, end: int) -> None:
        self.pieces, self.begin, self.end = pieces, begin, end
        self.is_confirmed = False

    def carry_out(self, write: RepeatableWrite) -> tuple[bytes, Any]:
        """Return the value and the view to write. Raises msgspec.ValidationError."""
        words = (*write.names, *write.times)
        texts = [piece if isinstance(piece, bytes) else words[piece] for piece in self.pieces]
        part = _PARTS[write.kind]
        view = part.decoder.decode(b"".join(texts[self.begin : self.end]))
        return b"".join(texts), _replace(write.stored.view, **{part.field: view})


class RepeatedWrites:
    """The forms of writes that were seen last."""

    def __init__(self, limit: int = _MAX_FORMS) -> None:
        self._limit = limit
        self._learned: dict[bytes, _Learned] = {}
        self.repeated = 0  # how often the usual way was spared

    def __len__(self) -> int:
        return len(self._learned)

    def at_once(self, write: RepeatableWrite) -> tuple[bytes, Any] | None:
        """Return the value and the view to write; None if the write must go the usual way."""
        learned = self._learned.get(write.key)
        if learned is None or not learned.is_confirmed:
            return None
        try:
            value, view = learned.carry_out(write)
        except msgspec.ValidationError:
            return None
        if value == write.stored.value:
            return None  # which is not written
        self.repeated += 1
        return value, view

    def learn(self, write: RepeatableWrite, value: bytes, view: Any, document: Any) -> None:
        """Remember what the usual way has made of a write, or compare it with what was remembered."""
        known = self._learned.pop(write.key, None)
        if known is not None:
            if _predicts(known, write, value, view):
                known.is_confirmed = True
                self._learned[write.key] = known
            return
        learned = _learn(write, value, document)
        if learned is not None and _predicts(learned, write, value, view):
            if len(self._learned) >= self._limit:
                del self._learned[next(iter(self._learned))]
            self._learned[write.key] = learned


def _predicts(learned: _Learned, write: RepeatableWrite, value: bytes, view: Any) -> bool:
    try:
        own_value, own_view = learned.carry_out(write)
    except msgspec.ValidationError:
        return False
    return own_value == value and _without_revision(own_view) == _without_revision(view)


def _without_revision(view: Any) -> Any:
    """Return a view without the resourceVersion, which is that of the object before, or missing."""
    return _replace(view, metadata=_replace(view.metadata, resourceVersion=""))


def repeatable(stored: Stored | None, kind: Kind, patch: Any, manager: str, now: str) -> RepeatableWrite | None:
    """Return the form of a patch; None if it is not one that a kubelet sends again and again."""
    if stored is None or type(patch) is not dict:
        return None
    view = stored.view
    if type(view) is Pod and kind is KINDS.POD:
        names = _names_of_pod(view, patch)
    elif type(view) is Lease and kind is KINDS.LEASE:
        names = _names_of_lease(view)
    else:
        return None
    if names is None or view.metadata.deletionTimestamp is not None:
        return None
    before, after = _TIME.split(_marked(stored.value, names)), _TIME.split(_marked(_encode(patch), names))
    sent = after[1::2]
    if not all(map(_is_time, sent)):
        return None
    times = (now.encode(), *sent, *before[1::2])
    if len(times) > _MAX_TIMES:
        return None
    in_order = sorted(set(times))
    texts = (kind.name.encode(), manager.encode(), *before[::2], b"", *after[::2])
    return RepeatableWrite(kind, stored, _form(texts, times, in_order), names, in_order)


def _names_of_pod(pod: Pod, patch: Any) -> Sequence[bytes] | None:
    """Return the UID, the name, the node and the addresses of a pod; empty for what it does not have."""
    status = patch.get("status")
    if type(status) is not dict:
        return None
    metadata = pod.metadata
    names = [metadata.uid.encode(), b"", metadata.name.encode(), pod.spec.nodeName.encode()]
    for field in ("podIP", "hostIP"):
        address = status.get(field, "")
        if type(address) is not str or (address and not _IS_ADDRESS(address.encode())):
            return None
        names.append(address.encode())
    return names


def _names_of_lease(lease: Lease) -> Sequence[bytes] | None:
    metadata = lease.metadata
    owner = metadata.ownerReferences[0].uid if metadata.ownerReferences else ""
    return metadata.uid.encode(), owner.encode(), metadata.name.encode(), b"", b"", b""


_BARE, _PLAIN = 2, 4


def _marked(text: bytes, names: Sequence[bytes]) -> bytes:
    """Replace UIDs anywhere, and names and addresses where they are a whole string, by marks.

    Addresses are also keys in managedFields: strings within strings.
    """
    for number, name in enumerate(names):
        if not name:
            continue
        mark = _MARKS[number]
        if number < _BARE:
            text = text.replace(name, mark)
            continue
        text = text.replace(b'"%b"' % name, b'"%b"' % mark)
        if number >= _PLAIN:
            text = text.replace(b'\\"%b\\"' % name, b'\\"%b\\"' % mark)
    return text


def _form(texts: Sequence[bytes], times: Sequence[bytes], in_order: Sequence[bytes]) -> bytes:
    """Return a digest of texts without their times, and of the order of these: managedFields are sorted by it."""
    order = bytes(map(in_order.index, times)) + b"\0" + bytes(map(len, in_order))
    return blake2b(b"\0".join((*texts, order)), digest_size=_DIGEST_BYTES).digest()


@lru_cache(maxsize=256)
def _is_time(text: bytes) -> bool:
    return seconds_of(text.decode()) is not None


def _learn(write: RepeatableWrite, value: bytes, document: Any) -> _Learned | None:
    """Return what was made of a write, in pieces; None if it has times that were not in the write."""
    part = b'"%b":' % _PARTS[write.kind].field.encode()
    inner = _encode(document.get(_PARTS[write.kind].field))
    if value.count(part + inner) != 1:
        return None
    begin = value.index(part + inner) + len(part)
    cut = (value[:begin], inner, value[begin + len(inner) :])
    pieces = [_pieces(text, write) for text in cut]
    if any(one is None for one in pieces):
        return None
    head, middle, tail = (one or [] for one in pieces)
    return _Learned([*head, *middle, *tail], len(head), len(head) + len(middle))


def _pieces(text: bytes, write: RepeatableWrite) -> list[bytes | int] | None:
    pieces: list[bytes | int] = []
    split = _TIME.split(_marked(text, write.names))
    for place, piece in enumerate(split):
        if place % 2:
            if piece not in write.times:
                return None
            pieces += (b'"', len(write.names) + write.times.index(piece), b'"')
            continue
        pieces += (_NUMBER_OF.get(word, word) for word in _SPLIT_MARKS(piece) if word)
    return _joined(pieces)


def _joined(pieces: list[bytes | int]) -> list[bytes | int]:
    """Return the pieces with neighbouring texts as one."""
    joined: list[bytes | int] = []
    for piece in pieces:
        last = joined[-1] if joined else 0
        if isinstance(piece, bytes) and isinstance(last, bytes):
            joined[-1] = last + piece
        else:
            joined.append(piece)
    return joined
