"""Which nodes VolumeBinding leaves, what it says of the others, and what it promises."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import alone, cluster_of, node, passing, place_best, scores, verdicts
from tests.unit.schedule.storage_objects import (
    HOST,
    capacity,
    claim,
    csi_driver,
    csi_node,
    local_volume,
    reachable_from,
    storage_class,
    store,
    user,
    volume,
)

from moorage.columns.cluster import Cluster
from moorage.columns.storage import VolumeDecision
from moorage.match.volumes.claims import SELECTED_NODE
from moorage.model.gates import default_gates, gates_from
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Candidates, Engine
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.diagnosis import diagnose
from moorage.schedule.framework.plugin import Code, Profile, check_plugin
from moorage.schedule.plugins.volumes.volume_binding import (
    DEFAULT_SHAPE,
    UNBOUND_IMMEDIATE,
    VOLUME_MISSING,
    VolumeBinding,
)
from moorage.schedule.plugins.volumes.volume_needs import BIND_CONFLICT, NODE_CONFLICT, NOT_ENOUGH_SPACE

ZONE = "topology.kubernetes.io/zone"
BINDING = VolumeBinding(default_gates())


def three_nodes() -> Cluster:
    """Nodes a and b in zone 1, node c in zone 2."""
    zones = {"a": "1", "b": "1", "c": "2"}
    nodes = [
        node(name, labels={HOST: name, ZONE: zone, "disk-firmware": f"1.{zone}.0"}) for name, zone in zones.items()
    ]
    return store(cluster_of(*nodes), storage_class())


def left(cluster: Cluster, asked: Pod, plugin: VolumeBinding = BINDING) -> set[str]:
    return passing(alone(plugin, cluster, asked))


def test_a_pod_without_claims_costs_nothing() -> None:
    cluster = three_nodes()
    asked = user(volumes=[{"name": "s", "secret": {"secretName": "s"}}])
    assert not BINDING.prepare(cluster.shape_of(asked), cluster).filters


# -- before any node is looked at -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("things", "message"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        (
            [claim("c", "gone", status={"phase": "Lost"})],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "gone"',
        ),
        (
            [claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'persistentvolumeclaim "c" is being deleted',
        ),
        ([claim("c", storage_class="")], UNBOUND_IMMEDIATE),
        ([claim("c", storage_class="unheard-of")], UNBOUND_IMMEDIATE),
        ([claim("c"), storage_class(mode="Immediate")], UNBOUND_IMMEDIATE),
        ([claim("c", "v", annotations={}), volume("v")], UNBOUND_IMMEDIATE),
    ],
)
def test_claims_that_make_a_pod_unschedulable_everywhere(things: list[Any], message: str) -> None:
    cluster = store(three_nodes(), *things)
    rejection = alone(BINDING, cluster, user("c")).rejection
    assert rejection is not None
    assert (rejection[1].code, rejection[1].reasons) == (Code.UNRESOLVABLE, (message,))


def test_the_claim_of_an_ephemeral_volume_is_made_for_the_pod_and_for_no_other() -> None:
    cluster = store(three_nodes(), volume("v"))
    asked = user(volumes=[{"name": "cache", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
    rejection = alone(BINDING, cluster, asked).rejection
    assert rejection is not None
    said = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-cache"'
    assert rejection[1].reasons == (said,)
    store(cluster, claim("p-cache"))
    rejection = alone(BINDING, cluster, asked).rejection
    assert rejection is not None
    said = "PVC default/p-cache was not created for pod default/p (pod is not owner)"
    assert rejection[1].reasons == (said,)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": asked.metadata.uid, "controller": True}
    store(cluster, claim("p-cache", metadata={"ownerReferences": [owner]}))
    assert left(cluster, asked) == {"a", "b", "c"}


# -- bound claims -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        (None, {"a", "b", "c"}),
        (reachable_from(HOST, "b"), {"b"}),
        (reachable_from(ZONE, "1"), {"a", "b"}),
        (reachable_from(ZONE, "1", operator="NotIn"), {"c"}),
        (reachable_from(ZONE, "1", operator="Gt"), {"c"}),
        ({"required": {"nodeSelectorTerms": []}}, set()),
        # Kubernetes asks about labels only, so that fields never disagree.
        (
            {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
                    ]
                }
            },
            {"a", "b", "c"},
        ),
    ],
)
def test_a_bound_volume_has_to_be_within_reach(affinity: Any, expected: set[str]) -> None:
    cluster = store(three_nodes(), volume("v", nodeAffinity=affinity), claim("c", "v"))
    assert left(cluster, user("c")) == expected


def test_semver_operators_are_behind_their_gate() -> None:
    affinity = reachable_from("disk-firmware", "1.1.5", operator="SemverGt")
    cluster = store(three_nodes(), volume("v", nodeAffinity=affinity), claim("c", "v"))
    assert left(cluster, user("c")) == set()
    gates = gates_from({"TaintTolerationNodeAffinitySemverComparisonOperators": True})
    assert left(cluster, user("c"), VolumeBinding(gates)) == {"c"}


FIRMWARE = "disk-firmware"
GATE = "TaintTolerationNodeAffinitySemverComparisonOperators"
ODD = f"({{{FIRMWARE}: 1.x}} is not a semantic version)"
OFF = f"(operator SemverGt needs the feature gate {GATE} in the scheduler)"


@pytest.mark.parametrize(
    ("gate", "operator", "bound", "reasons"),
    [
        (True, "SemverGt", True, {"odd": f"{NODE_CONFLICT} {ODD}", "old": NODE_CONFLICT}),
        (True, "SemverGt", False, {"odd": f"{BIND_CONFLICT} {ODD}", "old": BIND_CONFLICT}),
        (True, "Gt", True, {"odd": NODE_CONFLICT, "old": NODE_CONFLICT}),
        (False, "SemverGt", True, dict.fromkeys(("odd", "old", "new"), f"{NODE_CONFLICT} {OFF}")),
    ],
)
def test_the_reason_names_a_label_that_a_volume_cannot_compare(
    gate: bool, operator: str, bound: bool, reasons: dict[str, str]
) -> None:
    firmware = {"odd": "1.x", "old": "1", "new": "9"}
    nodes = (node(name, labels={FIRMWARE: value}) for name, value in firmware.items())
    far = volume("v", nodeAffinity=reachable_from(FIRMWARE, "1", operator=operator))
    cluster = store(cluster_of(*nodes), storage_class(), far, claim("c", "v" if bound else ""))
    asked = alone(VolumeBinding(gates_from({GATE: gate})), cluster, user("c"))
    assert {name: verdict.reasons for name, verdict in verdicts(asked).items()} == {
        name: (reason,) for name, reason in reasons.items()
    }
    item = asked.filters[0]
    check_plugin(item.plugin, cluster, asked.shape, item.prepared)
    found = [one.found.key for one in item.plugin.unreadable(item.prepared.want, cluster)]
    assert found == ([FIRMWARE] if gate and bound else [])


def test_the_refusal_names_volume_and_claim_and_label() -> None:
    cluster = store(three_nodes(), local_volume("v", "b"), claim("c", "v"))
    verdict = verdicts(alone(BINDING, cluster, user("c")))["a"]
    assert (verdict.code, verdict.reasons) == (Code.UNRESOLVABLE, (NODE_CONFLICT,))
    assert 'volume "v" of claim "c"' in verdict.details[0]
    assert HOST in verdict.details[0]


def test_a_bound_volume_that_is_not_there() -> None:
    cluster = store(three_nodes(), local_volume("v", "b"), claim("c", "v"), claim("d", "gone"))
    refused = verdicts(alone(BINDING, cluster, user("c", "d")))
    assert {name: verdict.reasons for name, verdict in refused.items()} == {
        "a": (NODE_CONFLICT,),
        "b": (VOLUME_MISSING,),
        "c": (NODE_CONFLICT,),
    }
    assert "gone" in refused["b"].details[0]


def test_where_a_driver_took_over_its_own_label_counts() -> None:
    disk = volume("v", labels={ZONE: "1"}, awsElasticBlockStore={"volumeID": "vol-1"})
    cluster = store(three_nodes(), disk, claim("c", "v"))
    assert left(cluster, user("c")) == {"a", "b", "c"}
    store(cluster, csi_node("a", "kubernetes.io/aws-ebs"))
    assert left(cluster, user("c")) == {"b", "c"}
    cluster.update_node(node("a", labels={"topology.ebs.csi.aws.com/zone": "1"}))
    assert left(cluster, user("c")) == {"a", "b", "c"}


# -- claims that wait for their pod -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "misfit",
    [
        volume("v", size="1Mi"),
        volume("v", storage_class="fast"),
        volume("v", accessModes=["ReadOnlyMany"]),
        volume("v", volumeMode="Block"),
        volume("v", volumeAttributesClassName="gold"),
        volume("v", phase="Released"),
        volume("v", claimRef={"namespace": "default", "name": "other"}),
        volume("v", claimRef={"namespace": "default", "name": "c", "uid": "of an older one"}),
    ],
)
def test_volumes_that_do_not_match_the_claim(misfit: Any) -> None:
    cluster = store(three_nodes(), misfit, claim("c"))
    refused = verdicts(alone(BINDING, cluster, user("c")))
    assert {verdict.reasons for verdict in refused.values()} == {(BIND_CONFLICT,)}
    assert refused.keys() == {"a", "b", "c"}


def test_a_claim_selects_volumes_by_label() -> None:
    picky = claim("c", spec={"selector": {"matchLabels": {"tier": "gold"}}})
    cluster = store(three_nodes(), picky, local_volume("tin", "a"), local_volume("gold", "b", labels={"tier": "gold"}))
    assert left(cluster, user("c")) == {"b"}


def test_a_volume_set_aside_for_the_claim_is_the_only_one() -> None:
    reference = {"namespace": "default", "name": "c"}
    cluster = store(three_nodes(), claim("c"), local_volume("free", "a"), local_volume("mine", "b", claimRef=reference))
    assert left(cluster, user("c")) == {"b"}


def test_volumes_are_made_where_the_class_allows_it() -> None:
    topology = [{"matchLabelExpressions": [{"key": ZONE, "values": ["2", "3"]}]}]
    made = storage_class(provisioner="disk.example.com", allowedTopologies=topology)
    cluster = store(three_nodes(), claim("c"), made, local_volume("v", "a"))
    refused = verdicts(alone(BINDING, cluster, user("c")))
    assert {name: verdict.reasons for name, verdict in refused.items()} == {"b": (BIND_CONFLICT,)}
    assert "allowedTopologies" in refused["b"].details[0]


def test_a_volume_that_is_being_made_for_a_node() -> None:
    made = storage_class(provisioner="disk.example.com")
    cluster = store(three_nodes(), made, claim("c", annotations={SELECTED_NODE: "b"}))
    assert left(cluster, user("c")) == {"b"}


def test_drivers_that_report_capacity_need_space() -> None:
    made = storage_class(provisioner="disk.example.com")
    driver = csi_driver("disk.example.com", storageCapacity=True)
    cluster = store(three_nodes(), made, driver, claim("c", size="10Gi"))
    refused = verdicts(alone(BINDING, cluster, user("c")))
    assert {verdict.reasons for verdict in refused.values()} == {(NOT_ENOUGH_SPACE,)}
    store(cluster, capacity("one", "20Gi", {ZONE: "1"}), capacity("two", "20Gi", {ZONE: "2"}, maximumVolumeSize="5Gi"))
    candidates = alone(BINDING, cluster, user("c"))
    assert passing(candidates) == {"a", "b"}
    store(cluster, capacity("one", "1Gi", {ZONE: "1"}))
    assert passing(candidates) == set()
    cluster.storage.remove(driver)
    assert passing(candidates) == {"a", "b", "c"}


SCORING = gates_from({"StorageCapacityScoring": True})


def scored(cluster: Cluster, asked: Pod, *shape: tuple[int, int]) -> dict[str, int]:
    plugin = VolumeBinding(SCORING, shape or DEFAULT_SHAPE)
    check_plugin(plugin, cluster, cluster.shape_of(asked))
    profile = Profile("p", (plugin,), ((plugin, 1),))
    return scores(Candidates(profile, cluster.shape_of(asked), cluster))


def test_nodes_score_by_the_volumes_that_claims_would_get() -> None:
    """As Score and buildScorerFunction: requests by capacity, of each class, on average."""
    cluster = store(three_nodes(), storage_class("fast"), claim("c", size="20Gi"), claim("d", "", "fast", "40Gi"))
    for host, slow, fast in (("a", "20Gi", "40Gi"), ("b", "80Gi", "50Gi"), ("c", "60Gi", "400Gi")):
        store(cluster, local_volume(f"slow-{host}", host, size=slow))
        store(cluster, local_volume(f"fast-{host}", host, size=fast, storage_class="fast"))
    assert scored(cluster, user("c")) == {"a": 0, "b": 75, "c": 67}
    assert scored(cluster, user("c"), (0, 0), (100, 10)) == {"a": 100, "b": 25, "c": 33}
    assert scored(cluster, user("c", "d")) == {"a": 0, "b": 48, "c": 79}  # 47.5 and 78.5 are rounded
    asked = user("c")
    off = VolumeBinding(default_gates())
    assert not off.prepare(cluster.shape_of(asked), cluster).scores


def test_a_volume_that_is_taken_changes_the_score() -> None:
    cluster = store(three_nodes(), claim("c", size="20Gi"))
    for host, sizes in (("a", ("40Gi", "200Gi")), ("b", ("100Gi",))):
        store(cluster, *(local_volume(f"{size.lower()}-{host}", host, size=size) for size in sizes))
    plugin = VolumeBinding(SCORING)
    candidates = Candidates(Profile("p", (plugin,), ((plugin, 1),)), cluster.shape_of(user("c")), cluster)
    assert scores(candidates) == {"a": 50, "b": 80}
    cluster.storage.remove(local_volume("40gi-a", "a", size="40Gi"))
    assert scores(candidates) == {"a": 90, "b": 80}


def test_nodes_score_by_the_pool_in_which_volumes_would_be_made() -> None:
    made = storage_class(provisioner="disk.example.com")
    driver = csi_driver("disk.example.com", storageCapacity=True)
    cluster = store(three_nodes(), made, driver, claim("c", size="10Gi"), claim("d", size="30Gi"))
    store(cluster, capacity("one", "40Gi", {ZONE: "1"}), capacity("two", "160Gi", {ZONE: "2"}))
    assert scored(cluster, user("c")) == {"a": 75, "b": 75, "c": 94}
    assert scored(cluster, user("c", "d")) == {"a": 0, "b": 0, "c": 75}  # claims of one class share its pool
    store(cluster, capacity("one", "400Gi", {ZONE: "1"}))
    assert scored(cluster, user("c")) == {"a": 98, "b": 98, "c": 94}
    cluster.storage.remove(driver)
    assert scored(cluster, user("c")) == {"a": 0, "b": 0, "c": 0}


def test_two_claims_need_two_volumes_within_reach() -> None:
    volumes = [local_volume("a1", "a"), local_volume("b1", "b"), local_volume("b2", "b"), volume("big", "9Gi")]
    cluster = store(three_nodes(), claim("c"), claim("d"), *volumes)
    assert left(cluster, user("c", "d")) == {"a", "b"}
    cluster.storage.remove(volumes[3])
    assert left(cluster, user("c", "d")) == {"b"}


def test_the_smaller_claim_is_served_first_so_that_the_larger_one_may_be_left_without() -> None:
    cluster = store(three_nodes(), claim("large", size="5Gi"), claim("small"), volume("v", "5Gi"))
    refused = verdicts(alone(BINDING, cluster, user("large", "small")))
    assert refused.keys() == {"a", "b", "c"}
    assert 'claim "large"' in refused["a"].details[0]


@pytest.mark.parametrize(
    ("things", "text"),
    [
        ([], 'persistentvolumeclaim "c" not found.'),
        ([claim("c", storage_class="")], "pod has unbound immediate PersistentVolumeClaims."),
        ([local_volume("v", "b"), claim("c", "v")], "2 node(s) didn't match PersistentVolume's node affinity."),
        (
            [local_volume("v", "b", labels={ZONE: "2"}), claim("c", "v")],
            "1 node(s) had no available volume zone, 2 node(s) didn't match PersistentVolume's node affinity.",
        ),
        ([claim("c")], "3 node(s) didn't find available persistent volumes to bind."),
        (
            [storage_class(provisioner="x"), csi_driver("x", storageCapacity=True), claim("c")],
            "3 node(s) did not have enough free storage.",
        ),
        (
            [claim("c", "gone")],
            "3 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s).",
        ),
    ],
)
def test_what_a_cluster_would_print(things: list[Any], text: str) -> None:
    cluster = store(three_nodes(), *things)
    plugins = tuple(p for p in default_profile(default_gates()).filters if p.name in ("VolumeBinding", "VolumeZone"))
    plugins = plugins[:1] if "gone" in str(things) else plugins
    candidates = Candidates(Profile("volumes", plugins, ()), cluster.shape_of(user("c")), cluster)
    assert diagnose(candidates).text() == f"0/3 nodes are available: {text}"


# -- promises ---------------------------------------------------------------------------------------------------------


def engine_of(cluster: Cluster) -> Engine:
    return Engine(default_profile(default_gates()), cluster)


def test_the_smallest_volume_is_promised_and_no_other_pod_gets_it() -> None:
    cluster = store(three_nodes(), volume("large", "9Gi"), volume("small", "2Gi"))
    engine = engine_of(cluster)
    for name in ("c0", "c1", "c2"):
        store(cluster, claim(name))
    slots = [place_best(engine, cluster.record(f"default/p{i}", user(f"c{i}", name=f"p{i}"))) for i in range(3)]
    assert [slot >= 0 for slot in slots] == [True, True, False]
    where = [cluster.nodes.node(slot).metadata.name for slot in slots[:2]]
    assert cluster.storage.decisions == {
        "default/p0": (VolumeDecision(("default", "c0"), where[0], "small"),),
        "default/p1": (VolumeDecision(("default", "c1"), where[1], "large"),),
    }


def test_what_is_given_back_can_be_promised_again() -> None:
    cluster = store(three_nodes(), volume("v"), claim("c"), claim("d"))
    engine = engine_of(cluster)
    first, second = (cluster.record(f"default/{one}", user(one, name=one)) for one in ("c", "d"))
    assert place_best(engine, first) >= 0
    assert engine.find(second) < 0
    cluster.remove_pod(first)
    engine.unreserve(first)
    assert place_best(engine, second) >= 0
    assert engine.find(first) < 0


def test_a_second_pod_of_the_same_claim_follows_its_volume() -> None:
    cluster = store(three_nodes(), local_volume("v", "b"), claim("c"))
    engine = engine_of(cluster)
    for name in ("p0", "p1"):
        slot = place_best(engine, cluster.record(f"default/{name}", user("c", name=name)))
        assert cluster.nodes.node(slot).metadata.name == "b"


def test_a_volume_yet_to_be_made_is_made_for_the_node_that_was_chosen() -> None:
    cluster = store(three_nodes(), storage_class(provisioner="disk.example.com"), claim("c"))
    engine = engine_of(cluster)
    record = cluster.record("default/p", user("c"))
    chosen = cluster.nodes.node(place_best(engine, record)).metadata.name
    assert cluster.storage.decisions["default/p"] == (
        VolumeDecision(("default", "c"), chosen, provisioner="disk.example.com"),
    )
    assert left(cluster, user("c", name="q")) == {chosen}
    cluster.remove_pod(record)
    engine.unreserve(record)
    assert left(cluster, user("c", name="q")) == {"a", "b", "c"}


def test_node_without_free_volumes_is_filtered_out() -> None:
    cluster = store(three_nodes(), *(local_volume(f"{host}{i}", host) for host in "ab" for i in range(2)))
    engine = engine_of(cluster)
    hosts = []
    for i in range(5):
        store(cluster, claim(f"c{i}"))
        slot = place_best(engine, cluster.record(f"default/p{i}", user(f"c{i}", name=f"p{i}")))
        hosts.append(cluster.nodes.node(slot).metadata.name if slot >= 0 else None)
    assert sorted(hosts[:4]) == ["a", "a", "b", "b"]  # type: ignore[type-var]
    assert hosts[4] is None
    store(cluster, local_volume("c0", "c"))
    assert left(cluster, user("c4")) == {"c"}
