"""Node selectors as masks: each requirement is asked once per distinct value, and never twice."""

from collections.abc import Mapping

import numpy as np
import pytest

from moorage.columns.node_table import NodeTable
from moorage.columns.selector_masks import (
    LabelPredicate,
    label_predicate,
    preferred_sum,
    required_predicate,
    selector_predicate,
)
from moorage.match.label_selector import EVERYTHING, NOTHING
from moorage.match.node_selector import (
    compile_node_selector,
    compile_preferred_terms,
    compile_required_node_affinity,
)
from moorage.match.requirement import Requirement, trusted_requirement
from moorage.model.gates import default_gates
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import Affinity, NodeAffinity, PreferredSchedulingTerm

GATES = default_gates()


def table(*labels: Mapping[str, str]) -> NodeTable:
    nodes = NodeTable()
    for i, of_node in enumerate(labels):
        nodes.add(Node(metadata=ObjectMeta(name=f"n{i}", labels=dict(of_node))))
    return nodes


@pytest.mark.parametrize("operator", ["in", "notin", "=", "==", "!=", "exists", "!", "gt", "lt"])
def test_a_mask_is_the_requirement_asked_of_every_node(operator: str) -> None:
    nodes = table({"k": "1"}, {"k": "5"}, {}, {"k": "x"}, {"k": "5"})
    values = () if operator in ("exists", "!") else ("5", "9") if operator in ("in", "notin") else ("5",)
    requirement = trusted_requirement("k", operator, values)
    predicate = LabelPredicate(requirement, nodes)
    for label in ("9", "0", ""):  # values that appear later
        mask = predicate.mask()
        for slot, node in nodes:
            assert bool(mask[slot]) is predicate.at(slot) is requirement.match(node.metadata.labels)
        nodes.add(Node(metadata=ObjectMeta(name=f"later{label}", labels={"k": label})))
        assert predicate.at(nodes.slot_of[f"later{label}"]) is requirement.match({"k": label})


def test_a_value_is_asked_about_once() -> None:
    nodes = table(*({"k": str(i % 3)} for i in range(50)))
    asked: list[str | None] = []

    def match(labels: Mapping[str, str]) -> bool:
        asked.append(labels.get("k"))
        return labels.get("k") == "1"

    predicate = LabelPredicate(Requirement("k", "gt", ("0",), match), nodes)
    for _ in range(3):
        assert int(np.count_nonzero(predicate.mask()[:50])) == 17
    nodes.add(Node(metadata=ObjectMeta(name="new", labels={"k": "7"})))
    assert predicate.mask()[nodes.slot_of["new"]] == False  # noqa: E712 (it is NumPy's)
    assert asked == [None, "0", "1", "2", "7"]


def test_everything_and_nothing() -> None:
    nodes = table({}, {"k": "1"})
    assert label_predicate(EVERYTHING, nodes).mask()[:2].all()
    assert not label_predicate(NOTHING, nodes).mask().any()
    none = selector_predicate(compile_node_selector(NodeSelector(()), GATES), nodes)
    assert not none.mask().any()
    assert not none.at(0)


def term(*labels: tuple[str, str]) -> NodeSelectorTerm:
    return NodeSelectorTerm(tuple(NodeSelectorRequirement(key, "In", (value,)) for key, value in labels))


@pytest.mark.parametrize(
    ("labels", "terms", "answers"),
    [
        ({"a": "1"}, None, [True, True, False, False]),
        ({"a": "1"}, (term(("b", "1")),), [True, False, False, False]),
        ({"a": "1", "b": "1"}, None, [True, False, False, False]),
        ({}, (term(("a", "1"), ("b", "1")),), [True, False, False, False]),
        ({}, (term(("a", "1")), term(("b", "1"))), [True, True, True, False]),
    ],
)
def test_required_affinity_is_all_labels_and_one_of_the_terms(
    labels: dict[str, str], terms: tuple[NodeSelectorTerm, ...] | None, answers: list[bool]
) -> None:
    nodes = table({"a": "1", "b": "1"}, {"a": "1"}, {"b": "1"}, {})
    affinity = None if terms is None else Affinity(nodeAffinity=NodeAffinity(NodeSelector(terms)))
    predicate = required_predicate(compile_required_node_affinity(labels, affinity, GATES), nodes)
    assert predicate.mask()[:4].tolist() == answers
    assert [predicate.at(slot) for slot in range(4)] == answers


def test_weights_of_matching_terms_are_added() -> None:
    nodes = table({"a": "1"}, {"a": "2"}, {})
    terms = [
        PreferredSchedulingTerm(weight, NodeSelectorTerm((NodeSelectorRequirement("a", operator, values),)))
        for weight, operator, values in [(10, "Exists", ()), (5, "Gt", ("1",)), (3, "Near", ("1",))]
    ]
    summed = preferred_sum(compile_preferred_terms(terms, GATES), nodes)
    assert summed.every()[:3].tolist() == [10, 15, 0]
    assert [summed.at(slot) for slot in range(3)] == [10, 15, 0]


def test_a_node_by_name_and_every_other() -> None:
    nodes = table({}, {})
    for operator, answers in (("In", [False, True]), ("NotIn", [True, False])):
        field = NodeSelectorRequirement("metadata.name", operator, ("n1",))
        selector = compile_node_selector(NodeSelector((NodeSelectorTerm((), (field,)),)), GATES)
        predicate = selector_predicate(selector, nodes)
        assert predicate.mask()[:2].tolist() == answers
        assert [predicate.at(slot) for slot in range(2)] == answers
