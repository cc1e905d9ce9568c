"""Text from files, made safe to print: manifests are other people's text, terminals obey control characters.

In: any text. Out: the same with what is not printable written as an escape.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """One line's text with control characters, lone surrogates and direction marks escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def printable_lines(text: str) -> list[str]:
    """Return several lines, each made printable."""
    return [printable(line.replace("\t", "    ")) for line in text.split("\n")]


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
