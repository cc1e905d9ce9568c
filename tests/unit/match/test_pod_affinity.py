import pytest

from moorage.match.pod_affinity import compile_pod_affinity, compile_pod_affinity_term
from moorage.match.requirement import SelectorError
from moorage.model.types.meta import LabelSelector, LabelSelectorRequirement
from moorage.model.types.pod import Affinity, PodAffinity, PodAffinityTerm, PodAntiAffinity, WeightedPodAffinityTerm

WEB = LabelSelector({"app": "web"})
TEAM_A = LabelSelector({"team": "a"})
MALFORMED = LabelSelector(matchExpressions=(LabelSelectorRequirement("a", "Gt", ("1",)),))


@pytest.mark.parametrize(
    ("namespaces", "namespace_selector", "meant"),
    [
        ((), None, {"default"}),
        (("team-b",), None, {"team-b"}),
        ((), LabelSelector(), {"default", "team-a", "team-b"}),
        ((), TEAM_A, {"team-a"}),
        (("team-b",), TEAM_A, {"team-a", "team-b"}),
        (("team-b",), LabelSelector(), {"default", "team-a", "team-b"}),
    ],
)
def test_which_namespaces_a_term_of_a_pod_in_default_means(
    namespaces: tuple[str, ...], namespace_selector: LabelSelector | None, meant: set[str]
) -> None:
    term = PodAffinityTerm(WEB, namespaces, "zone", namespace_selector)
    matcher = compile_pod_affinity_term(term, "default")
    labels_of: dict[str, dict[str, str]] = {"default": {}, "team-a": {"team": "a"}, "team-b": {"team": "b"}}
    for namespace, labels in labels_of.items():
        assert matcher.match({"app": "web"}, namespace, labels) is (namespace in meant)
        assert (matcher.explain({"app": "web"}, namespace, labels) is None) is (namespace in meant)
        assert not matcher.match({"app": "db"}, namespace, labels)


def test_a_term_without_a_label_selector_means_no_pod() -> None:
    matcher = compile_pod_affinity_term(PodAffinityTerm(topologyKey="zone"), "default")
    assert not matcher.match({"app": "web"}, "default", {})
    assert matcher.explain({"app": "web"}, "default", {}) == "a selector that is not set matches nothing"
    assert compile_pod_affinity_term(PodAffinityTerm(LabelSelector()), "default").match({}, "default", {})


def test_the_sentence_says_which_namespaces_are_meant() -> None:
    by_name = compile_pod_affinity_term(PodAffinityTerm(WEB, ("b", "a")), "default")
    assert by_name.explain({}, "c", {}) == "namespace c is not one of the term's namespaces (a, b)"
    by_label = compile_pod_affinity_term(PodAffinityTerm(WEB, (), "zone", TEAM_A), "default")
    assert by_label.explain({}, "c", {"team": "b"}) == (
        "namespace c is not one of the term's namespaces (none), "
        "nor does the namespaceSelector match: label team=b: b = a is false"
    )
    assert by_label.explain({"app": "db"}, "c", {"team": "a"}) == "label app=db: db = web is false"


def test_all_terms_of_a_pod() -> None:
    term = PodAffinityTerm(WEB, (), "zone")
    terms = compile_pod_affinity(
        Affinity(
            podAffinity=PodAffinity((term,), (WeightedPodAffinityTerm(5, term),)),
            podAntiAffinity=PodAntiAffinity((term, term), (WeightedPodAffinityTerm(7, term),)),
        ),
        "default",
    )
    assert [each.topologyKey for each in terms.required_affinity] == ["zone"]
    assert len(terms.required_anti_affinity) == 2
    assert [each.weight for each in terms.preferred_affinity] == [5]
    assert [each.weight for each in terms.preferred_anti_affinity] == [7]
    assert not terms.errors


def test_pods_without_affinity_have_no_terms() -> None:
    assert compile_pod_affinity(None, "default") == compile_pod_affinity(Affinity(), "default")


def test_malformed_selectors_are_kept_as_errors() -> None:
    term = PodAffinityTerm(MALFORMED)
    with pytest.raises(SelectorError):
        compile_pod_affinity_term(term, "default")
    terms = compile_pod_affinity(
        Affinity(podAntiAffinity=PodAntiAffinity((term,), (WeightedPodAffinityTerm(7, term),))), "default"
    )
    assert terms.errors == (
        'requiredAntiAffinityTerms: "Gt" is not a valid label selector operator',
        'preferredAntiAffinityTerms: "Gt" is not a valid label selector operator',
    )
    assert not terms.required_anti_affinity
    assert not terms.preferred_anti_affinity
