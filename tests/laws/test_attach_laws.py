"""Lowered pods go where the original would: the default scheduler with all gates off against ours with all gates on.

The values of taints change between two looks, and each node is mirrored in the write that changes it; match labels come
later, by whoever answers their questions, and until then no node is allowed that the original forbids.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.attach.workloads import PREFERRED, REQUIRED, pod, requirement, term, toleration
from tests.unit.schedule.clusters import candidates_of, cluster_of

from moorage.attach.formats import MARKER_KEY, MAX_TERMS, SOFT_WEIGHT, is_match_label, is_own_domain
from moorage.attach.mirror import mirrored
from moorage.attach.objects import lowered, raised
from moorage.attach.pods import tolerations_of
from moorage.attach.questions import asked_labels, match_questions
from moorage.attach.tolerations import Pair, compared_pairs, covers
from moorage.attach.versions import PART
from moorage.match.node_selector import compile_preferred_terms
from moorage.match.semver import version_or_none
from moorage.match.tolerations import ProgramCache, compile_tolerations
from moorage.model.gates import GateSet, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod

Raw = dict[str, Any]
Lower = Callable[[Raw], Raw]
Mirror = Callable[[Raw, Raw | None], dict[str, str]]

ALL_ON, ALL_OFF = gates_from({"AllAlpha": True}), gates_from({"AllAlpha": False})
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_LONG = ".".join(["a" * 55] * 4)  # leaves no room for the domain of the mirror
_SLA = "node.kubernetes.io/sla"  # below the prefix of the taints that the state of a node makes
_KEYS = (_SLA, _SLA, "example.com/driver", f"{_LONG}/key")
_NUMBERS = ("0", "7", "940", "950", "960", "9223372036854775807")
_VERSIONS = ("1", "1.2", "v1.2.0", "1.2.3", "1.2.4-rc.1", "1.2.3-rc.1", "v535.104.5", "01.2.3", "999999.0.1")
_ODD = ("", "007", "word", "9223372036854775808", "1.2.3-01", "2026010100.1.0", "1.1000000.0")
_VALUES = st.sampled_from((*_NUMBERS, *_VERSIONS, *_VERSIONS, *_ODD))
_EXPRESSIONS = ("taint.value.startsWith('9')", "int(taint.value) % 2 == 0", "taint.value in ['word', '7']")
_LABELS = st.dictionaries(st.sampled_from(("kernel", "example.com/gpu", "zone")), _VALUES, max_size=3)


@st.composite
def _tolerations(draw: st.DrawFn) -> Raw:
    operator, values = draw(
        st.sampled_from(
            [
                ("Equal", (*_NUMBERS, *_VERSIONS)),
                ("Exists", ("",)),
                ("Gt", (*_NUMBERS, "-5")),
                ("Lt", (*_NUMBERS, "-5")),
                ("Gt", _NUMBERS),
                ("SemverGt", _VERSIONS),
                ("SemverLt", _VERSIONS),
                ("SemverEq", _VERSIONS),
                ("CEL", _EXPRESSIONS),
            ]
        )
    )
    effect = draw(st.sampled_from(("", *_EFFECTS)))
    seconds = draw(st.sampled_from((None, None, 60))) if effect == "NoExecute" else None
    keys = (*_KEYS, "") if operator == "Exists" else _KEYS  # without a key it covers every taint
    return toleration(operator, draw(st.sampled_from(values)), draw(st.sampled_from(keys)), effect, seconds)


_REQUIREMENTS = st.one_of(
    st.builds(requirement, st.just("zone"), st.sampled_from(("In", "NotIn")), _VALUES.filter(bool)),
    st.builds(requirement, st.sampled_from(("kernel", "zone")), st.sampled_from(("Gt", "Lt")), st.just("7")),
    st.builds(
        requirement,
        st.sampled_from(("kernel", "example.com/gpu")),
        st.sampled_from(("SemverGt", "SemverLt", "SemverEq")),
        st.sampled_from([version for version in _VERSIONS if "rc" not in version]),
    ),
)
_TERMS: st.SearchStrategy[Raw] = st.one_of(
    st.lists(_REQUIREMENTS, min_size=1, max_size=2).map(lambda them: term(*them)),
    st.sampled_from(("n0", "n1")).map(lambda name: {"matchFields": [requirement("metadata.name", "In", name)]}),
    st.just({}),
)
_PODS = st.builds(
    lambda tolerations, required, preferred: pod(*tolerations, required=required or None, preferred=preferred),
    st.lists(_tolerations(), max_size=4),
    st.lists(_TERMS, max_size=2, unique_by=str),
    st.lists(st.builds(lambda it: {"weight": 3, "preference": it}, _TERMS), max_size=1),
)
#: Pods that ask questions, which match labels answer.
_ASKING = st.builds(
    lambda tolerations: pod(*tolerations),
    st.lists(
        st.builds(
            toleration,
            st.just("CEL"),
            st.sampled_from(_EXPRESSIONS),
            st.sampled_from((_SLA, "example.com/driver")),
            st.sampled_from(("NoSchedule", "NoExecute")),
        ),
        min_size=1,
        max_size=2,
    ),
)
#: Comparisons of several keys, each for two effects: their product is often more than 64 terms.
_CROWDED = st.builds(
    lambda tolerations, required: pod(*tolerations, required=required or None),
    st.lists(
        st.builds(
            lambda operator, value, key: toleration(operator, value, key),
            st.sampled_from(("Gt", "Lt", "Equal", "Gt")),
            st.sampled_from(("7", "950")),
            st.sampled_from((_SLA, "example.com/driver", "a", "b")),
        ),
        min_size=4,
        max_size=7,
    ),
    st.lists(_TERMS, max_size=2, unique_by=str),
)
_TAINTS = st.lists(
    st.builds(
        lambda key, value, effect: {"key": key, "value": value, "effect": effect},
        st.sampled_from(_KEYS),
        _VALUES,
        st.sampled_from(_EFFECTS),
    ),
    max_size=3,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)


class Step(NamedTuple):
    """What all nodes are, at one time."""

    taints: list[list[Raw]]
    labels: list[dict[str, str]]


_STEPS = st.builds(Step, st.lists(_TAINTS, min_size=3, max_size=3), st.lists(_LABELS, min_size=3, max_size=3))


def nodes_of(step: Step) -> list[Raw]:
    return [
        {
            "metadata": {"name": f"n{number}", "labels": dict(labels)},
            "spec": {"taints": taints},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        }
        for number, (taints, labels) in enumerate(zip(step.taints, step.labels, strict=True))
    ]


def natively(document: Raw) -> Raw:
    """Return a pod whose expressions are written as the API server with all gates on has them."""
    document = deepcopy(document)
    tolerations = document["spec"].get("tolerations") or []
    document["spec"]["tolerations"] = [_natively(each) if each["operator"] == "CEL" else each for each in tolerations]
    return document


def _natively(given: Raw) -> Raw:
    parts = [f"taint.key == '{given['key']}'", f"({given['value']})"]
    if "effect" in given:
        parts.insert(1, f"taint.effect == '{given['effect']}'")
    return {"expression": " && ".join(parts)}


def allowed(document: Raw, nodes: list[Raw], gates: GateSet) -> list[bool]:
    """Return which nodes pass the filters of the default profile."""
    cluster = cluster_of(*(convert_view(node, Node) for node in nodes))
    asked = convert_view({**document, "metadata": {"name": "p", "namespace": "default"}}, Pod)
    feasible = candidates_of(cluster, asked, gates).feasible()
    return [bool(np.take(feasible, cluster.nodes.slot_of[node["metadata"]["name"]])) for node in nodes]


def answered(node: Raw, document: Raw, asked: set[str]) -> dict[str, str]:
    """Return the labels of a node with the match labels that are true."""
    taints = convert_view(node, Node).spec.taints
    questions = match_questions(tolerations_of(document))
    true = {each.label: "true" for each in questions if each.holds(taints, ProgramCache())}
    return {**node["metadata"]["labels"], **{label: text for label, text in true.items() if label in asked}}


def with_labels(node: Raw, labels: dict[str, str]) -> Raw:
    return {**node, "metadata": {**node["metadata"], "labels": labels}}


def has_no_number(node: Raw) -> bool:
    """Whether a version of a node has a part so large that it is not mirrored, and so matches nothing."""
    labels = {key: value for key, value in node["metadata"]["labels"].items() if not is_own_domain(key)}
    values = [*(taint["value"] for taint in node["spec"]["taints"]), *labels.values()]
    versions = [version for value in values if (version := version_or_none(value)) is not None]
    return any(max(each.major, each.minor, each.patch) >= PART for each in versions)


def placement_law(
    lower: Lower = lowered, mirror: Mirror = mirrored, pods: st.SearchStrategy[Raw] = _PODS
) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(pods, st.lists(_STEPS, min_size=2, max_size=2))
    def law(document: Raw, steps: list[Step]) -> None:
        changed = lower(document)
        asked = asked_labels(changed["spec"])
        before: list[Raw | None] = [None, None, None]
        for step in steps:
            original = allowed(natively(document), nodes_of(step), ALL_ON)
            nodes = nodes_of(step)
            for node, old in zip(nodes, before, strict=True):
                ours = (
                    {} if old is None else {k: v for k, v in old["metadata"]["labels"].items() if "moorage.dev/" in k}
                )
                node["metadata"]["labels"] |= ours
            nodes = [with_labels(node, mirror(node, old)) for node, old in zip(nodes, before, strict=True)]
            at_once = allowed(changed, nodes, ALL_OFF)
            assert all(may for may, does in zip(original, at_once, strict=True) if does)
            nodes = [with_labels(node, answered(node, document, asked)) for node in nodes]
            found = allowed(changed, nodes, ALL_OFF)
            assert all(
                does == may or (may and has_no_number(node))
                for node, may, does in zip(nodes, original, found, strict=True)
            )
            before = list(nodes)

    return law


def limit_law(lower: Lower = lowered) -> Callable[[], None]:
    """Never more than 64 terms: what would need more asks one question by a match label."""

    @LAW_SETTINGS
    @given(_CROWDED)
    def law(document: Raw) -> None:
        changed = lower(document)
        affinity = changed["spec"].get("affinity", {}).get("nodeAffinity", {})
        terms = affinity.get(REQUIRED, {}).get("nodeSelectorTerms", [])
        tolerations = tolerations_of(document)
        comparing = [each for each in tolerations if each["operator"] in ("Gt", "Lt")]
        needed = max(1, sum(bool(each) for each in _own_terms(document)))
        for key in dict.fromkeys(each["key"] for each in comparing):
            told = {(each["operator"], each.get("value")) for each in tolerations if each["key"] == key}
            needed *= (1 + len(told)) ** 2
        asked = asked_labels(changed["spec"])
        assert bool(asked) == (needed > MAX_TERMS and bool(comparing))
        assert len([each for each in terms if each]) <= MAX_TERMS

    return law


def _own_terms(document: Raw) -> list[Raw]:
    affinity = document["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms: list[Raw] = affinity.get(REQUIRED, {}).get("nodeSelectorTerms", [])
    return terms


def preference_law(lower: Lower = lowered) -> Callable[[], None]:
    """Own preferences count as before, and each soft taint that is compared counts if it is accepted, or not there."""

    @LAW_SETTINGS
    @given(_PODS, _STEPS)
    def law(document: Raw, step: Step) -> None:
        changed = lower(document)
        asked = asked_labels(changed["spec"])
        tolerations = tolerations_of(document)
        pairs = [pair for pair in compared_pairs(tolerations) if pair.effect == "PreferNoSchedule"]
        pairs = [pair for pair in pairs if not any(_is_any(each, pair) for each in tolerations)]
        accepted = compile_tolerations(convert_view(natively(document), Pod).spec.tolerations, ALL_ON)
        for node in nodes_of(step):
            mirror = with_labels(node, mirrored(node, None))
            if has_no_number(mirror):
                continue
            taints = convert_view(node, Node).spec.taints
            soft = {Pair(taint.key, taint.effect): accepted.tolerates(taint) for taint in taints}
            extra = preferred_score(changed, with_labels(node, answered(mirror, document, asked)), ALL_OFF)
            extra -= preferred_score(document, node, ALL_ON)
            fine = sum(soft.get(pair, True) for pair in pairs)
            assert extra >= fine * SOFT_WEIGHT
            assert extra > 0 or not fine
            assert fine or not extra

    return law


def _is_any(each: Raw, pair: Pair) -> bool:
    return each["operator"] == "Exists" and covers(each, pair)


def preferred_score(document: Raw, node: Raw, gates: GateSet) -> int:
    """Return what the preferred terms of a pod give a node."""
    spec = convert_view({**document, "metadata": {}}, Pod).spec
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    terms = affinity.preferredDuringSchedulingIgnoredDuringExecution if affinity is not None else ()
    return compile_preferred_terms(terms, gates).score(node["metadata"]["labels"], node["metadata"]["name"])


def reversal_law(lower: Lower = lowered, back: Lower = raised) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_PODS)
    def law(document: Raw) -> None:
        given_document = deepcopy(document)
        once = lower(document)
        assert document == given_document
        assert lower(once) == once
        assert back(once) == document

    return law


def test_lowered_pods_may_go_where_the_original_may() -> None:
    placement_law()()


def test_pods_with_many_alternatives_may_go_where_the_original_may() -> None:
    placement_law(pods=_CROWDED)()


def test_more_than_sixty_four_terms_are_one_match_label() -> None:
    limit_law()()


def test_preferences_count_as_those_of_the_original() -> None:
    preference_law()()


def test_lowering_is_idempotent_and_raising_returns_the_original() -> None:
    reversal_law()()


def test_a_mirror_that_is_written_later_is_noticed() -> None:
    def late(node: Raw, old: Raw | None) -> dict[str, str]:
        stale = {**node, "spec": (old or {}).get("spec") or {}}
        return mirrored(stale, old)

    assert_notices(placement_law(mirror=late))


def test_match_labels_that_outlive_the_taints_are_noticed() -> None:
    def lasting(node: Raw, old: Raw | None) -> dict[str, str]:
        return mirrored(node, node)

    assert_notices(placement_law(mirror=lasting, pods=_ASKING))


def test_match_labels_that_outlive_taints_with_the_prefix_of_kubernetes_are_noticed() -> None:
    def shown(node: Raw) -> list[Raw]:
        return [taint for taint in node["spec"]["taints"] if not taint["key"].startswith("node.kubernetes.io/")]

    def lasting(node: Raw, old: Raw | None) -> dict[str, str]:
        return mirrored(node, node if old is not None and shown(old) == shown(node) else old)

    assert_notices(placement_law(mirror=lasting, pods=_ASKING))


def test_affinity_that_forgets_a_requirement_is_noticed() -> None:
    def forgetful(document: Raw) -> Raw:
        changed = deepcopy(lowered(document))
        affinity = changed["spec"].get("affinity", {}).get("nodeAffinity", {})
        for each in affinity.get(REQUIRED, {}).get("nodeSelectorTerms", []):
            each["matchExpressions"] = each.get("matchExpressions", [])[:-1]
        return changed

    assert_notices(placement_law(lower=forgetful))


def test_lowering_that_drops_preferences_is_noticed() -> None:
    def dropping(document: Raw) -> Raw:
        changed = deepcopy(lowered(document))
        changed["spec"].get("affinity", {}).get("nodeAffinity", {}).pop(PREFERRED, None)
        return changed

    assert_notices(reversal_law(lower=dropping))


def test_lowering_that_adds_to_what_it_has_added_is_noticed() -> None:
    def again(document: Raw) -> Raw:
        changed = deepcopy(lowered(document))
        tolerations = changed["spec"].get("tolerations", [])
        if any(each.get("key") == MARKER_KEY for each in tolerations):
            tolerations.append(dict(tolerations[-1]))
        return changed

    assert_notices(reversal_law(lower=again))


def test_a_question_that_is_not_asked_is_noticed() -> None:
    def silent(document: Raw) -> Raw:
        changed = deepcopy(lowered(document))
        affinity = changed["spec"].get("affinity", {}).get("nodeAffinity", {})
        for each in affinity.get(REQUIRED, {}).get("nodeSelectorTerms", []):
            kept = [one for one in each.get("matchExpressions", []) if not is_match_label(one["key"])]
            each["matchExpressions"] = kept or [requirement("kubernetes.io/os", "DoesNotExist")]
        return changed

    assert_notices(placement_law(lower=silent, pods=_CROWDED))
    assert_notices(limit_law(lower=silent))


def test_a_preference_that_is_lost_is_noticed() -> None:
    def hasty(document: Raw) -> Raw:
        changed = deepcopy(lowered(document))
        affinity = changed["spec"].get("affinity", {}).get("nodeAffinity", {})
        affinity[PREFERRED] = affinity.get(PREFERRED, [])[:-1]
        return changed

    assert_notices(preference_law(lower=hasty))
