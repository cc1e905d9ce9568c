"""Put the forms of each toleration or requirement of a rule side by side, each as YAML and tried on the cluster.

A form is tried on all distinct values of the cluster, and on made-up ones around the thresholds that it names.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from moorage.dashboard.questions.playing.cel_form import expression_of, with_operator
from moorage.dashboard.questions.playing.known_nodes import KnownNodes
from moorage.dashboard.questions.playing.needed_gates import gates_needed
from moorage.dashboard.questions.playing.rule_form import (
    EXPRESSION,
    FORMS,
    NUMBER,
    TEXT,
    TITLES,
    VERSION,
    RuleForm,
    item_yaml,
    other_forms,
)
from moorage.lint.facts.possible_taints import EFFECTS
from moorage.match.comparison import CANONICAL_INTEGER, INTEGER
from moorage.match.comparison import VERSION as VERSIONS
from moorage.match.evaluation.accounts import Evaluations
from moorage.match.node_selector import compile_node_selector
from moorage.match.operators import EQUAL, EXISTS, NODE_SELECTOR, TOLERATION, comparison_of, gate_of
from moorage.match.taint_messages import describe_taint_with_effect, describe_toleration
from moorage.match.tolerations import ProgramCache, compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.names import label_value_errors
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Taint
from moorage.model.types.pod import PodSpec, Toleration

#: Of a long list the first ones are shown.
MAX_RULES = 10
_MAX_TAINTS = 500
_MAX_LABELS = 2_000
_MAX_SHOWN = 5
_COMMON_VALUES = ("", "0", "1", "5", "007", "950", "1.2", "1.2.3", "v1.2.3", "1.2.3-rc.1", "4.2.0", "abc", "true")
_NO_EXPRESSIONS = "node affinity has no expressions: CEL exists in tolerations only"
_REQUIREMENT_TITLES = {**TITLES, TEXT: "text: In, NotIn and Exists"}
_ALL_GATES = all_gates()

#: Something to try a form on, as it is written.
_Tried = tuple[str, Any]


def all_forms(spec: PodSpec, given: int, nodes: KnownNodes, evaluations: Evaluations) -> list[dict[str, Any]]:
    """Return the forms of the first tolerations that the user gave, or of the requirements and labels of affinity."""
    tolerations = spec.tolerations[: min(given, MAX_RULES)]
    forms = [_toleration_forms(toleration, nodes, evaluations) for toleration in tolerations]
    forms += [_requirement_forms(requirement, nodes) for requirement in _requirements(spec)[: MAX_RULES - len(forms)]]
    return forms


def _requirements(spec: PodSpec) -> list[NodeSelectorRequirement]:
    labels = [NodeSelectorRequirement(key, "In", (value,)) for key, value in spec.nodeSelector.items()]
    node = spec.affinity.nodeAffinity if spec.affinity else None
    if node is None:
        return labels
    required = node.requiredDuringSchedulingIgnoredDuringExecution
    terms = [*(required.nodeSelectorTerms if required else ())]
    terms += [one.preference for one in node.preferredDuringSchedulingIgnoredDuringExecution]
    return labels + [requirement for term in terms for requirement in term.matchExpressions]


# -- tolerations ------------------------------------------------------------------------------------------------------


def form_of(toleration: Toleration) -> str:
    """Return the form that a toleration is in."""
    if toleration.expression:
        return EXPRESSION
    comparison = comparison_of(toleration.operator, TOLERATION)
    if comparison is None:
        return TEXT
    return NUMBER if comparison.kind is CANONICAL_INTEGER else VERSION


def toleration_in_other_forms(toleration: Toleration) -> Iterator[RuleForm]:
    """Yield the toleration in each form that it is not in."""
    form = form_of(toleration)
    if form == EXPRESSION:
        converted = with_operator(toleration.expression, toleration.tolerationSeconds)
        reason = converted.why_not or f"it compares no such value: see {TITLES[converted.form]}"
        for name in (TEXT, NUMBER, VERSION):
            yield converted if name == converted.form else RuleForm(name, why_not=reason)
        return
    comparison = comparison_of(toleration.operator, TOLERATION)
    symbol = comparison.symbol if comparison is not None else "" if toleration.operator == EXISTS else "="
    for other in other_forms(form, symbol, toleration.value, TOLERATION):
        if other.operator is None:
            yield RuleForm(other.form, why_not=other.sentence)
        else:
            item = replace(toleration, operator=other.operator or EQUAL, value=other.value)
            yield RuleForm(other.form, item, differs=other.sentence)
    expression = expression_of(toleration)
    if expression is None:
        yield RuleForm(EXPRESSION, why_not="the operator or its value cannot be read")
    else:
        yield RuleForm(EXPRESSION, Toleration(expression=expression, tolerationSeconds=toleration.tolerationSeconds))


def _toleration_forms(toleration: Toleration, nodes: KnownNodes, evaluations: Evaluations) -> dict[str, Any]:
    programs = ProgramCache(16, evaluations)
    known = [(describe_taint_with_effect(taint), taint) for taint, _ in nodes.taints[:_MAX_TAINTS]]

    def matcher(item: Toleration) -> Callable[[Taint], bool]:
        return compile_tolerations((item,), _ALL_GATES, programs).tolerates

    def agreement(other: Toleration) -> dict[str, Any]:
        made_up = [(describe_taint_with_effect(taint), taint) for taint in _taints_around((toleration, other))]
        return _agreement(known, made_up, matcher(toleration), matcher(other))

    current = form_of(toleration)
    described = describe_toleration(toleration).removeprefix("toleration ")
    effect = f" {toleration.effect}" if toleration.effect else ""
    title = described if current == EXPRESSION else f"{toleration.key or 'every key'}{effect}: {described}"
    forms = [RuleForm(current, toleration), *toleration_in_other_forms(toleration)]
    return _side_by_side(title, forms, TITLES, agreement)


def _taints_around(tolerations: Iterable[Toleration]) -> Iterator[Taint]:
    """Yield taints of the tolerations' keys, and of one other, with values next to their thresholds."""
    keys = [*dict.fromkeys(one.key for one in tolerations if one.key), "other.example.com/key"]
    values = dict.fromkeys(_COMMON_VALUES)
    for toleration in tolerations:
        for kind in (CANONICAL_INTEGER, VERSIONS):
            values |= dict.fromkeys(kind.around(toleration.value))
        values[toleration.value] = None
    tried = [value for value in values if not label_value_errors(value)]
    for key in keys[:4]:
        for value in tried[:60]:
            for effect in EFFECTS:
                yield Taint(key, value, effect)


# -- requirements of node affinity ------------------------------------------------------------------------------------


def _requirement_forms(requirement: NodeSelectorRequirement, nodes: KnownNodes) -> dict[str, Any]:
    key = requirement.key
    comparison = comparison_of(requirement.operator, NODE_SELECTOR)
    current = TEXT if comparison is None else NUMBER if comparison.kind is INTEGER else VERSION
    value = requirement.values[0] if len(requirement.values) == 1 else ""
    symbol = comparison.symbol if comparison is not None else "=" if requirement.operator == "In" and value else ""
    forms = [RuleForm(current, requirement)]
    for other in other_forms(current, symbol, value, NODE_SELECTOR):
        if other.operator is None:
            forms.append(RuleForm(other.form, why_not=other.sentence))
        else:
            item = NodeSelectorRequirement(key, other.operator or "In", (other.value,))
            forms.append(RuleForm(other.form, item, differs=other.sentence))
    forms.append(RuleForm(EXPRESSION, why_not=_NO_EXPRESSIONS))
    values = list(dict.fromkeys(node.labels.get(key) for node in nodes))[:_MAX_LABELS]

    def with_labels(tried: Iterable[str | None]) -> list[_Tried]:
        return [(f"{key}={text or ''}", {} if text is None else {key: text}) for text in tried]

    def matcher(item: NodeSelectorRequirement) -> Callable[[dict[str, str]], bool]:
        selector = compile_node_selector(NodeSelector((NodeSelectorTerm(matchExpressions=(item,)),)), _ALL_GATES)
        return lambda labels: selector.match(labels, "")

    def agreement(other: NodeSelectorRequirement) -> dict[str, Any]:
        made_up = [text for text in (*_COMMON_VALUES, *requirement.values, *other.values) if text not in values]
        return _agreement(with_labels(values), with_labels(made_up), matcher(requirement), matcher(other))

    named = f" {', '.join(requirement.values)}" if requirement.values else ""
    title = f"label {key} {requirement.operator}{named}"
    return _side_by_side(title, forms, _REQUIREMENT_TITLES, agreement)


# -- both -------------------------------------------------------------------------------------------------------------


def _side_by_side(
    title: str, forms: list[RuleForm], titles: dict[str, str], agreement: Callable[[Any], dict[str, Any]]
) -> dict[str, Any]:
    """Return the forms as the page shows them; the first one is as written, the others are tried against it."""
    shown = []
    for form in sorted(forms, key=lambda one: FORMS.index(one.form)):
        card: dict[str, Any] = {"form": form.form, "title": titles[form.form], "current": form is forms[0]}
        shown.append(card)
        card["exists"] = form.item is not None
        if form.item is None:
            card["whyNot"] = form.why_not
            continue
        card |= {
            "yaml": item_yaml(form.item),
            "differs": form.differs,
            "exact": not form.differs,
            "gates": _gates(form.item),
        }
        if form is not forms[0]:
            card["agreement"] = agreement(form.item)
    return {"title": title, "forms": shown}


def _gates(item: Toleration | NodeSelectorRequirement) -> list[str]:
    if isinstance(item, Toleration):
        return list(gates_needed(PodSpec(tolerations=(item,))))
    gate = gate_of(item.operator, NODE_SELECTOR)
    return [gate.name] if gate is not None else []


def _agreement(
    known: Sequence[_Tried], made_up: Sequence[_Tried], before: Callable[[Any], bool], after: Callable[[Any], bool]
) -> dict[str, Any]:
    """Return how many values were tried, and the first for which the two answer differently."""

    def differences(tried: Sequence[_Tried]) -> list[dict[str, Any]]:
        answers = ((text, before(value), after(value)) for text, value in tried)
        return [{"taint": text, "before": one, "after": other} for text, one, other in answers if one != other]

    differ, also = differences(known), differences(made_up)
    return {
        "ofCluster": len(known),
        "madeUp": len(made_up),
        "differ": _first_of_each_value(differ),
        "differs": len(differ),
        "madeUpDiffer": _first_of_each_value(also),
        "madeUpDiffers": len(also),
    }


def _first_of_each_value(differences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first ones, each value once: effects seldom make a difference."""
    by_value = {difference["taint"].partition(":")[0]: difference for difference in reversed(differences)}
    return list(reversed(by_value.values()))[:_MAX_SHOWN]
