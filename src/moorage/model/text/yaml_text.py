"""Decode one YAML document into a raw value, and keep its node tree so that lines can be looked up later.

libyaml composes the nodes; tags, merge keys, mapping keys and plain scalars are resolved here: `yes` is true, `010` is
eight, `1e3` is a thousand, a date is text. Kubernetes: sigs.k8s.io/yaml over go-yaml v2, which follows YAML 1.1 with
exceptions. Differs: nesting and aliases are bounded before anything is built.
"""

import binascii
import math
import re
from base64 import b64decode
from collections.abc import Iterator
from decimal import Decimal
from operator import is_
from typing import Any

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode
from yaml._yaml import CParser

from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.readers import reads_text

JsonScalar = str | int | float | bool | None

# A plain scalar is text unless it is one of WORDS or starts like a number.
NUMERIC_START = frozenset("0123456789+-.")

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NOT_IN_JSON = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"x": 16, "b": 2, "o": 8}
_MAX_NUMBER_TEXT = 4000  # longer integers are floats out of range, and so text; Python would refuse to read them


class NotJson(ValueError):
    """A scalar YAML knows and JSON does not: infinities and not-a-number. `str()` is Go's name of it."""


@reads_text("1", "0", "_", ".", "e", "0x", "-", "+", "a", raises=NotJson)
def resolve_plain(text: str) -> JsonScalar:
    """Return the value of a plain scalar. Raises NotJson for `.inf`, `.nan` and their kin."""
    if text in WORDS:
        return WORDS[text]
    if text[0] in NUMERIC_START and len(text) <= _MAX_NUMBER_TEXT:
        return _resolve_number(text)
    return text


def _resolve_number(text: str) -> JsonScalar:
    name = _NOT_IN_JSON.get(text)
    if name is not None:
        raise NotJson(name)
    plain = text if text[0] == "." else text.replace("_", "")
    match = _INTEGER.fullmatch(plain)
    if match is not None:
        number = _read_integer(match)
        if -(2**63) <= number < 2**64:
            return number
    if _FLOAT.fullmatch(plain):
        value = float(plain)
        if math.isfinite(value):
            return json_number(value)
    return text


def _read_integer(match: re.Match[str]) -> int:
    sign, digits = match.groups()
    base = 10
    if digits[0] == "0" and len(digits) > 1:
        base = _BASES.get(digits[1].lower(), 0)
        digits, base = (digits[2:], base) if base else (digits[1:], 8)
    number = int(digits, base)
    return -number if sign == "-" else number


def json_number(value: float) -> int | float:
    """Return the number Go's JSON encoder would print: without a fraction or an exponent where it needs none."""
    if value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))
    return value


MAX_DEPTH = 200  # levels of nesting; the deepest real manifests have some forty, and Python recurses through a thousand
MAX_NODES_BY_ALIAS = 500_000  # nodes a document may grow to when its aliases are expanded

_TAG = "tag:yaml.org,2002:"
# Nesting costs one opening bracket or at least half a column of indentation, so text without
# many of either cannot be deep, and the exact count can be left out.
_MANY_BRACKETS = 100
_DEEP_INDENT = re.compile(rb"^[ \t?-]{50}", re.MULTILINE)


class _Composer(CParser):
    """libyaml's composer with resolution left out: the tag of an untagged scalar is True if plain, False if quoted."""

    # Called for every node. Builtins that do nothing, since a Python function each would cost a tenth of the whole.
    descend_resolver = is_
    ascend_resolver = bool

    @staticmethod
    def resolve(kind: type[Node], _value: object, implicit: Any) -> Any:
        return implicit[0] if kind is ScalarNode else None


def compose_documents(text: bytes, source: str, first_line: int) -> Iterator[Node]:
    """Return the root nodes of all documents in the text; DecodeError on the first problem."""
    _check_depth(text, source, first_line)
    try:
        composer = _Composer(text)
        while composer.check_node():
            root = composer.get_node()
            if root is not None:
                yield root
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, source, first_line) from None
    except yaml.reader.ReaderError as error:
        raise _reader_error(error, text, source, first_line) from None


def _syntax_error(error: yaml.MarkedYAMLError, text: bytes, source: str, first_line: int) -> DecodeError:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column + 1) if mark else (0, 1)
    lines = text.rstrip().split(b"\n")
    if line >= len(lines):  # at the end of the text, which libyaml counts as a line of its own
        line, column = len(lines) - 1, len(lines[-1]) + 1
    reason = f"yaml: {error.problem or error.context}"
    if error.context and error.problem:
        reason += f" {error.context}"
        if error.context_mark and error.context_mark.line != line:
            reason += f" that starts in line {error.context_mark.line + first_line}"
    return DecodeError(reason, problem=Problem.SYNTAX, source=source, line=line + first_line, column=column)


def _reader_error(error: yaml.reader.ReaderError, text: bytes, source: str, first_line: int) -> DecodeError:
    before = text[: error.position]
    return DecodeError(
        f"yaml: {error.reason}",
        problem=Problem.UNREADABLE,
        source=source,
        line=first_line + before.count(b"\n"),
        column=len(before) - before.rfind(b"\n"),
    )


def _check_depth(text: bytes, source: str, first_line: int) -> None:
    """Refuse deep nesting before composing, which recurses in C."""
    if text.count(b"[") + text.count(b"{") <= _MANY_BRACKETS and not _DEEP_INDENT.search(text):
        return
    depth = 0
    parser = _Composer(text)
    try:
        while parser.check_event():
            event: Any = parser.get_event()
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    mark: Any = event.start_mark
                    raise _too_deep(source, mark.line + first_line, mark.column + 1)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # composing meets the same error, and reports it


def _too_deep(source: str, line: int, column: int) -> DecodeError:
    reason = f"nested deeper than {MAX_DEPTH} levels"
    return DecodeError(reason, problem=Problem.LIMIT, source=source, line=line, column=column)


class YamlConstructor:
    """Builds the raw value of one root node, collecting duplicate keys on the way."""

    def __init__(self, source: str, first_line: int, has_aliases: bool) -> None:
        self._source = source
        self._first_line = first_line
        self._has_aliases = has_aliases
        self.duplicates: list[tuple[MappingNode, Node, str]] = []

    def construct(self, root: Node) -> Any:
        if self._has_aliases:
            self._check_aliases(root)
        return self._value(root)

    def _value(self, node: Node) -> Any:
        if type(node) is ScalarNode:
            return self._scalar(node)
        if type(node) is MappingNode:
            result: dict[str, Any] = {}
            self._fill(result, node)
            return result
        return [self._value(item) for item in node.value]

    def _fill(self, result: dict[str, Any], node: MappingNode) -> None:
        key: Any
        key_node: Any
        value_node: Any
        own: set[str] | None = None  # keys that are not merged in; only tracked where a merge makes the difference
        for key_node, value_node in node.value:
            key = key_node.value
            if key == "<<" and is_merge(key_node):
                own = set(result) if own is None else own
                self._merge(result, value_node)
                continue
            if key_node.tag is not True or key in WORDS or key[0] in NUMERIC_START:
                key = self.key_text(key_node)
            if key in result and (own is None or key in own):
                self.duplicates.append((node, key_node, key))
            if own is not None:
                own.add(key)
            if type(value_node) is ScalarNode:
                text = value_node.value
                tag: Any = value_node.tag
                if tag is True and text not in WORDS and text[0] not in NUMERIC_START:
                    result[key] = text
                else:
                    result[key] = self._scalar(value_node)
            else:
                result[key] = self._value(value_node)

    def _merge(self, result: dict[str, Any], node: Node) -> None:
        """Merge where `<<` stands: as in go-yaml v2, keys before it are overridden and keys after it override."""
        if isinstance(node, MappingNode):
            self._fill_merged(result, node)
        elif isinstance(node, SequenceNode) and all(isinstance(item, MappingNode) for item in node.value):
            for item in reversed(node.value):  # earlier ones take precedence
                self._fill_merged(result, item)
        else:
            raise self._error(node, "map merge requires map or sequence of maps as the value")

    def _fill_merged(self, result: dict[str, Any], node: MappingNode) -> None:
        merged: dict[str, Any] = {}
        self._fill(merged, node)
        result.update(merged)

    def key_text(self, node: Node) -> str:
        if not isinstance(node, ScalarNode):
            raise self._error(node, "a mapping key must be a scalar")
        text = str(node.value)
        try:
            key = self._tagged(node)
        except NotJson:
            return text.lower().lstrip("+")
        if isinstance(key, str):
            return key
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, int) and -(2**63) <= key < 2**63:
            return str(key)
        if isinstance(key, float):
            return f"{key:g}"
        raise self._error(node, f"unsupported map key: {text or 'null'}")

    def _scalar(self, node: ScalarNode) -> JsonScalar:
        try:
            return self._tagged(node)
        except NotJson as error:
            raise self._error(node, f"json: unsupported value: {error}") from None

    def _tagged(self, node: ScalarNode) -> JsonScalar:
        tag: Any = node.tag
        text = str(node.value)
        if tag is True:
            return resolve_plain(text)
        if tag is False or not tag.startswith(_TAG):
            return text
        return self._explicitly_tagged(node, tag.removeprefix(_TAG), text)

    def _explicitly_tagged(self, node: ScalarNode, tag: str, text: str) -> JsonScalar:
        if tag == "binary":
            try:
                return b64decode("".join(text.split()), validate=True).decode("utf-8")
            except (binascii.Error, ValueError):
                raise self._error(node, "!!binary value contains invalid base64 data") from None
        if tag not in ("bool", "int", "float", "null"):
            return text
        value = resolve_plain(text)
        kind = "null" if value is None else type(value).__name__
        if kind != tag and not (tag == "float" and kind == "int"):
            raise self._error(node, f"cannot decode !!{kind} `{text}` as a !!{tag}")
        return value

    def _check_aliases(self, root: Node) -> None:
        """Count what the document would grow to, without growing it."""
        sizes: dict[int, tuple[int, int]] = {}
        pending: list[tuple[Node, bool]] = [(root, False)]
        open_nodes: set[int] = set()
        while pending:
            node, children_done = pending.pop()
            if type(node) is ScalarNode or (id(node) in sizes and not children_done):
                continue
            children = _children(node)
            if not children_done:
                if id(node) in open_nodes:
                    raise self._error(node, "an anchor's value contains itself", Problem.LIMIT)
                open_nodes.add(id(node))
                pending.append((node, True))
                pending.extend((child, False) for child in children if type(child) is not ScalarNode)
                continue
            open_nodes.discard(id(node))
            measured = [sizes.get(id(child), (1, 0)) for child in children]
            nodes = 1 + sum(count for count, _ in measured)
            depth = 1 + max((below for _, below in measured), default=0)
            if nodes > MAX_NODES_BY_ALIAS:
                raise self._error(node, "yaml: document contains excessive aliasing", Problem.LIMIT)
            if depth > MAX_DEPTH:
                raise _too_deep(self._source, node.start_mark.line + self._first_line, node.start_mark.column + 1)
            sizes[id(node)] = (nodes, depth)

    def _error(self, node: Node, reason: str, problem: Problem = Problem.SYNTAX) -> DecodeError:
        line, column = node.start_mark.line + self._first_line, node.start_mark.column + 1
        return DecodeError(reason, problem=problem, source=self._source, line=line, column=column)


def is_merge(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value == "<<" and node.tag in (True, f"{_TAG}merge")


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value)
