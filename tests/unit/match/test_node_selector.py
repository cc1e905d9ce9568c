import pytest

from moorage.match.node_selector import (
    NO_TERMS,
    NodeSelectorMatcher,
    compile_node_selector,
    compile_preferred_terms,
    compile_required_node_affinity,
)
from moorage.match.requirement import aggregate
from moorage.model.gates import GateSet, default_gates, gates_from
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import Affinity, NodeAffinity, PreferredSchedulingTerm

ON, OFF = gates_from({"AllAlpha": True}), default_gates()


def _expressions(*requirements: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(matchExpressions=requirements)


def _fields(*requirements: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(matchFields=requirements)


def _compile(*terms: NodeSelectorTerm, gates: GateSet = OFF) -> NodeSelectorMatcher:
    return compile_node_selector(NodeSelector(terms), gates)


KERNEL = _expressions(NodeSelectorRequirement("kernel", "SemverGt", ("5.10.0",)))
ZONE_A = _expressions(NodeSelectorRequirement("zone", "In", ("a",)))
BROKEN = _expressions(NodeSelectorRequirement("zone", "In"))


@pytest.mark.parametrize(
    ("operator", "values", "label", "matches"),
    [
        ("In", ("a", "b"), "a", True),
        ("In", ("a", "b"), None, False),
        ("NotIn", ("a",), None, True),
        ("NotIn", ("a",), "a", False),
        ("Exists", (), "", True),
        ("Exists", (), None, False),
        ("DoesNotExist", (), None, True),
        ("DoesNotExist", (), "", False),
        ("Gt", ("007",), "8", True),
        ("Gt", ("7",), "007", False),
        ("Lt", ("7",), "x", False),
        ("SemverGt", ("5.4",), "5.10.0", True),
        ("SemverLt", ("5.4",), "v5.4.0-rc.1", True),
        ("SemverEq", ("5.4",), "5.4.0", True),
        ("SemverEq", ("5.4",), "5.4.x", False),
        ("SemverEq", ("5.4",), None, False),
    ],
)
def test_every_operator(operator: str, values: tuple[str, ...], label: str | None, matches: bool) -> None:
    labels = {} if label is None else {"k": label}
    matcher = _compile(_expressions(NodeSelectorRequirement("k", operator, values)), gates=ON)
    assert not matcher.errors
    assert matcher.match(labels, "n1") is matches
    assert (matcher.explain(labels, "n1") is None) is matches


def test_terms_are_alternatives_and_requirements_are_not() -> None:
    both = _expressions(*ZONE_A.matchExpressions, NodeSelectorRequirement("disk", "Exists"))
    matcher = _compile(both, _expressions(NodeSelectorRequirement("gpu", "Exists")))
    assert matcher.match({"zone": "a", "disk": ""}, "n1")
    assert matcher.match({"gpu": "yes"}, "n1")
    assert not matcher.match({"zone": "a"}, "n1")
    assert matcher.explain({"zone": "a"}, "n1") == (
        "term 1: label disk is missing, disk is required; term 2: label gpu is missing, gpu is required"
    )


def test_the_sentence_of_a_single_term_is_the_inequality() -> None:
    assert _compile(KERNEL, gates=ON).explain({"kernel": "5.4.0"}, "n1") == (
        "label kernel=5.4.0: 5.4.0 > 5.10.0 is false"
    )


def test_no_terms_and_empty_terms_match_no_node() -> None:
    for matcher in (_compile(), _compile(NodeSelectorTerm())):
        assert not matcher.match({}, "n1")
        assert matcher.explain({}, "n1") == NO_TERMS
        assert not matcher.errors


def test_an_operator_is_of_a_named_type_and_so_shown_as_json() -> None:
    matcher = _compile(_expressions(NodeSelectorRequirement("k", "<odd>", ())), gates=ON)
    assert 'Unsupported value: "\\u003codd\\u003e": ' in str(matcher.errors[0])


def test_semver_operators_need_their_gate() -> None:
    off = _compile(KERNEL)
    text = (
        'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "SemverGt": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
    )
    assert aggregate(off.errors) == text
    assert not off.match({"kernel": "6.0"}, "n1")
    assert off.explain({"kernel": "6.0"}, "n1") == text
    assert _compile(KERNEL, gates=ON).match({"kernel": "6.0"}, "n1")


def test_a_term_that_does_not_parse_leaves_the_others_alone() -> None:
    matcher = _compile(BROKEN, ZONE_A)
    text = (
        "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: "
        "for 'in', 'notin' operators, values set can't be empty"
    )
    assert aggregate(matcher.errors) == text
    assert matcher.match({"zone": "a"}, "n1")
    assert matcher.match_error({"zone": "a"}, "n1") is None
    assert not matcher.match({"zone": "b"}, "n1")
    assert matcher.match_error({"zone": "b"}, "n1") == text


def test_the_path_of_errors_can_be_given() -> None:
    selector = compile_node_selector(NodeSelector((BROKEN,)), OFF, "spec.nodeAffinity.required")
    assert str(selector.errors[0]).startswith(
        "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values:"
    )


def test_fields_are_the_name_and_a_nameless_node_has_none() -> None:
    only_n1 = _compile(_fields(NodeSelectorRequirement("metadata.name", "In", ("n1",))))
    assert only_n1.match({}, "n1")
    assert only_n1.match({}, "")
    assert only_n1.explain({}, "n2") == "field metadata.name: n2 = n1 is false"
    not_n1 = _compile(_fields(NodeSelectorRequirement("metadata.name", "NotIn", ("n1",))))
    assert not_n1.explain({}, "n1") == "field metadata.name: n1 != n1 is false"
    other = _compile(_fields(NodeSelectorRequirement("metadata.namespace", "In", ("n1",))))
    assert other.explain({}, "n1") == 'field metadata.namespace: "" = n1 is false'


@pytest.mark.parametrize("operator", ["Exists", "DoesNotExist", "Gt", "Lt", "SemverGt", "SemverLt", "SemverEq", ""])
def test_fields_take_two_operators_only(operator: str) -> None:
    matcher = _compile(_fields(NodeSelectorRequirement("metadata.name", operator, ("1",))), gates=ON)
    assert aggregate(matcher.errors) == (
        f'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "{operator}": '
        'supported values: "In", "NotIn"'
    )


def test_fields_take_one_value_only() -> None:
    matcher = _compile(_fields(NodeSelectorRequirement("metadata.name", "In", ("a", "b"))))
    assert aggregate(matcher.errors) == (
        'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element'
    )


def test_required_affinity_is_the_plain_selector_first() -> None:
    affinity = Affinity(NodeAffinity(NodeSelector((BROKEN, ZONE_A))))
    required = compile_required_node_affinity({"disk": "ssd"}, affinity, OFF)
    assert required.errors
    assert required.match({"disk": "ssd", "zone": "a"}, "n1")
    assert required.match_error({"disk": "hdd"}, "n1") is None
    assert required.match_error({"disk": "ssd"}, "n1")
    assert required.explain({"disk": "hdd", "zone": "b"}, "n1") == (
        "label disk=hdd: hdd = ssd is false; term 1: nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: "
        "null: for 'in', 'notin' operators, values set can't be empty; term 2: label zone=b: b in (a) is false"
    )


@pytest.mark.parametrize("affinity", [None, Affinity(), Affinity(NodeAffinity())])
def test_without_requirements_every_node_will_do(affinity: Affinity | None) -> None:
    required = compile_required_node_affinity({}, affinity, OFF)
    assert required.match({}, "n1")
    assert required.explain({}, "n1") is None
    assert required.match_error({}, "n1") is None
    assert not required.errors


def test_weights_of_matching_terms_add_up() -> None:
    preferred = (
        PreferredSchedulingTerm(5, ZONE_A),
        PreferredSchedulingTerm(7, _expressions(NodeSelectorRequirement("gpu", "Exists"))),
        PreferredSchedulingTerm(0, BROKEN),
        PreferredSchedulingTerm(9, NodeSelectorTerm()),
    )
    terms = compile_preferred_terms(preferred, OFF)
    assert not terms.errors
    assert terms.score({"zone": "a", "gpu": ""}, "n1") == 12
    assert terms.score({"zone": "a"}, "n1") == 5
    assert terms.explain({"zone": "a"}, "n1") == ["weight 7 is not added: label gpu is missing, gpu is required"]


def test_a_preferred_term_that_does_not_parse_is_an_error() -> None:
    terms = compile_preferred_terms((PreferredSchedulingTerm(5, BROKEN),), OFF)
    assert str(terms.errors[0]).startswith("[0].matchExpressions[0].values: Invalid value: null:")
    assert terms.score({"zone": "a"}, "n1") == 0


def test_a_preferred_term_whose_gate_is_off_adds_nothing_and_is_no_error() -> None:
    preferred = (PreferredSchedulingTerm(5, KERNEL), PreferredSchedulingTerm(3, ZONE_A))
    labels = {"kernel": "6.0", "zone": "a"}
    off = compile_preferred_terms(preferred, OFF)
    assert not off.errors
    assert off.score(labels, "n1") == 3
    assert compile_preferred_terms(preferred, ON).score(labels, "n1") == 8
