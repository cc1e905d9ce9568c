"""Make text from files safe to print: terminals obey control characters."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape control characters, lone surrogates and direction marks of one line."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def printable_lines(text: str) -> list[str]:
    return [printable(line.replace("\t", "    ")) for line in text.split("\n")]


def visible_length(text: str) -> int:
    """Return how many characters of a text are shown that may hold colours."""
    while "\x1b[" in text:
        before, _, after = text.partition("\x1b[")
        text = before + after.partition("m")[2]
    return len(text)


def folded(text: str, width: int, indent: str = "") -> list[str]:
    """Break a text that may hold colours, but not across several words, at spaces; later lines are indented."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1].strip() and visible_length(lines[-1]) + visible_length(word) >= width:
            lines.append(indent + word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
