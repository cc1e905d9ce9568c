"""InterPodAffinity on small clusters: who is refused, why, and who is better off."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import alone, cluster_of, node, passing, place, pod, scores, verdicts

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.plugin import Code, Prepared
from moorage.schedule.plugins.inter_pod_affinity import (
    AFFINITY_REASON,
    ANTI_AFFINITY_REASON,
    EXISTING_REASON,
    InterPodAffinity,
)

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"matchLabels": {"app": "web"}}


def zoned() -> Cluster:
    """a1 and a2 in zone a, b1 in zone b, and one node without a zone."""
    zones = {"a1": "a", "a2": "a", "b1": "b"}
    named = [node(name, {HOST: name, ZONE: zone}) for name, zone in zones.items()]
    return cluster_of(*named, node("nowhere", {HOST: "nowhere"}))


def term(selector: Any = WEB, key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"labelSelector": selector, "topologyKey": key, **more}


def rules(kind: str, *required: Any, preferred: Any = ()) -> dict[str, Any]:
    return {
        kind: {
            "requiredDuringSchedulingIgnoredDuringExecution": list(required),
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "podAffinityTerm": wanted} for weight, wanted in preferred
            ],
        }
    }


def near(*terms: Any, **more: Any) -> dict[str, Any]:
    return rules("podAffinity", *terms, **more)


def away(*terms: Any, **more: Any) -> dict[str, Any]:
    return rules("podAntiAffinity", *terms, **more)


def asked(cluster: Cluster, incoming: Pod, plugin: InterPodAffinity | None = None) -> Candidates:
    return alone(plugin or InterPodAffinity(), cluster, incoming)


def test_affinity_needs_the_label_and_a_pod_in_the_domain() -> None:
    cluster = zoned()
    place(cluster, pod("w", {"app": "web"}), "a1")
    candidates = asked(cluster, pod(affinity=near(term())))
    refused = verdicts(candidates)
    assert refused.keys() == {"b1", "nowhere"}
    assert {verdict.code for verdict in refused.values()} == {Code.UNRESOLVABLE}
    assert refused["b1"].reasons == (AFFINITY_REASON,)
    assert refused["b1"].details == (
        "affinity term 1 (app=web in namespaces default): no pod in topology.kubernetes.io/zone=b matches",
    )
    assert refused["nowhere"].details == (
        "affinity term 1 (app=web in namespaces default): the node has no label topology.kubernetes.io/zone",
    )


def test_one_pod_must_match_every_affinity_term() -> None:
    cluster = zoned()
    place(cluster, pod("w", {"app": "web"}), "a1")
    place(cluster, pod("d", {"tier": "db"}), "a1")
    both = near(term(), term({"matchLabels": {"tier": "db"}}))
    assert passing(asked(cluster, pod(affinity=both))) == set()
    place(cluster, pod("wd", {"app": "web", "tier": "db"}), "b1")
    assert passing(asked(cluster, pod(affinity=both))) == {"b1"}


def test_the_first_pod_of_a_series_may_go_anywhere_there_is_a_domain() -> None:
    cluster = zoned()
    alone_in_series = pod("w", {"app": "web"}, affinity=near(term()))
    assert passing(asked(cluster, alone_in_series)) == {"a1", "a2", "b1"}
    assert passing(asked(cluster, pod("x", affinity=near(term())))) == set()
    place(cluster, alone_in_series, "b1")
    assert passing(asked(cluster, pod("w2", {"app": "web"}, affinity=near(term())))) == {"b1"}


def test_a_matching_pod_outside_every_domain_does_not_end_the_beginning() -> None:
    cluster = zoned()
    place(cluster, pod("w", {"app": "web"}), "nowhere")
    assert passing(asked(cluster, pod("w2", {"app": "web"}, affinity=near(term())))) == {"a1", "a2", "b1"}


def test_anti_affinity_excludes_domains_and_spares_nodes_without_one() -> None:
    cluster = zoned()
    place(cluster, pod("w", {"app": "web"}), "a1")
    refused = verdicts(asked(cluster, pod(affinity=away(term()))))
    assert refused.keys() == {"a1", "a2"}
    assert refused["a2"].code is Code.UNSCHEDULABLE
    assert refused["a2"].reasons == (ANTI_AFFINITY_REASON,)
    assert refused["a2"].details == (
        "anti-affinity term 1 (app=web in namespaces default): 1 pod in topology.kubernetes.io/zone=a match",
    )


def test_pods_on_the_nodes_keep_others_away() -> None:
    cluster = zoned()
    place(cluster, pod("guard", affinity=away(term())), "a1")
    refused = verdicts(asked(cluster, pod("w", {"app": "web"})))
    assert refused.keys() == {"a1", "a2"}
    assert refused["a1"].code is Code.UNSCHEDULABLE
    assert refused["a1"].reasons == (EXISTING_REASON,)
    assert refused["a1"].details == (
        "1 pod in topology.kubernetes.io/zone=a exclude this one by anti-affinity: app=web in namespaces default",
    )


def test_a_term_that_appears_later_is_heard() -> None:
    cluster = zoned()
    candidates = asked(cluster, pod("w", {"app": "web"}))
    assert passing(candidates) == {"a1", "a2", "b1", "nowhere"}
    place(cluster, pod("guard", affinity=away(term())), "b1")
    assert passing(candidates) == {"a1", "a2", "nowhere"}
    cluster.remove_pod(cluster.pods["default/guard"])
    assert passing(candidates) == {"a1", "a2", "b1", "nowhere"}


def test_a_pod_that_is_being_deleted_still_counts() -> None:
    cluster = zoned()
    going = {"name": "w", "namespace": "default", "labels": {"app": "web"}, "deletionTimestamp": "2024-01-01T00:00:00Z"}
    place(cluster, convert_view({"metadata": going}, Pod), "a1")
    assert passing(asked(cluster, pod(affinity=near(term())))) == {"a1", "a2"}


@pytest.mark.parametrize(
    ("more", "meets"),
    [
        ({}, False),
        ({"namespaces": ["team"]}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "b"}}}, False),
        ({"namespaceSelector": {}}, True),
        # A selector that a namespace without labels meets is met by all of them, as in Kubernetes.
        ({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}, True),
    ],
)
def test_terms_say_which_namespaces_they_are_about(more: dict[str, Any], meets: bool) -> None:
    cluster = zoned()
    cluster.set_namespace("team", {"team": "a"})
    elsewhere = {"name": "w", "namespace": "team", "labels": {"app": "web"}}
    place(cluster, convert_view({"metadata": elsewhere}, Pod), "a1")
    assert passing(asked(cluster, pod(affinity=near(term(**more))))) == ({"a1", "a2"} if meets else set())


def test_a_relabelled_namespace_is_noticed() -> None:
    cluster = zoned()
    selecting: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
    place(cluster, pod("w", {"app": "web"}), "a1")
    place(cluster, pod("guard", affinity=away(term({"matchLabels": {"app": "db"}}, **selecting))), "a1")
    wants, guarded = asked(cluster, pod(affinity=near(term(**selecting)))), asked(cluster, pod("d", {"app": "db"}))
    assert passing(wants) == set()
    assert passing(guarded) == {"a1", "a2", "b1", "nowhere"}
    cluster.set_namespace("default", {"team": "a"})
    assert passing(wants) == {"a1", "a2"}
    assert passing(guarded) == {"b1", "nowhere"}


def test_preferences_of_both_sides_add_up() -> None:
    cluster = zoned()
    place(cluster, pod("w", {"app": "web"}), "a1")
    place(cluster, pod("fan", affinity=near(preferred=[(3, term({"matchLabels": {"app": "db"}}, HOST))])), "b1")
    place(cluster, pod("foe", affinity=away(preferred=[(2, term({"matchLabels": {"app": "db"}}, HOST))])), "a2")
    # a1: 4 for the zone; a2: 4 - 2; b1: 3; nowhere: 0.
    incoming = pod("d", {"app": "db"}, affinity=near(preferred=[(4, term())]))
    assert scores(asked(cluster, incoming)) == {"a1": 100, "a2": 50, "b1": 75, "nowhere": 0}


def test_required_affinity_of_pods_on_the_nodes_counts_as_a_preference() -> None:
    cluster = zoned()
    place(cluster, pod("w", {"app": "web"}, affinity=near(term())), "a1")
    incoming = pod("w2", {"app": "web"})
    assert scores(asked(cluster, incoming)) == {"a1": 100, "a2": 100, "b1": 0, "nowhere": 0}
    candidates = asked(cluster, incoming, InterPodAffinity(hard_weight=0))
    assert candidates.score_table(candidates.feasible()) == {}


def test_other_pods_preferences_can_be_ignored() -> None:
    cluster = zoned()
    place(cluster, pod("fan", affinity=near(preferred=[(3, term())])), "b1")
    ignoring = InterPodAffinity(ignores_others=True)
    candidates = asked(cluster, pod("w", {"app": "web"}), ignoring)
    assert candidates.score_table(candidates.feasible()) == {}
    # With a preference of its own, everybody's count.
    own = pod("w2", {"app": "web"}, affinity=near(preferred=[(1, term({"matchLabels": {"app": "nobody"}}))]))
    assert scores(asked(cluster, own, ignoring)) == {"a1": 0, "a2": 0, "b1": 100, "nowhere": 0}


def prepared(cluster: Cluster, incoming: Pod) -> tuple[InterPodAffinity, Prepared, Shape]:
    plugin, shape = InterPodAffinity(), cluster.shape_of(incoming)
    return plugin, plugin.prepare(shape, cluster), shape


def test_plugin_is_skipped_without_any_terms() -> None:
    cluster = zoned()
    plugin, made, _ = prepared(cluster, pod("w", {"app": "web"}))
    assert not plugin.filters_now(made.want, cluster)
    assert not plugin.scores_now(made.want, cluster, cluster.nodes.alive)
    place(cluster, pod("guard", affinity=away(term())), "nowhere")
    assert not plugin.filters_now(made.want, cluster)  # the guard's node is in no zone
    place(cluster, pod("guard2", affinity=away(term())), "a1")
    assert plugin.filters_now(made.want, cluster)


def test_terms_that_do_not_parse_reject_the_pod() -> None:
    broken = term({"matchExpressions": [{"key": "app", "operator": "Near", "values": []}]})
    _, made, _ = prepared(zoned(), pod(affinity=near(broken)))
    assert made.rejection is not None
    assert made.rejection.code is Code.UNRESOLVABLE
    assert made.rejection.reasons[0].startswith("parsing pod: requiredAffinityTerms: ")


def test_reasons_of_many_nodes_are_counted_by_class() -> None:
    cluster = zoned()
    place(cluster, pod("w", {"app": "web"}), "a1")
    candidates = asked(cluster, pod(affinity=near(term())))
    (item,) = candidates.filters
    refused = (cluster.nodes.alive & ~candidates.mask(item)).nonzero()[0]
    assert item.plugin.reasons(item.prepared.want, cluster, refused) == {AFFINITY_REASON: 2}
