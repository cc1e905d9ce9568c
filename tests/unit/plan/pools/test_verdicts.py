import json

import pytest
from tests.unit.plan.planning import node, pod
from tests.unit.plan.pools.pool_worlds import TYPES, Raw, daemon_set, node_pool, planner_of, pools_of
from tests.unit.pools.inputs import instance_type, instance_types

from moorage.plan.explain.explanation import Explanation, explain_pod, plain
from moorage.plan.explain.target import find_target
from moorage.plan.explain.text import ExplanationText
from moorage.plan.pools.verdicts import PoolVerdict, price_text
from moorage.plan.report.explanation_markdown import explanation_markdown
from moorage.plan.what_if import Changes
from moorage.pools.reading import Pools

ZONE = "topology.kubernetes.io/zone"
SPOT = {"key": "spot", "value": "20", "effect": "NoSchedule"}
IN_ZONE_A = {"key": ZONE, "operator": "In", "values": ["a"]}


def below(value: str) -> Raw:
    return {"key": "spot", "operator": "Lt", "value": value, "effect": "NoSchedule"}


def explained(pools: Pools | None, *documents: Raw) -> Explanation:
    planner = planner_of(*documents)
    planner.inventory.pools = pools
    simulation = planner.build()
    return explain_pod(simulation, planner.inventory, find_target(simulation, planner.inventory, "pod/p"))


def verdict(pools: Pools, *documents: Raw) -> PoolVerdict:
    [found] = explained(pools, *documents).pools
    return found


def test_the_cheapest_node_that_takes_the_pod_is_offered() -> None:
    pools = pools_of(node_pool("spot", taints=[SPOT]), node_pool("steady"), TYPES)
    found = explained(pools, pod("p", "3", tolerations=[below("30")]))
    assert [one.pool for one in found.pools] == ["spot", "steady"]
    assert found.pools[0].offer == "one node of pool spot (c.large/a/spot), 0.03/h"
    text = "\n".join(ExplanationText().lines(found))
    assert "It would fit with one node of pool spot (c.large/a/spot), 0.03/h (tried)" in text


def test_a_refused_taint_is_named_with_its_inequality() -> None:
    found = verdict(pools_of(node_pool("spot", taints=[SPOT]), TYPES), pod("p", tolerations=[below("10")]))
    assert not found.takes
    assert "20 < 10 is false" in found.sentence
    assert "6 node(s) had untolerated taint" in found.sentence


def test_resources_are_those_after_daemon_sets() -> None:
    pools = pools_of(node_pool(), TYPES)
    assert verdict(pools, pod("p", "15")).takes
    found = verdict(pools, pod("p", "15"), daemon_set(cpu="1"))
    assert "15 <= 14900m is false" in found.sentence
    assert found.overhead == "DaemonSets take cpu 1"


def test_the_zone_of_a_volume_counts() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {
            "volumeName": "v",
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Bound"},
    }
    term = {"matchExpressions": [{**IN_ZONE_A, "values": ["c"]}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "d", "volumeHandle": "h"},
            "claimRef": {"namespace": "default", "name": "data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
        "status": {"phase": "Bound"},
    }
    mounted = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    found = verdict(pools_of(node_pool(), TYPES), claim, volume, pod("p", volumes=mounted))
    assert "didn't match PersistentVolume's node affinity" in found.sentence


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"limits": {"cpu": "5"}}, "limits.cpu is 5: 4 used + 4 of one more node is more"),
        ({"limits": {"nodes": "1"}}, "limits.nodes is 1, and it has 1"),
    ],
)
def test_bounds_of_a_pool_forbid_one_more_node(spec: Raw, reason: str) -> None:
    there = node("n", "4")
    there["metadata"]["labels"]["karpenter.sh/nodepool"] = "spot"
    found = verdict(pools_of(node_pool("spot", **spec), TYPES), there, pod("other", "4"), pod("p", "3"))
    assert (found.takes, found.why_not) == (False, reason)


def test_pools_in_the_input_are_a_suggestion_without_the_option() -> None:
    group = {"apiVersion": "capacity.moorage.dev/v1", "kind": "NodeGroup", "metadata": {"name": "gpu-spot"}}
    spec = {"price": 0.91, "template": {"status": {"capacity": {"cpu": "8", "memory": "8Gi", "pods": "20"}}}}
    found = explained(None, {**group, "spec": spec}, node("n", "1"), pod("p", "3"))
    assert "one node of pool gpu-spot (gpu-spot), 0.91/h" in "\n".join(ExplanationText().lines(found))
    placed = explained(None, {**group, "spec": spec}, node("n", "4"), pod("p", "3"))
    assert placed.pools == ()


def test_every_form_has_the_same_sentences() -> None:
    found = explained(pools_of(node_pool("spot", taints=[SPOT]), node_pool("steady"), TYPES), pod("p", "3"))
    sentences = [one.sentence for one in found.pools]
    assert [one["sentence"] for one in json.loads(json.dumps(plain(found)))["pools"]] == sentences
    assert sentences[0] in "\n".join(explanation_markdown(found))
    assert sentences[0] in "\n".join(ExplanationText(width=400).lines(found))


@pytest.mark.parametrize(
    ("price", "text"), [(0.91, "0.91"), (12.0, "12"), (0.0416, "0.0416"), (1234.5, "1,234.5"), (0.0, "0")]
)
def test_prices_are_short(price: float, text: str) -> None:
    assert price_text(price) == text


def test_a_plan_notes_which_pool_would_help_pods_that_wait() -> None:
    planner = planner_of(node("n", "1"), pod("p", "3"), pod("huge", "300"))
    planner.inventory.pools = pools_of(node_pool(), TYPES)
    outcome, _, _ = planner.answer(planner.build(), Changes(), [])
    notes = {note.object: note.message for note in outcome.notes}
    assert notes["Pod default/p"] == "it would fit with one node of pool spot (c.large/a/spot), 0.03/h (tried)"
    assert notes["Pod default/huge"].startswith("no pool would start a node for it: spot: 0/6 kinds of node")


def test_more_kinds_of_node_than_the_cluster_has_slots_for() -> None:
    many = [instance_type(f"t{number}", "4", "8Gi", spot={"a": 0.1}) for number in range(200)]
    found = explained(pools_of(node_pool(), instance_types(*many)), node("n", "1"), pod("p", "3"))
    assert found.pools[0].offer == "one node of pool spot (t0/a/spot), 0.1/h"
