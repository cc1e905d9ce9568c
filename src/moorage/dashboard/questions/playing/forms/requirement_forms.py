"""Say a requirement of node affinity by text, as a number and as a version; node affinity has no expressions."""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.playing.forms.said import EXPRESSION, NUMBER, TEXT, TITLES, VERSION, requirement_yaml
from moorage.dashboard.questions.playing.known_nodes import KnownNodes
from moorage.match.comparison import INTEGER, Comparison
from moorage.match.comparison import VERSION as VERSIONS
from moorage.match.node_selector import NodeSelectorMatcher, compile_node_selector
from moorage.match.operators import NODE_SELECTOR, comparison_of, comparisons_in, gate_of
from moorage.match.semver import version_or_none
from moorage.model.gates import all_gates
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

_NO_EXPRESSIONS = "node affinity has no expressions: CEL exists in tolerations only"
_NO_ORDER = "In and NotIn compare texts, they have no order"
_TITLES = {**TITLES, TEXT: "text: In, NotIn and Exists"}
_MAX_TRIED = 2_000
_MAX_SHOWN = 5
_COMMON_VALUES = ("", "0", "5", "007", "1.2", "1.2.3", "v1.2.3", "1.2.3-rc.1", "4.2.0", "abc")
_ALL_GATES = all_gates()


def requirement_forms(requirement: NodeSelectorRequirement, nodes: KnownNodes) -> dict[str, Any]:
    """Return the requirement in all forms, each with where it differs on the cluster's labels."""
    comparison = comparison_of(requirement.operator, NODE_SELECTOR)
    current = TEXT if comparison is None else NUMBER if comparison.kind is INTEGER else VERSION
    forms = [_shown(current, requirement, requirement, "", nodes, current=True)]
    for form, made, told in _others(requirement, comparison, current):
        if made is None:
            title = _TITLES[form]
            forms.append({"form": form, "title": title, "exists": False, "whyNot": told, "current": False})
        else:
            forms.append(_shown(form, made, requirement, told, nodes))
    order = (TEXT, NUMBER, VERSION, EXPRESSION)
    values = f" {', '.join(requirement.values)}" if requirement.values else ""
    title = f"label {requirement.key} {requirement.operator}{values}"
    return {"title": title, "forms": sorted(forms, key=lambda one: order.index(one["form"]))}


def _others(
    requirement: NodeSelectorRequirement, comparison: Comparison | None, current: str
) -> Iterator[tuple[str, NodeSelectorRequirement | None, str]]:
    """Yield the other forms: the requirement and in what it differs, or None and why there is none."""
    value = requirement.values[0] if len(requirement.values) == 1 else ""
    version = version_or_none(value)
    if current == TEXT:
        yield NUMBER, None, "no operator compares numbers for equality"
        if requirement.operator == "In" and version is not None:
            made = _with(requirement, "=", VERSIONS, value)
            yield VERSION, made, "also takes other spellings of the version: 1.2, v1.2 and 1.2.0 are one"
        else:
            yield VERSION, None, "only In with one version has a counterpart"
    elif current == NUMBER:
        yield TEXT, None, _NO_ORDER
        symbol = comparison.symbol if comparison is not None else ""
        made = None if value.startswith("-") or version is None else _with(requirement, symbol, VERSIONS, str(version))
        told = "the same for whole numbers only: 4.2.0 is a version but no number"
        yield VERSION, made, told if made is not None else "its value is not a version"
    else:
        symbol = comparison.symbol if comparison is not None else ""
        yield TEXT, *_version_as_text(requirement, symbol, value)
        is_whole = version is not None and not (version.minor or version.patch or version.pre)
        made = _with(requirement, symbol, INTEGER, str(version.major)) if is_whole and version is not None else None
        told = "the same for whole numbers only: a version such as 4.2.0 is no number, and then never matches"
        yield NUMBER, made, told if made is not None else f"{value} is not a whole number, or there is no such operator"
    yield EXPRESSION, None, _NO_EXPRESSIONS


def _version_as_text(
    requirement: NodeSelectorRequirement, symbol: str, value: str
) -> tuple[NodeSelectorRequirement | None, str]:
    if symbol != "=":
        return None, _NO_ORDER
    return NodeSelectorRequirement(requirement.key, "In", (value,)), "In takes this spelling only"


def _with(requirement: NodeSelectorRequirement, symbol: str, kind: Any, value: str) -> NodeSelectorRequirement | None:
    operators = comparisons_in(NODE_SELECTOR, kind)
    operator = next((name for name, one in operators.items() if one.symbol == symbol), None)
    return NodeSelectorRequirement(requirement.key, operator, (value,)) if operator is not None else None


def _shown(
    form: str,
    made: NodeSelectorRequirement,
    original: NodeSelectorRequirement,
    differs: str,
    nodes: KnownNodes,
    *,
    current: bool = False,
) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "form": form,
        "title": _TITLES[form],
        "exists": True,
        "current": current,
        "yaml": requirement_yaml(made),
        "differs": differs,
        "exact": not differs,
        "gates": [gate.name] if (gate := gate_of(made.operator, NODE_SELECTOR)) is not None else [],
    }
    return shown if current else {**shown, "agreement": _agreement(original, made, nodes)}


def _agreement(first: NodeSelectorRequirement, second: NodeSelectorRequirement, nodes: KnownNodes) -> dict[str, Any]:
    """Return how many values of the label were tried, and the first for which the two answer differently."""
    one, other = _matcher(first), _matcher(second)
    values = list(dict.fromkeys(node.labels.get(first.key) for node in nodes))[:_MAX_TRIED]
    made_up = [value for value in (*_COMMON_VALUES, *first.values, *second.values) if value not in values]

    def differences(tried: list[Any]) -> list[dict[str, Any]]:
        found = []
        for value in tried:
            labels = {} if value is None else {first.key: value}
            before, after = one.match(labels, ""), other.match(labels, "")
            if before != after:
                found.append({"taint": f"{first.key}={value or ''}", "before": before, "after": after})
        return found

    differ, also = differences(values), differences(made_up)
    return {
        "ofCluster": len(values),
        "madeUp": len(made_up),
        "differ": differ[:_MAX_SHOWN],
        "differs": len(differ),
        "madeUpDiffer": also[:_MAX_SHOWN],
        "madeUpDiffers": len(also),
    }


def _matcher(requirement: NodeSelectorRequirement) -> NodeSelectorMatcher:
    return compile_node_selector(NodeSelector((NodeSelectorTerm(matchExpressions=(requirement,)),)), _ALL_GATES)
