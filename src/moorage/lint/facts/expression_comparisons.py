"""Read the ordering comparisons of a taint's value in a CEL toleration: of texts, whole numbers and versions.

`taint.value > '950'` compares texts, `int(taint.value) > 950` numbers, `semver(taint.value).isGreaterThan(…)` versions.
Kubernetes: checks types only, and texts can be compared.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from moorage.lint.facts.expression_reading import TAINT, nodes_of
from moorage.match.cel.parse.syntax import Call, Ident, Literal, Node, Select
from moorage.match.comparison import CANONICAL_INTEGER, VERSION
from moorage.match.semver import version_or_none
from moorage.match.taint_messages import describe_taint
from moorage.model.types.node import Taint

_SYMBOLS = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_METHODS = {"isLessThan": "<", "isGreaterThan": ">"}
_READERS: dict[str, Callable[[str], Any]] = {"number": float, "version": VERSION.value_of}
#: Values that tell a comparison of texts from one of numbers or versions.
_EXAMPLES = {
    "number": ("10", "9", "100", "1000", "99", "5", "2", "10000"),
    "version": ("10.0.0", "9.0.0", "2.0.0", "1.10.0", "1.9.0"),
}


class TextComparison(NamedTuple):
    """`taint.value SYMBOL 'text'`, whichever side the value stands on."""

    symbol: str
    text: str

    @property
    def noun(self) -> str:
        """What the text seems to be: a number, a version, or neither (then empty)."""
        if CANONICAL_INTEGER.value_of(self.text) is not None or _is_decimal(self.text):
            return "number"
        return "version" if "." in self.text and version_or_none(self.text) is not None else ""

    @property
    def instead(self) -> str:
        """Return the expression that compares numbers or versions."""
        if self.noun == "number":
            return f"{'double' if _is_decimal(self.text) else 'int'}(taint.value) {self.symbol} {self.text}"
        version = f"semver('{self.text}', true)"
        methods = {symbol: name for name, symbol in _METHODS.items()}
        if self.symbol in methods:
            return f"semver(taint.value, true).{methods[self.symbol]}({version})"
        return f"semver(taint.value, true).compareTo({version}) {self.symbol} 0"

    @property
    def surprise(self) -> str:
        """Return an answer that is not the one of numbers or versions; empty if no such answer is at hand."""
        holds, read = _RELATIONS[self.symbol], _READERS[self.noun]
        limit = read(self.text)
        for value in (*_around(self.text), *_EXAMPLES[self.noun]):
            meant = holds(read(value), limit)
            if holds(value, self.text) is not meant:
                return f"{value!r} {self.symbol} {self.text!r} is {str(not meant).lower()}"
        return ""


def _is_decimal(text: str) -> bool:
    whole, _, fraction = text.partition(".")
    return whole.isdecimal() and fraction.isdecimal() and text.isascii()


def _around(text: str) -> Iterator[str]:
    """Yield values beside a version or number that have one digit more, or one less."""
    head, dot, last = text.rpartition(".")
    if not last.isdigit() or len(last) > 18:
        return
    number = int(last)
    yield f"{head}{dot}{10 ** len(last)}"
    if number > 9:
        yield f"{head}{dot}9"


def text_comparisons(root: Node) -> Iterator[TextComparison]:
    """Yield every ordering comparison of `taint.value` with a text."""
    for symbol, left, right in _orders(root):
        if _is_value(left) and isinstance(right, Literal) and isinstance(right.value, str):
            yield TextComparison(symbol, right.value)


def strict_boundary(root: Node, taints: Sequence[Taint]) -> str:
    """Say which strict comparison excludes the very value that a taint has; empty if no comparison does."""
    for symbol, left, right in _orders(root):
        if symbol not in ("<", ">") or not _is_conversion(left, "int"):
            continue
        if isinstance(right, Literal) and isinstance(right.value, int) and not isinstance(right.value, bool):
            for taint in taints:
                if CANONICAL_INTEGER.value_of(taint.value) == right.value:
                    return f"{symbol} is strict: write {symbol}= {right.value} if {describe_taint(taint)} is meant, too"
    for node in nodes_of(root):
        if not isinstance(node, Call) or node.function not in _METHODS or not _is_conversion(node.target, "semver"):
            continue
        version = node.args[0]
        text = version.args[0] if isinstance(version, Call) and version.function == "semver" else None
        if isinstance(text, Literal) and isinstance(text.value, str):
            for taint in taints:
                if VERSION.value_of(taint.value) == VERSION.value_of(text.value):
                    symbol = _METHODS[node.function]
                    return (
                        f"{node.function} is strict: write compareTo(semver('{text.value}')) {symbol}= 0 "
                        f"if {describe_taint(taint)} is meant, too"
                    )
    return ""


def _orders(root: Node) -> Iterator[tuple[str, Node, Node]]:
    """Yield every ordering comparison from both sides: symbol, left and right."""
    for node in nodes_of(root):
        if isinstance(node, Call) and (symbol := _SYMBOLS.get(node.function)) is not None:
            left, right = node.args
            yield symbol, left, right
            yield _MIRRORED[symbol], right, left


def _is_value(node: Node | None) -> bool:
    if not isinstance(node, Select) or not isinstance(node.operand, Ident):
        return False
    return node.operand.name == TAINT and node.field == "value" and not node.test_only


def _is_conversion(node: Node | None, function: str) -> bool:
    return isinstance(node, Call) and node.function == function and bool(node.args) and _is_value(node.args[0])
