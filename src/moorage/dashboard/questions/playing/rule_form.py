"""Describe a toleration or requirement in one form (text, number, version or CEL expression), and find its other forms.

Numbers and versions read different texts, so that one can only stand for the other where the values are both.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.match.comparison import CANONICAL_INTEGER, INTEGER
from moorage.match.comparison import VERSION as VERSIONS
from moorage.match.operators import NODE_SELECTOR, TOLERATION, OperatorPlace, comparisons_in, less_first
from moorage.match.semver import version_or_none
from moorage.model.types.node import NodeSelectorRequirement
from moorage.model.types.pod import Toleration

TEXT, NUMBER, VERSION, EXPRESSION = FORMS = ("text", "number", "version", "expression")
_KINDS = {
    (NUMBER, TOLERATION): CANONICAL_INTEGER,
    (NUMBER, NODE_SELECTOR): INTEGER,
    (VERSION, TOLERATION): VERSIONS,
    (VERSION, NODE_SELECTOR): VERSIONS,
}
_NUMBER_OPERATORS = " and ".join(less_first(comparisons_in(TOLERATION, CANONICAL_INTEGER)))
_NO_EQUALITY = "no operator compares numbers for equality; texts are compared instead, a number has one spelling"
_NO_ORDER = "texts are equal or not, they have no order"
TITLES = {
    TEXT: "text: Equal and Exists",
    NUMBER: f"numbers: {_NUMBER_OPERATORS}",
    VERSION: f"versions: {', '.join(less_first(comparisons_in(TOLERATION, VERSIONS)))}",
    EXPRESSION: "CEL expression",
}

RuleItem = Toleration | NodeSelectorRequirement


class RuleForm(msgspec.Struct, frozen=True):
    """A toleration or requirement in one form, or a sentence that says why that form cannot express it.

    `differs` says where it matches other values than the original; it is empty if it never does.
    """

    form: str
    item: RuleItem | None = None
    why_not: str = ""
    differs: str = ""


class OtherForm(msgspec.Struct, frozen=True):
    """An operator (empty for that of equal texts) and a value, or None and why there is no such form."""

    form: str
    operator: str | None
    value: str
    sentence: str


def operator_of(symbol: str, form: str, place: OperatorPlace) -> str:
    """Return the operator that compares numbers or versions in this way; empty if no operator does."""
    operators = comparisons_in(place, _KINDS[form, place])
    return next((name for name, comparison in operators.items() if comparison.symbol == symbol), "")


def other_forms(form: str, symbol: str, value: str, place: OperatorPlace) -> Iterator[OtherForm]:
    """Yield a comparison with the other operators. `symbol` is empty where nothing is compared."""
    version = version_or_none(value)
    if not symbol:
        for other in (NUMBER, VERSION):
            yield OtherForm(other, None, "", "it compares with no single value")
    elif form == TEXT:
        yield OtherForm(NUMBER, None, "", _NO_EQUALITY)
        if version is None:
            yield OtherForm(VERSION, None, "", "its value is not a semantic version")
        else:
            spellings = "also takes other spellings of the version: 1.2, v1.2 and 1.2.0 are one"
            yield OtherForm(VERSION, operator_of("=", VERSION, place), value, spellings)
    elif form == NUMBER:
        yield OtherForm(TEXT, None, "", _NO_ORDER)
        if version is None or value.startswith("-"):
            yield OtherForm(VERSION, None, "", "its value is not a version")
        else:
            whole = "the same for whole numbers only: 4.2.0 is a version, but not a number"
            yield OtherForm(VERSION, operator_of(symbol, VERSION, place), str(version), whole)
    else:
        yield _version_as_text(symbol, value)
        is_whole = version is not None and not (version.minor or version.patch or version.pre) and version.major < 2**63
        if version is None or not is_whole:
            yield OtherForm(NUMBER, None, "", f"{value} is not a whole number")
        elif not (operator := operator_of(symbol, NUMBER, place)):
            yield OtherForm(NUMBER, None, "", _NO_EQUALITY)
        else:
            whole = "the same for whole numbers only: a version such as 4.2.0 is not a number, and then never matches"
            yield OtherForm(NUMBER, operator, str(version.major), whole)


def _version_as_text(symbol: str, value: str) -> OtherForm:
    if symbol != "=":
        return OtherForm(TEXT, None, "", _NO_ORDER)
    return OtherForm(TEXT, "", value, "takes this spelling only: 1.2, v1.2.0 and 1.2.0 are three texts")


# -- YAML -------------------------------------------------------------------------------------------------------------

#: Plain scalars that YAML reads as something else than text.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def item_yaml(item: RuleItem) -> str:
    """Write a toleration or requirement as an item of its list, to copy."""
    names = ("key", "operator", "value", "values", "effect", "tolerationSeconds", "expression")
    fields = ((name, getattr(item, name, None)) for name in names)
    lines = [f"{name}: {_scalar(name, value)}" for name, value in fields if value not in ("", None, ())] or ["{}"]
    return "- " + "\n  ".join(lines)


def _scalar(name: str, value: Any) -> str:
    """Keys, operators and effects are plain words where they can be; values, which may look like numbers, are not."""
    if name == "expression" and "\n" in value:
        lines = value.rstrip("\n").split("\n")
        return "|-\n" + "\n".join(f"    {line}" for line in lines)
    is_word = name in ("key", "operator", "effect") and value[:1].isalpha() and value.lower() not in _WORDS
    if is_word and value.translate(str.maketrans("", "", "-_./")).isalnum():
        return str(value)
    return json.dumps(value, ensure_ascii=False)
