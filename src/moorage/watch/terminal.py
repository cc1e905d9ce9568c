"""Use the terminal as a screen: keys one by one, a screen of its own, and all as it was at the end."""

import contextlib
import os
import shutil
import sys
import termios
import tty
from collections.abc import Sequence
from typing import TextIO

from moorage.watch.view import cropped

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"  # another screen, no cursor, no wrapping of long lines
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_HOME, _END_OF_LINE, _END_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"

#: What keys send, and what they mean here.
_KEYS = {
    "q": "quit",
    "Q": "quit",
    "\x03": "quit",
    "\x1b[A": "up",
    "\x1bOA": "up",
    "k": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "j": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    " ": "page down",
    "\x1b[H": "top",
    "\x1b[1~": "top",
    "g": "top",
}


class Terminal:
    """A screen on standard output; keys come from standard input if that is a terminal too."""

    def __init__(self) -> None:
        self._output: TextIO = sys.stdout
        self._input = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
        self._before: list[object] | None = None
        self._is_entered = False

    @property
    def keyboard(self) -> int | None:
        """The file to read keys from."""
        return self._input

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, as they are now: not those of $COLUMNS and $LINES, which do not change with the window."""
        try:
            found = os.get_terminal_size(self._output.fileno())
        except (OSError, ValueError):
            found = shutil.get_terminal_size((80, 24))
        return max(found.columns, 1) if found.columns else 80, max(found.lines, 2) if found.lines else 24

    def enter(self) -> None:
        if self._input is not None:
            self._before = termios.tcgetattr(self._input)
            tty.setcbreak(self._input)
        self._is_entered = True
        self._write(_ENTER)

    def leave(self) -> None:
        """Put everything back; also if it fails to write, as when the terminal is gone."""
        if not self._is_entered:
            return
        self._is_entered = False
        if self._input is not None and self._before is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]
        self._write(_LEAVE)

    def draw(self, lines: Sequence[str]) -> None:
        width, height = self.size
        shown = [cropped(line, width) + _END_OF_LINE for line in lines[:height]]
        self._write(_HOME + "\r\n".join(shown) + _END_OF_SCREEN)

    def keys(self) -> list[str]:
        """Return the meanings of the keys that were pressed; unknown ones are left out."""
        if self._input is None:
            return []
        return meanings(os.read(self._input, 1024).decode("utf-8", "replace"))

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()


def meanings(typed: str) -> list[str]:
    """Split what was read into keys; an escape sequence is one key."""
    found: list[str] = []
    while typed:
        length = next((size for size in (4, 3, 1) if typed[:size] in _KEYS and len(typed) >= size), 0)
        if length:
            found.append(_KEYS[typed[:length]])
        elif typed.startswith(("\x1b[", "\x1bO")):
            length = next(
                (at + 1 for at in range(2, len(typed)) if typed[at].isalpha() or typed[at] == "~"), len(typed)
            )
        typed = typed[length or 1 :]
    return found
