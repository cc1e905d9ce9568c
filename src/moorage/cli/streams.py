"""Open standard output and error if the parent closed them, in the locale's encoding, with one kind of failure.

In an encoding that lacks a mark such as `→`, a plain one (`->`) is written; other characters it lacks are escaped.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TextIO

#: How reports write marks where the encoding has only letters.
PLAIN_MARKS = {
    "→": "->",
    "←": "<-",
    "…": "...",
    "–": "-",
    "—": "-",
    "−": "-",
    "─": "-",
    "×": "x",
    "·": "-",
    "•": "*",
    "✓": "ok",
    "✗": "NO",
    "∞": "infinity",
    "µ": "u",
    "μ": "u",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "“": '"',
    "”": '"',
    "„": '"',
    "’": "'",
    "‘": "'",
    "\u00a0": " ",
    **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)),
}
_ERRORS = "moorage_marks"
#: click writes UTF-8 to a stream in ASCII, which it takes for a mistake; so the encoding has another name.
_ASCII = "ascii_with_plain_marks"


class CannotWrite(OSError):
    """Standard output or error, `number`, cannot be written to: the disk is full, the terminal is gone."""

    def __init__(self, number: int, cause: OSError) -> None:
        name = "standard output" if number == 1 else "standard error"
        super().__init__(cause.errno, f"cannot write to {name}: {cause.strerror}")
        self.number = number


class _Raw(io.FileIO):
    """A standard file whose failures are told from those of other files; that of a closed pipe stays what it is."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CannotWrite(self.fileno(), error) from None


def open_standard_streams() -> None:
    """Open the standard files that the parent has closed, and make those to write to fail and spell as said above."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free; else a file or socket would
    codecs.register_error(_ERRORS, _plainly)
    codecs.register(_codec)
    if sys.stdout is None or _is_file(sys.stdout, 1):
        sys.stdout = _writer(1, sys.stdout)
    if sys.stderr is None or _is_file(sys.stderr, 2):
        sys.stderr = _writer(2, sys.stderr)


def set_encoding(stream: TextIO, *, is_text: bool) -> None:
    """Write text in the locale's encoding, with plain marks where it lacks others; what programs read as UTF-8."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        codecs.register_error(_ERRORS, _plainly)
        reconfigure(encoding=None if is_text else "utf-8", errors=_ERRORS if is_text else "backslashreplace")


def _is_file(stream: TextIO, number: int) -> bool:
    try:
        return isinstance(stream, io.TextIOWrapper) and stream.fileno() == number
    except (OSError, ValueError):
        return False


def _writer(number: int, before: TextIO | None) -> io.TextIOWrapper:
    """Return a stream like the one before it, buffered by line on a terminal and for errors."""
    encoding = (before.encoding if before is not None else "") or "utf-8"
    if codecs.lookup(encoding).name == "ascii":
        encoding = _ASCII
    raw = _Raw(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors=_ERRORS,
        # With PYTHONUNBUFFERED the one before writes through, which from here on ends at the buffer.
        line_buffering=getattr(before, "line_buffering", number == 2 or raw.isatty())
        or getattr(before, "write_through", False),
        write_through=getattr(before, "write_through", False),
    )


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that the encoding lacks: marks by plain ones, others by escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    text = "".join(
        PLAIN_MARKS.get(character) or character.encode("ascii", "backslashreplace").decode() for character in lacking
    )
    return text, error.end


def _codec(name: str) -> codecs.CodecInfo | None:
    if name != _ASCII:
        return None
    ascii_codec = codecs.lookup("ascii")
    return codecs.CodecInfo(
        ascii_codec.encode,
        ascii_codec.decode,
        ascii_codec.streamreader,
        ascii_codec.streamwriter,
        ascii_codec.incrementalencoder,
        ascii_codec.incrementaldecoder,
        name=_ASCII,
    )
