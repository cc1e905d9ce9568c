"""Check pieces of text in a process of its own: pieces come in over a socket, what was found goes back.

Messages are pickled, with their length before them. Both ends are one program in one run: nothing else is read.
"""

from __future__ import annotations

import copyreg
import io
import os
import pickle
import signal
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.lint.checked_alone import look_ahead
from moorage.model.quantity import Quantity
from moorage.model.text.documents import Document, documents_in

if TYPE_CHECKING:
    import socket

    from moorage.lint.finding import Lines
    from moorage.model.gates import GateSet
    from moorage.model.text.document_chunks import Chunk

HEADER = struct.Struct("!Q")
_PARENT_GONE = 1


class Piece(NamedTuple):
    """A piece of a source, of one document or a few."""

    source: str
    chunk: Chunk


#: What was found of each document of a piece, as plain tuples; None if it has anything out of the ordinary.
Found = list[tuple[Any, ...]] | None


class NoLines(NamedTuple):
    """Lines that are not known where documents are looked at ahead of their turn."""

    def line(self, number: int) -> str:
        return ""


def look_at_piece(piece: Piece, gates: GateSet, *, strict: bool) -> Found:
    """Return what is found of each document of a piece without any other."""
    lines: Lines = NoLines()
    found: list[tuple[Any, ...]] = []
    try:
        for document in documents_in(piece.chunk, piece.source):
            ahead = look_ahead(document, lines, gates, strict=strict) if isinstance(document, Document) else None
            if ahead is None:
                return None
            found.append(tuple(ahead))
    except Exception:  # it is reported when the piece is read in its turn
        return None
    return found


def _reduce_quantity(quantity: Quantity) -> tuple[type[Quantity], tuple[Any, ...]]:
    return Quantity, (quantity.mantissa, quantity.exponent, quantity.format, quantity.big, quantity._text)


_DISPATCH = {**copyreg.dispatch_table, Quantity: _reduce_quantity}


def pack(message: object) -> bytes:
    """Return a message as it goes over a socket."""
    buffer = io.BytesIO(bytes(HEADER.size))
    buffer.seek(HEADER.size)
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _DISPATCH
    pickler.dump(message)
    packed = buffer.getbuffer()
    HEADER.pack_into(packed, 0, len(packed) - HEADER.size)
    return packed.tobytes()


def work(connection: socket.socket, gates: GateSet, *, strict: bool) -> None:
    """Answer messages until the other end closes, and end the process. Ctrl-C is the business of the other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = _PARENT_GONE
    try:
        stream = connection.makefile("rb", buffering=256 * 1024)
        while header := stream.read(HEADER.size):
            pieces: list[Piece] = pickle.loads(stream.read(HEADER.unpack(header)[0]))
            connection.sendall(pack([look_at_piece(piece, gates, strict=strict) for piece in pieces]))
        code = 0
    except (OSError, EOFError, pickle.UnpicklingError, struct.error):
        pass
    finally:
        os._exit(code)  # what the parent had not flushed yet is the parent's
