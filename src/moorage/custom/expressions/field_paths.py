"""Check paths such as `.spec.replicas` or `.labels['a.b']` against a schema.

Kubernetes: ValidFieldPath in apiextensions-apiserver, pkg/apiserver/schema/cel/validation.go.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from moorage.custom.structural import Structural

_ESCAPES: Final = dict(zip("abfnrtv'\\", "\a\b\f\n\r\t\v'\\", strict=True))
_TOKEN: Final = re.compile(r"'.*?(?<!\\)'|'.*|[.\[\]]|[^.\[\]']+[^.\[\]]*|[^.\[\]]+", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\.")


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


def _tokens(text: str) -> Iterator[str]:
    return (token[0] for token in _TOKEN.finditer(text))


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _unescape(text: str) -> str:
    def replace(escape: re.Match[str]) -> str:
        if escape[0][1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {escape[0]}")
        return _ESCAPES[escape[0][1]]

    return _ESCAPE.sub(replace, text)
