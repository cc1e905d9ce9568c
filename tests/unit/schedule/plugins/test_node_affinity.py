"""NodeAffinity: labels, names, versions, preferences, and what the profile adds."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import alone, candidates_of, cluster_of, node, passing, pod, scores, verdicts

from moorage.columns.cluster import Cluster
from moorage.model.gates import default_gates, gates_from
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import NodeAffinity as NodeAffinityView
from moorage.model.types.pod import PreferredSchedulingTerm
from moorage.schedule.framework.plugin import Code, check_plugin
from moorage.schedule.plugins.node_affinity import CONFLICT_REASON, ENFORCED_REASON, POD_REASON, NodeAffinity

GATES = default_gates()
SEMVER = gates_from({"TaintTolerationNodeAffinitySemverComparisonOperators": True})


def cluster() -> Cluster:
    return cluster_of(
        node("a", {"disk": "ssd", "gen": "9", "version": "1.9.0"}),
        node("b", {"disk": "hdd", "gen": "10", "version": "1.10.0"}),
        node("c", {"gen": "x"}),
    )


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def labels(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(requirements)}


def fields(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {"matchFields": list(requirements)}


def preferred(*terms: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    wishes = [{"weight": weight, "preference": term} for weight, term in terms]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}}


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "a"),
        ({"nodeSelector": {"disk": "ssd", "gen": "10"}}, ""),
        (required(labels(requirement("disk", "In", "ssd", "hdd"))), "ab"),
        (required(labels(requirement("disk", "In", "nvme"))), ""),
        (required(labels(requirement("disk", "NotIn", "ssd"))), "bc"),
        (required(labels(requirement("disk", "Exists"))), "ab"),
        (required(labels(requirement("disk", "DoesNotExist"))), "c"),
        (required(labels(requirement("gen", "Gt", "9"))), "b"),
        (required(labels(requirement("gen", "Lt", "10"))), "a"),
        (required(labels(requirement("gen", "Gt", "1"), requirement("disk", "In", "hdd"))), "b"),
        (required(labels(requirement("disk", "In", "ssd")), labels(requirement("gen", "In", "x"))), "ac"),
        (required(fields(requirement("metadata.name", "NotIn", "b"))), "ac"),
        (required(fields(requirement("metadata.uid", "In", "b"))), ""),
        (required(fields(requirement("metadata.uid", "NotIn", "b"))), "abc"),
        (required(), ""),
        (required({}), ""),
        (required(labels(requirement("disk", "Near", "ssd"))), ""),
        (required(labels(requirement("disk", "Near", "ssd")), labels(requirement("gen", "In", "x"))), "c"),
        ({"nodeSelector": {"disk": "ssd"}, **required(labels(requirement("gen", "Exists")))}, "a"),
        (required(labels(requirement("version", "SemverGt", "1.9.5"))), ""),
    ],
)
def test_required_terms(spec: dict[str, Any], left: str) -> None:
    asked = alone(NodeAffinity(GATES), cluster(), pod(**spec))
    assert passing(asked) == set(left)
    for verdict in verdicts(asked).values():
        assert verdict.reasons[0].startswith(POD_REASON)
        assert verdict.code is Code.UNRESOLVABLE
        assert verdict.details


def test_versions_are_compared_behind_their_gate() -> None:
    spec = required(labels(requirement("version", "SemverGt", "1.9.5")))
    asked = alone(NodeAffinity(SEMVER), cluster(), pod(**spec))
    assert passing(asked) == {"b"}
    assert "1.9.0" in verdicts(asked)["a"].details[0]


def test_labels_that_appear_later_are_asked_about() -> None:
    grown = cluster()
    asked = alone(NodeAffinity(GATES), grown, pod(**required(labels(requirement("gen", "Gt", "9")))))
    assert passing(asked) == {"b"}
    grown.add_node(node("d", {"gen": "11"}))
    grown.update_node(node("a", {"gen": "12"}))
    grown.update_node(node("b", {"gen": "8"}))
    assert passing(asked) == {"a", "d"}


def test_node_affinity_skips_pods_without_affinity() -> None:
    asked = alone(NodeAffinity(GATES), cluster(), pod())
    assert not asked.filters
    assert not asked.scores


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([fields(requirement("metadata.name", "In", "a"))], {"a"}),
        (
            [fields(requirement("metadata.name", "In", "a")), fields(requirement("metadata.name", "In", "c"))],
            {"a", "c"},
        ),
        ([fields(requirement("metadata.name", "In", "a")), labels(requirement("disk", "Exists"))], None),
        ([fields(requirement("metadata.name", "NotIn", "a"))], None),
        ([fields(requirement("metadata.name", "In", "a"), requirement("metadata.name", "In", "a"))], {"a"}),
        ([], None),
    ],
)
def test_terms_that_name_nodes_narrow_the_search(terms: list[dict[str, Any]], names: set[str] | None) -> None:
    narrowed = alone(NodeAffinity(GATES), cluster(), pod(**required(*terms))).prefilter
    assert narrowed.only_nodes == names
    assert narrowed.narrowed_by == (() if names is None else ("NodeAffinity",))


def test_terms_that_require_two_names_match_no_node() -> None:
    both = fields(requirement("metadata.name", "In", "a"), requirement("metadata.name", "In", "b"))
    asked = candidates_of(cluster(), pod(**required(both)))
    assert asked.rejection is not None
    assert asked.rejection[1].reasons == (CONFLICT_REASON,)
    assert asked.best() == -1
    assert not asked.feasible().any()


def test_weights_are_added_up_and_scaled_to_the_highest() -> None:
    wishes = preferred(
        (50, labels(requirement("disk", "Exists"))),
        (10, labels(requirement("gen", "Gt", "9"))),
        (0, labels(requirement("gen", "Exists"))),
        (30, {}),
        (7, fields(requirement("metadata.name", "In", "c"))),
    )
    assert scores(alone(NodeAffinity(GATES), cluster(), pod(**wishes))) == {"a": 83, "b": 100, "c": 11}


def test_preference_that_no_node_meets_scores_zero() -> None:
    wishes = preferred((50, labels(requirement("disk", "In", "tape"))))
    assert scores(alone(NodeAffinity(GATES), cluster(), pod(**wishes))) == {"a": 0, "b": 0, "c": 0}


def term(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((NodeSelectorRequirement(key, operator, values),))


def test_what_the_profile_adds_is_required_and_preferred_of_every_pod() -> None:
    added = NodeAffinityView(
        NodeSelector((term("disk", "Exists"),)), (PreferredSchedulingTerm(5, term("disk", "In", "hdd")),)
    )
    asked = alone(NodeAffinity(GATES, added), cluster(), pod(nodeSelector={"gen": "x"}))
    assert {name: verdict.reasons for name, verdict in verdicts(asked).items()} == {
        "a": (POD_REASON,),
        "b": (POD_REASON,),
        "c": (ENFORCED_REASON,),
    }
    item = asked.filters[0]
    assert item.plugin.reasons(item.prepared.want, asked.cluster, asked.cluster.nodes.alive.nonzero()[0]) == {
        POD_REASON: 2,
        ENFORCED_REASON: 1,
    }
    assert scores(alone(NodeAffinity(GATES, added), cluster(), pod())) == {"a": 0, "b": 100}


@pytest.mark.parametrize(
    ("added", "text"),
    [
        (
            NodeAffinityView(NodeSelector((term("disk", "Near", "x"),))),
            "parsing addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: ",
        ),
        (
            NodeAffinityView(None, (PreferredSchedulingTerm(5, term("a", "Gt", "x")),)),
            "parsing addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: ",
        ),
    ],
)
def test_a_profile_that_does_not_parse_is_refused(added: NodeAffinityView, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        NodeAffinity(GATES, added)


def test_the_reason_says_that_the_gate_is_off_in_the_scheduler() -> None:
    spec = required(labels(requirement("version", "SemverGt", "1.0.0")))
    gate = "TaintTolerationNodeAffinitySemverComparisonOperators"
    asked = alone(NodeAffinity(GATES), cluster(), pod(**spec))
    reason = f"{POD_REASON} (operator SemverGt needs the feature gate {gate} in the scheduler)"
    assert {verdict.reasons for verdict in verdicts(asked).values()} == {(reason,)}
    assert verdicts(alone(NodeAffinity(SEMVER), cluster(), pod(**spec)))["c"].reasons == (POD_REASON,)


VERSION_ODD = f"{POD_REASON} ({{version: 1.2.x}} is not a semantic version)"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (required(labels(requirement("version", "SemverGt", "1.0"))), VERSION_ODD),
        (required(labels(requirement("version", "SemverEq", "1.0"), requirement("disk", "In", "ssd"))), VERSION_ODD),
        # Another label keeps the node away, whatever its version is.
        (required(labels(requirement("version", "SemverGt", "1.0"), requirement("disk", "In", "hdd"))), POD_REASON),
        ({"nodeSelector": {"disk": "hdd"}, **required(labels(requirement("version", "SemverGt", "1.0")))}, POD_REASON),
        (
            required(labels(requirement("disk", "In", "hdd")), labels(requirement("version", "SemverGt", "1.0"))),
            VERSION_ODD,
        ),
        (
            required(
                {
                    **labels(requirement("version", "SemverGt", "1.0")),
                    **fields(requirement("metadata.name", "NotIn", "n")),
                }
            ),
            POD_REASON,
        ),
        (required(labels(requirement("missing", "SemverGt", "1.0"))), POD_REASON),
        # Every release has Gt and Lt: the reason is recorded from Kubernetes, and the details name the label.
        (required(labels(requirement("version", "Gt", "1"))), POD_REASON),
    ],
)
def test_the_reason_names_a_label_that_cannot_be_compared(spec: dict[str, Any], reason: str) -> None:
    there = cluster_of(node("n", {"version": "1.2.x", "disk": "ssd"}))
    asked = alone(NodeAffinity(SEMVER), there, pod(**spec))
    assert verdicts(asked)["n"].reasons == (reason,)
    item = asked.filters[0]
    check_plugin(item.plugin, there, asked.shape, item.prepared)


def test_logs_and_metric_hear_of_every_operator() -> None:
    there = cluster_of(
        node("a", {"gen": "x"}), node("b", {"gen": "y"}), node("c", {"gen": "x"}), node("d", {"gen": "9"})
    )
    plugin = NodeAffinity(SEMVER)
    asked = alone(plugin, there, pod(**required(labels(requirement("gen", "Gt", "9")))))
    (verdict,) = (verdict for name, verdict in verdicts(asked).items() if name == "b")
    assert verdict.details == ('label gen=y: "y" is not a 64-bit integer',)
    found = plugin.unreadable(asked.filters[0].prepared.want, there)
    assert [(one.found.value, one.found.operator, one.slots.tolist()) for one in found] == [
        ("x", "Gt", [0, 2]),
        ("y", "Gt", [1]),
    ]


def test_the_profiles_affinity_names_the_label_too() -> None:
    term = NodeSelectorTerm(matchExpressions=(NodeSelectorRequirement("version", "SemverGt", ("1.0",)),))
    added = NodeAffinityView(requiredDuringSchedulingIgnoredDuringExecution=NodeSelector((term,)))
    there = cluster_of(node("n", {"version": "1.2.x"}))
    asked = alone(NodeAffinity(SEMVER, added), there, pod())
    assert verdicts(asked)["n"].reasons == (f"{ENFORCED_REASON} ({{version: 1.2.x}} is not a semantic version)",)
    item = asked.filters[0]
    check_plugin(item.plugin, there, asked.shape, item.prepared)
