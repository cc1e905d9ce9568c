"""PodTopologySpread on small clusters: who is refused, why, and who is better off."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import alone, cluster_of, node, passing, place, pod, scores, verdicts

from moorage.columns.cluster import Cluster
from moorage.model.gates import default_gates, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import Pod, TopologySpreadConstraint
from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.plugin import Code
from moorage.schedule.plugins.pod_topology_spread import LABEL_REASON, SKEW_REASON, PodTopologySpread
from moorage.schedule.plugins.spread_domains import DefaultSelectors

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"matchLabels": {"app": "web"}}
GATES_OFF = {
    "MatchLabelKeysInPodTopologySpread": False,
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": False,
}
TAINT = {"key": "sla", "value": "95", "effect": "NoSchedule"}


def zoned(**spec_of_b1: Any) -> Cluster:
    """a1 and a2 in zone a, b1 in zone b, and one node without a zone."""
    zones = {"a1": "a", "a2": "a"}
    named = [node(name, {HOST: name, ZONE: zone}) for name, zone in zones.items()]
    b1 = node("b1", {HOST: "b1", ZONE: "b"}, **spec_of_b1)
    return cluster_of(*named, b1, node("nowhere", {HOST: "nowhere"}))


def constraint(key: str = ZONE, skew: int = 1, soft: bool = False, **more: Any) -> dict[str, Any]:
    when = "ScheduleAnyway" if soft else "DoNotSchedule"
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": WEB, **more}


def web(name: str = "w", *constraints: dict[str, Any], **spec: Any) -> Pod:
    return pod(name, {"app": "web"}, topologySpreadConstraints=list(constraints), **spec)


def asked(cluster: Cluster, incoming: Pod, plugin: PodTopologySpread | None = None) -> Candidates:
    return alone(plugin or PodTopologySpread(gates_from({"AllAlpha": True})), cluster, incoming)


def test_a_domain_may_not_be_ahead_by_more_than_the_skew() -> None:
    cluster = zoned()
    for name in ("one", "two"):
        place(cluster, web(name), "a1")
    refused = verdicts(asked(cluster, web("w", constraint())))
    assert refused.keys() == {"a1", "a2", "nowhere"}
    assert (refused["a2"].code, refused["a2"].reasons) == (Code.UNSCHEDULABLE, (SKEW_REASON,))
    assert refused["a2"].details == (
        "constraint 1 (app=web): in topology.kubernetes.io/zone=a, 2 + 1 - 0 <= 1 is false (maxSkew 1)",
    )
    assert (refused["nowhere"].code, refused["nowhere"].reasons) == (Code.UNRESOLVABLE, (LABEL_REASON,))
    assert refused["nowhere"].details == ("constraint 1 (app=web): the node has no label topology.kubernetes.io/zone",)


def test_a_pod_that_its_selector_does_not_match_adds_nothing() -> None:
    cluster = zoned()
    place(cluster, web("one"), "a1")
    stranger = pod("x", topologySpreadConstraints=[constraint()])
    assert passing(asked(cluster, stranger)) == {"a1", "a2", "b1"}
    assert passing(asked(cluster, web("w", constraint()))) == {"b1"}


def test_too_few_domains_make_the_fewest_zero() -> None:
    cluster = zoned()
    for name, on in (("one", "a1"), ("two", "b1")):
        place(cluster, web(name), on)
    assert passing(asked(cluster, web("w", constraint(minDomains=2)))) == {"a1", "a2", "b1"}
    refused = verdicts(asked(cluster, web("w", constraint(minDomains=3))))
    assert refused["a1"].details == (
        "constraint 1 (app=web): in topology.kubernetes.io/zone=a, 1 + 1 - 0 <= 1 is false "
        "(maxSkew 1; the fewest count as 0 because there are 2 of 3 minDomains)",
    )


def test_pods_elsewhere_and_pods_on_their_way_out_do_not_count() -> None:
    cluster = zoned()
    going = web("going")
    metadata = ObjectMeta(
        name="going", namespace="default", labels={"app": "web"}, deletionTimestamp="2024-01-01T00:00:00Z"
    )
    place(cluster, Pod(metadata=metadata, spec=going.spec), "a1")
    place(cluster, Pod(metadata=ObjectMeta(name="x", namespace="team", labels={"app": "web"}), spec=going.spec), "a2")
    assert passing(asked(cluster, web("w", constraint()))) == {"a1", "a2", "b1"}


@pytest.mark.parametrize(("selector", "left"), [({}, {"a1", "a2", "b1"}), (None, {"a1", "a2", "b1"})])
def test_empty_selector_counts_no_pods(selector: Any, left: set[str]) -> None:
    cluster = zoned()
    for name in ("one", "two", "three"):
        place(cluster, web(name), "a1")
    assert passing(asked(cluster, web("w", constraint(labelSelector=selector)))) == left


@pytest.mark.parametrize(
    ("policy", "left"), [(None, {"a1", "a2", "b1"}), ("Honor", {"a1", "a2", "b1"}), ("Ignore", {"b1"})]
)
def test_node_affinity_decides_which_nodes_count(policy: str | None, left: set[str]) -> None:
    """Zone b has no pods: if it counts, zone a is ahead of it."""
    cluster = zoned()
    place(cluster, web("one"), "a1")
    stated = constraint() if policy is None else constraint(nodeAffinityPolicy=policy)
    assert passing(asked(cluster, web("w", stated, nodeSelector={ZONE: "a"}))) == left


@pytest.mark.parametrize(
    ("policy", "tolerations", "left"),
    [
        (None, [], {"b1"}),
        ("Ignore", [], {"b1"}),
        ("Honor", [], {"a1", "a2", "b1"}),
        ("Honor", [{"key": "sla", "operator": "Exists"}], {"b1"}),
        ("Honor", [{"key": "sla", "operator": "Gt", "value": "90"}], {"b1"}),
        ("Honor", [{"key": "sla", "operator": "Gt", "value": "99"}], {"a1", "a2", "b1"}),
        ("Honor", [{"key": "sla", "operator": "SemverGt", "value": "90"}], {"b1"}),
        ("Honor", [{"expression": 'taint.key == "sla" && int(taint.value) > 90'}], {"b1"}),
    ],
)
def test_taints_decide_which_nodes_count(policy: str | None, tolerations: list[Any], left: set[str]) -> None:
    """The node of zone b is tainted: only if it counts is zone a ahead."""
    cluster = zoned(taints=[TAINT])
    place(cluster, web("one"), "a1")
    stated = constraint() if policy is None else constraint(nodeTaintsPolicy=policy)
    assert passing(asked(cluster, web("w", stated, tolerations=tolerations))) == left


def test_a_taint_that_comes_or_goes_is_noticed() -> None:
    cluster = zoned()
    place(cluster, web("one"), "a1")
    candidates = asked(cluster, web("w", constraint(nodeTaintsPolicy="Honor")))
    assert passing(candidates) == {"b1"}
    cluster.update_node(node("b1", {HOST: "b1", ZONE: "b"}, taints=[TAINT]))
    assert passing(candidates) == {"a1", "a2", "b1"}
    cluster.remove_node("b1")
    cluster.add_node(node("c1", {HOST: "c1", ZONE: "c"}))
    assert passing(candidates) == {"c1"}


def test_label_keys_narrow_the_selector_unless_the_gate_is_off() -> None:
    cluster = zoned()
    place(cluster, pod("old", {"app": "web", "rev": "1"}), "a1")
    incoming = pod("new", {"app": "web", "rev": "2"}, topologySpreadConstraints=[constraint(matchLabelKeys=["rev"])])
    assert passing(asked(cluster, incoming)) == {"a1", "a2", "b1"}
    off = PodTopologySpread(gates_from(GATES_OFF))
    assert passing(asked(cluster, incoming, off)) == {"b1"}


def test_all_constraints_must_hold_and_the_first_to_fail_gives_the_reason() -> None:
    cluster = zoned()
    place(cluster, web("one"), "a1")
    refused = verdicts(asked(cluster, web("w", constraint(HOST), constraint(skew=2))))
    assert refused.keys() == {"a1", "nowhere"}
    assert refused["a1"].reasons == (SKEW_REASON,)
    assert [detail.split(" (")[0] for detail in refused["nowhere"].details] == ["constraint 2"]


def test_fewer_pods_score_higher() -> None:
    cluster = zoned()
    for name in ("one", "two"):
        place(cluster, web(name), "a1")
    # 2 pods * log(2 zones + 2) = 2.77 against 0; where a key is missing, nothing is scored.
    assert scores(asked(cluster, web("w", constraint(soft=True)))) == {"a1": 0, "a2": 0, "b1": 100, "nowhere": 0}
    # By host: 2 pods * log(4 nodes + 2) = 3.58 → 4 against 0.
    by_host = scores(asked(cluster, web("w", constraint(HOST, soft=True))))
    assert by_host == {"a1": 0, "a2": 100, "b1": 100, "nowhere": 100}


def test_without_matching_pods_all_score_alike() -> None:
    cluster = zoned()
    assert scores(asked(cluster, web("w", constraint(soft=True)))) == {"a1": 100, "a2": 100, "b1": 100, "nowhere": 0}


def test_defaults_spread_the_pods_of_a_service() -> None:
    cluster = zoned()
    selectors = DefaultSelectors()
    plugin = PodTopologySpread(default_gates(), selectors=selectors)
    place(cluster, web("one"), "a1")
    candidates = asked(cluster, web("w"), plugin)
    assert candidates.score_table(candidates.feasible()) == {}
    selectors.set_service("default", "web", {"app": "web"})
    # Hosts: 1 pod * log(4 + 2) + 2; zones, of which "none" is one: 1 pod * log(3 + 2) + 4. A node without a zone is
    # spread by its name alone, and so a1 has 9, a2 8, b1 6 and nowhere 2.
    assert scores(candidates) == {"a1": 22, "a2": 33, "b1": 55, "nowhere": 100}
    selectors.set_service("default", "web", None)
    assert candidates.score_table(candidates.feasible()) == {}


def test_a_profile_may_have_defaults_of_its_own_or_none() -> None:
    cluster = zoned()
    selectors = DefaultSelectors()
    selectors.set_service("default", "web", {"app": "web"})
    stated = TopologySpreadConstraint(maxSkew=1, topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule")
    plugin = PodTopologySpread(default_gates(), selectors=selectors, defaults=[stated])
    place(cluster, web("one"), "a1")
    assert passing(asked(cluster, web("w"), plugin)) == {"b1"}
    assert passing(asked(cluster, pod("x"), plugin)) == {"a1", "a2", "b1", "nowhere"}
    none = asked(cluster, web("w"), PodTopologySpread(default_gates(), selectors=selectors, defaults=[]))
    assert none.filters == ()
    assert none.scores == ()


def test_a_selector_that_does_not_parse_rejects_the_pod() -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "Near", "values": []}]}
    candidates = asked(zoned(), web("w", constraint(labelSelector=broken)))
    assert candidates.rejection is not None
    assert candidates.rejection[1].code is Code.UNRESOLVABLE


def test_many_hosts_are_spread_by_their_counts() -> None:
    """With as many domains as nodes the trait of a slot is the count, and the class of a slot changes with it."""
    cluster = cluster_of(*(node(f"n{i}", {HOST: f"n{i}"}) for i in range(40)))
    candidates = asked(cluster, web("w", constraint(HOST)))
    taken = set()
    for number in range(40):
        slot = candidates.best()
        taken.add(slot)
        record = cluster.record(f"w{number}", convert_view({"metadata": _metadata(number)}, Pod))
        cluster.add_pod(record, slot)
    assert len(taken) == 40
    assert len(passing(candidates)) == 40


def _metadata(number: int) -> dict[str, Any]:
    return {"name": f"w{number}", "namespace": "default", "labels": {"app": "web"}}
