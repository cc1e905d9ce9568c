"""Check paths such as `.spec.replicas` or `.labels['a.b']` against a schema.

Kubernetes: ValidFieldPath in apiextensions-apiserver, pkg/apiserver/schema/cel/validation.go.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from moorage.custom.structural import Structural
from moorage.model.text.patterns import Match, Pattern
from moorage.model.text.readers import reads_text

_ESCAPES: Final = dict(zip("abfnrtv'\\", "\a\b\f\n\r\t\v'\\", strict=True))
_DELIMITERS: Final = frozenset(".[]")
_ESCAPE: Final = Pattern(r"\\.")


class FieldPathError(ValueError):
    """A path is malformed or leads to no field; the text is Kubernetes'."""


class FieldPath(NamedTuple):
    """A path as errors show it, its first step, and the schema of the field it leads to."""

    path: str
    first: str
    schema: Structural | None


def resolve_field_path(text: str, schema: Structural, *, array_notation: bool = True) -> FieldPath:
    """Follow a path from a schema. Raises FieldPathError."""
    path, first = "", ""
    node: Structural | None = schema
    tokens = _tokens(text)
    for token in tokens:
        if token == "[":
            if not array_notation:
                raise FieldPathError("array notation is not allowed")
            quoted = _next(tokens)
            if len(quoted) < 2 or not (quoted.startswith("'") and quoted.endswith("'")):
                raise FieldPathError(f"expected single quoted string but got {quoted}")
            name = _unescape(quoted[1:-1])
        elif token == ".":
            name = _next(tokens)
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
        step, node = _follow(node, name)
        path = f"{path}.{step}" if path and not step.startswith("[") else f"{path}{step}"
        first = first or step
        if token == "[" and (closing := _next(tokens)) != "]":
            raise FieldPathError(f"expected ] but got {closing}")
    return FieldPath(path, first, node)


def _follow(node: Structural | None, name: str) -> tuple[str, Structural | None]:
    if node is not None and node.properties:
        if name not in node.properties:
            raise FieldPathError("does not refer to a valid field")
        return name, node.properties[name]
    if node is not None and node.additionalProperties is not None:
        return f"[{name}]", node.additional
    raise FieldPathError("does not refer to a valid field")


@reads_text(".", "[", "]", "'", "\\", "a")
def _tokens(text: str) -> Iterator[str]:
    """Yield delimiters, quoted strings (to the end, if they are not closed) and what is between them."""
    at, end = 0, len(text)
    while at < end:
        start = at
        if text[start] == "'":
            at = _closing_quote(text, start + 1) + 1 or end
        elif text[start] in _DELIMITERS:
            at += 1
        else:
            while at < end and text[at] not in _DELIMITERS:
                at += 1
        yield text[start:at]


def _closing_quote(text: str, at: int) -> int:
    """Return the place of the next quote that does not follow a backslash, or -1."""
    while (at := text.find("'", at)) > 0 and text[at - 1] == "\\":
        at += 1
    return at


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


@reads_text("\\\\", "n", "'", "a", "x", raises=FieldPathError)
def _unescape(text: str) -> str:
    def replace(escape: Match[str]) -> str:
        letter = escape[0][1:]
        if letter not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char \\{letter}")
        return _ESCAPES[letter]

    return _ESCAPE.sub(replace, text)
