"""Make text from files safe to print: terminals obey control characters."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape control characters, lone surrogates and direction marks of one line."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def printable_lines(text: str) -> list[str]:
    return [printable(line.replace("\t", "    ")) for line in text.split("\n")]


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
