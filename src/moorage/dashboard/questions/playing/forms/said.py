"""Describe one way to say a rule, and write it down as YAML to copy."""

import json
from typing import Any

import msgspec

from moorage.match.comparison import CANONICAL_INTEGER
from moorage.match.comparison import VERSION as VERSIONS
from moorage.match.operators import TOLERATION, comparisons_in, less_first
from moorage.model.types.node import NodeSelectorRequirement
from moorage.model.types.pod import Toleration

TEXT, NUMBER, VERSION, EXPRESSION = FORMS = ("text", "number", "version", "expression")
#: The operators that compare numbers, as words of a sentence.
NUMBER_OPERATORS = " and ".join(less_first(comparisons_in(TOLERATION, CANONICAL_INTEGER)))
TITLES = {
    TEXT: "text: Equal and Exists",
    NUMBER: f"numbers: {NUMBER_OPERATORS}",
    VERSION: f"versions: {', '.join(less_first(comparisons_in(TOLERATION, VERSIONS)))}",
    EXPRESSION: "CEL expression",
}


class Said(msgspec.Struct, frozen=True):
    """A rule in one form: as tolerations, any of which may match, or a sentence that says why there is none.

    `differs` says where it matches other taints than the original; it is empty if it never does.
    """

    form: str
    tolerations: tuple[Toleration, ...] = ()
    why_not: str = ""
    differs: str = ""


def toleration_yaml(tolerations: tuple[Toleration, ...]) -> str:
    return "\n".join(_item(_written(one)) for one in tolerations)


def _written(toleration: Toleration) -> list[tuple[str, Any]]:
    names = ("key", "operator", "value", "effect", "tolerationSeconds", "expression")
    fields = ((name, getattr(toleration, name)) for name in names)
    return [(name, value) for name, value in fields if value not in ("", None)]


def requirement_yaml(requirement: NodeSelectorRequirement) -> str:
    values = list(requirement.values)
    fields: list[tuple[str, Any]] = [("key", requirement.key), ("operator", requirement.operator)]
    return _item([*fields, ("values", values)] if values else fields)


def _item(fields: list[tuple[str, Any]]) -> str:
    lines = [f"{name}: {_scalar(name, value)}" for name, value in fields] or ["{}"]
    return "- " + "\n  ".join(lines)


def _scalar(name: str, value: Any) -> str:
    """Keys, operators and effects are plain words where they can be; values, which may look like numbers, are not."""
    if name == "expression" and "\n" in str(value):
        lines = str(value).rstrip("\n").split("\n")
        return "|-\n" + "\n".join(f"    {line}" for line in lines)
    is_plain = isinstance(value, str) and name in ("key", "operator", "effect") and value[:1].isalpha()
    if is_plain and value.replace("-", "").replace("_", "").replace(".", "").replace("/", "").isalnum():
        return str(value) if value.lower() not in _WORDS else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


#: Plain scalars that YAML reads as something else than text.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
