"""Selectors: print and parse round trips, and an explanation exactly when there is no match, for every matcher."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.match.label_selector import Selector, compile_label_selector, parse_selector
from moorage.match.node_selector import (
    NodeSelectorMatcher,
    compile_node_selector,
    compile_preferred_terms,
    compile_required_node_affinity,
)
from moorage.match.pod_affinity import PodAffinityTermMatcher, compile_pod_affinity_term
from moorage.match.requirement import SelectorError
from moorage.model.gates import GateSet, gates_from
from moorage.model.types.meta import LabelSelector, LabelSelectorRequirement
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import Affinity, NodeAffinity, PodAffinityTerm, PreferredSchedulingTerm

_KEYS = st.sampled_from(["a", "b", "in", "example.com/zone"])
_VALUES = st.sampled_from(["", "x", "y", "5", "007", "1.2.3", "v1.3", "notin"])
_SOME_VALUES = st.lists(_VALUES, min_size=1, max_size=3, unique=True).map(tuple)
LABELS = st.dictionaries(_KEYS, _VALUES, max_size=3)
_LABEL_REQUIREMENTS = st.one_of(
    st.builds(LabelSelectorRequirement, _KEYS, st.sampled_from(["In", "NotIn"]), _SOME_VALUES),
    st.builds(LabelSelectorRequirement, _KEYS, st.sampled_from(["Exists", "DoesNotExist"]), st.just(())),
)
LABEL_SELECTORS = st.builds(LabelSelector, LABELS, st.lists(_LABEL_REQUIREMENTS, max_size=3).map(tuple))
_OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "SemverGt", "SemverLt", "SemverEq", "Bogus"]
_NODE_REQUIREMENTS = st.builds(
    NodeSelectorRequirement,
    _KEYS,
    st.sampled_from(_OPERATORS),
    st.one_of(st.just(()), _VALUES.map(lambda value: (value,)), _SOME_VALUES),
)
_FIELD_REQUIREMENTS = st.builds(
    NodeSelectorRequirement,
    st.sampled_from(["metadata.name", "metadata.namespace"]),
    st.sampled_from(["In", "NotIn", "Exists"]),
    st.sampled_from([("n1",), ("n2",), ("",), ()]),
)
TERMS = st.builds(
    NodeSelectorTerm,
    st.lists(_NODE_REQUIREMENTS, max_size=2).map(tuple),
    st.lists(_FIELD_REQUIREMENTS, max_size=1).map(tuple),
)
NODE_SELECTORS = st.builds(NodeSelector, st.lists(TERMS, max_size=3).map(tuple))
NODE_NAMES = st.sampled_from(["", "n1", "n2"])
GATES = st.booleans().map(lambda on: gates_from({"TaintTolerationNodeAffinitySemverComparisonOperators": on}))
NAMESPACES = st.sampled_from(["default", "team-a", "team-b"])
POD_TERMS = st.builds(
    PodAffinityTerm,
    labelSelector=st.one_of(st.none(), LABEL_SELECTORS),
    namespaces=st.lists(NAMESPACES, max_size=2).map(tuple),
    topologyKey=st.just("zone"),
    namespaceSelector=st.one_of(st.none(), LABEL_SELECTORS),
)


def round_trip_law(show: Callable[[Selector], str]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(LABEL_SELECTORS, st.lists(LABELS, max_size=3))
    def law(structured: LabelSelector, label_sets: list[dict[str, str]]) -> None:
        selector = compile_label_selector(structured)
        again = parse_selector(show(selector))
        assert str(again) == str(selector)
        assert [again.match(labels) for labels in label_sets] == [selector.match(labels) for labels in label_sets]

    return law


def label_explanation_law(explain: Callable[[Selector, dict[str, str]], str | None]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.one_of(st.none(), LABEL_SELECTORS), LABELS)
    def law(structured: LabelSelector | None, labels: dict[str, str]) -> None:
        selector = compile_label_selector(structured)
        assert selector.match(labels) is (explain(selector, labels) is None)

    return law


def node_explanation_law(
    explain: Callable[[NodeSelectorMatcher, dict[str, str], str], str | None],
) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(NODE_SELECTORS, LABELS, NODE_NAMES, GATES)
    def law(selector: NodeSelector, labels: dict[str, str], name: str, gates: GateSet) -> None:
        matcher = compile_node_selector(selector, gates)
        sentence = explain(matcher, labels, name)
        assert matcher.match(labels, name) is (sentence is None)
        assert sentence is None or "\n" not in sentence

    return law


def pod_explanation_law(
    explain: Callable[[PodAffinityTermMatcher, dict[str, str], str, dict[str, str]], str | None],
) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(POD_TERMS, LABELS, NAMESPACES, LABELS)
    def law(term: PodAffinityTerm, labels: dict[str, str], namespace: str, namespace_labels: dict[str, str]) -> None:
        matcher = compile_pod_affinity_term(term, "default")
        sentence = explain(matcher, labels, namespace, namespace_labels)
        assert matcher.match(labels, namespace, namespace_labels) is (sentence is None)

    return law


def test_what_is_printed_parses_back() -> None:
    round_trip_law(str)()


def test_round_trip_law_notices_a_lost_exclamation_mark() -> None:
    assert_notices(round_trip_law(lambda selector: str(selector).replace("!", "")))


def test_label_selectors_explain_exactly_what_they_refuse() -> None:
    label_explanation_law(lambda selector, labels: selector.explain(labels))()


def test_label_law_notices_an_explanation_of_the_first_requirement_only() -> None:
    def broken(selector: Selector, labels: dict[str, str]) -> str | None:
        return Selector(selector.requirements[:1], selector.nothing).explain(labels)

    assert_notices(label_explanation_law(broken))


def test_node_selectors_explain_exactly_what_they_refuse() -> None:
    node_explanation_law(lambda matcher, labels, name: matcher.explain(labels, name))()


def test_node_law_notices_an_explanation_without_the_fields() -> None:
    assert_notices(node_explanation_law(lambda matcher, labels, name: matcher.explain(labels, "")))


def test_pod_terms_explain_exactly_what_they_refuse() -> None:
    pod_explanation_law(lambda matcher, *pod: matcher.explain(*pod))()


def test_pod_law_notices_an_explanation_without_the_namespace() -> None:
    assert_notices(pod_explanation_law(lambda matcher, labels, *where: matcher.selector.explain(labels)))


@LAW_SETTINGS
@given(LABELS, NODE_SELECTORS, LABELS, NODE_NAMES, GATES)
def test_required_node_affinity_is_both_of_its_parts(
    plain: dict[str, str], selector: NodeSelector, labels: dict[str, str], name: str, gates: GateSet
) -> None:
    required = compile_required_node_affinity(plain, Affinity(NodeAffinity(selector)), gates)
    expected = plain.items() <= labels.items() and compile_node_selector(selector, gates).match(labels, name)
    assert required.match(labels, name) is expected
    assert (required.explain(labels, name) is None) is expected
    assert required.match_error(labels, name) is None or not expected


@LAW_SETTINGS
@given(st.lists(st.builds(PreferredSchedulingTerm, st.integers(0, 9), TERMS), max_size=3), LABELS, NODE_NAMES, GATES)
def test_a_score_and_what_was_not_added_make_up_all_weights(
    preferred: list[PreferredSchedulingTerm], labels: dict[str, str], name: str, gates: GateSet
) -> None:
    terms = compile_preferred_terms(preferred, gates)
    missing = sum(int(sentence.split()[1]) for sentence in terms.explain(labels, name))
    assert terms.score(labels, name) + missing == sum(weight for weight, _ in terms.terms)


@LAW_SETTINGS
@given(st.one_of(st.text(max_size=20), st.text("ab,!=()<> \tin\0", max_size=20)))
def test_any_text_is_a_selector_or_a_selector_error(text: str) -> None:
    try:
        selector = parse_selector(text)
    except SelectorError:
        return
    assert str(parse_selector(str(selector))) == str(selector)
