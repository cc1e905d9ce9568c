"""Laws of autoscalers in small random clusters: no pod waits that a pool could take, limits and budgets hold."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_worlds import World
from tests.laws.world_in_cluster import objects_in_cluster
from tests.unit.autoscale.autoscaled import (
    CLUSTER_AUTOSCALER,
    KARPENTER,
    Autoscaled,
    budget,
    deployment,
    group,
    node_pool,
)
from tests.unit.plan.planning import Raw

from moorage.autoscale.controller import NodeAutoscaler, Setup
from moorage.autoscale.karpenter import consolidation
from moorage.autoscale.karpenter.claims import Remaining
from moorage.autoscale.karpenter.consolidation import Command, Consolidator
from moorage.autoscale.karpenter.controller import KarpenterController
from moorage.autoscale.options import read_options
from moorage.autoscale.timeline import Did
from moorage.control.framework.controller import ControllerContext
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod as PodView
from moorage.plan.autoscaling.attached import AUTOSCALERS
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import Scaler

MOST = examples(20)
#: How many worlds are looked at for one in which something broken shows.
SEARCH = 200
SETTLED = 1500.0
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
TOLERATION = {"key": "team", "operator": "Exists"}
_LABEL = "topology.kubernetes.io/zone"

#: Each workload: replicas, millicores, whether it tolerates the taint, and the zone that it asks for.
WORKLOADS = st.lists(
    st.tuples(
        st.integers(0, 8), st.sampled_from([300, 1800, 2500, 7000]), st.booleans(), st.sampled_from(["", "a", "z"])
    ),
    min_size=1,
    max_size=4,
)
#: Each pool: CPUs of its nodes, whether they have the taint, its zone, and how many nodes it may have.
POOLS = st.lists(
    st.tuples(st.sampled_from([2, 4, 8]), st.booleans(), st.sampled_from(["a", "b"]), st.integers(1, 4)),
    min_size=1,
    max_size=3,
)
Workload = tuple[int, int, bool, str]
Pool = tuple[int, bool, str, int]


def manifests(workloads: list[Workload]) -> list[Raw]:
    made = []
    for number, (replicas, cpu, tolerates, zone) in enumerate(workloads):
        fields: dict[str, Any] = {"tolerations": [TOLERATION]} if tolerates else {}
        if zone:
            fields["nodeSelector"] = {_LABEL: zone}
        made.append(deployment(f"w{number}", replicas, f"{cpu}m", **fields))
    return made


def type_of(number: int, cpu: int, zone: str) -> Raw:
    needs = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": _LABEL, "operator": "In", "values": [zone]},
    ]
    return {
        "name": f"t{number}.large",
        "offerings": [{"Price": cpu * 0.1, "Available": True, "Requirements": needs}],
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": str(cpu), "memory": "8Gi", "pods": "20"},
    }


def written(scaler: Scaler, pools: list[Pool]) -> list[str]:
    texts = []
    for number, (cpu, is_tainted, zone, most) in enumerate(pools):
        taints = [TAINT] if is_tainted else []
        if scaler is CLUSTER_AUTOSCALER:
            texts.append(group(f"p{number}", str(cpu), most=most, zones=[zone], taints=taints))
        else:
            only = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [f"t{number}.large"]}
            limits = {"nodes": str(most)}
            texts.append(node_pool(f"p{number}", requirements=[only], taints=taints, limits=limits))
    if scaler is KARPENTER:
        texts.append(json.dumps([type_of(number, cpu, zone) for number, (cpu, _, zone, _) in enumerate(pools)]))
    return texts


def could_take(scaler: Scaler, pools: list[Pool], workload: Workload, sizes: dict[str, int]) -> list[str]:
    """Say naively which pools could start one more node that takes a pod."""
    _, cpu, tolerates, zone = workload
    reserved = 100 if scaler is KARPENTER else 0
    return [
        f"p{number}"
        for number, (cpus, is_tainted, where, most) in enumerate(pools)
        if cpu <= cpus * 1000 - reserved
        and (tolerates or not is_tainted)
        and zone in ("", where)
        and sizes.get(f"p{number}", 0) < most
    ]


def sizes_of(world: Autoscaled) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for found in world.simulation.world.all(KINDS.NODE):
        pool = world.attached.controller.nodes.pool_of(found.view)
        if pool is not None:
            sizes[pool.name] = sizes.get(pool.name, 0) + 1
    return sizes


def law_of_settled(scaler: Scaler, most: int = MOST) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(WORKLOADS, POOLS)
    def law(workloads: list[Workload], pools: list[Pool]) -> None:
        world = Autoscaled(scaler, written(scaler, pools), *manifests(workloads))
        bounds = {f"p{number}": pool[3] for number, pool in enumerate(pools)}

        def check(_: Simulation) -> None:
            for name, size in sizes_of(world).items():
                assert size <= bounds[name], f"{name} has {size} nodes"

        world.until(SETTLED, check=check)
        sizes = sizes_of(world)
        for name in world.waiting():
            number = int(name[1 : name.index("-")])
            takers = could_take(scaler, pools, workloads[number], sizes)
            assert not takers, f"{name} waits, and {takers} could take it"
        refused = world.attached.controller.timeline.refused
        assert {f"default/{name}" for name in world.waiting()} == refused.keys()

    law()


@pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
def test_no_pod_waits_that_a_pool_could_take_and_no_pool_is_larger_than_its_bound(scaler: Scaler) -> None:
    law_of_settled(scaler)


def test_the_law_notices_an_autoscaler_that_forgets_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Remaining, "take", lambda self, mask: None)
    assert_notices(lambda: law_of_settled(KARPENTER, SEARCH))


@pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
def test_the_law_notices_an_autoscaler_that_starts_one_node_only(
    scaler: Scaler, monkeypatch: pytest.MonkeyPatch
) -> None:
    look: Callable[..., float] = NodeAutoscaler._follow_machines

    def lazy(self: NodeAutoscaler, world: Any, now: float, actions: list[Any]) -> float:
        for name in list(self.machines)[1:]:
            del self.machines[name]
        if world.count(KINDS.NODE):
            self.machines.clear()
        return look(self, world, now, actions)

    monkeypatch.setattr(NodeAutoscaler, "_follow_machines", lazy)
    assert_notices(lambda: law_of_settled(scaler, SEARCH))


# -- consolidation ----------------------------------------------------------------------------------------------------

#: Replicas before and after, of each workload, and how many of its pods may be disrupted at a time.
SHRINKING = st.lists(
    st.tuples(st.integers(1, 8), st.integers(0, 8), st.sampled_from([0, 1, 2, 9])), min_size=1, max_size=3
)


def law_of_consolidation(scaler: Scaler, most: int = MOST, shares: tuple[str, ...] = ("1", "50%", "100%")) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(SHRINKING, st.sampled_from([600, 900, 1300]), st.sampled_from(shares))
    def law(workloads: list[tuple[int, int, int]], cpu: int, share: str) -> None:
        documents: list[Raw] = []
        for number, (replicas, _, disruptions) in enumerate(workloads):
            documents.append(deployment(f"w{number}", replicas, f"{cpu}m"))
            documents.append(budget(f"w{number}", f"w{number}", maxUnavailable=disruptions))
        pools = [(4, False, "a", 99)]
        texts = written(scaler, pools)
        if scaler is KARPENTER:
            disruption = f'"disruption": {{"consolidateAfter": "30s", "budgets": [{{"nodes": "{share}"}}]}}, "limits"'
            texts = [text.replace('"limits"', disruption) for text in texts]
        world = Autoscaled(scaler, texts, *documents, words=_quick(scaler)).until(400)
        assert not world.waiting()
        for number, (replicas, fewer, _) in enumerate(workloads):
            world.scale(f"w{number}", min(replicas, fewer))
        world.simulation.work()
        requested = len([one for one in world.attached.controller.timeline.steps if one.did is Did.REQUESTED])
        world.until(
            3000, check=lambda simulation: _check_budgets(simulation, world, share if scaler is KARPENTER else "")
        )
        assert not world.waiting(), "a pod waits because of consolidation"
        later = [one for one in world.attached.controller.timeline.steps if one.did is Did.REQUESTED][requested:]
        assert all(step.reason.startswith("replaces") for step in later), "a node came for pods that had to move"

    law()


def _quick(scaler: Scaler) -> list[str]:
    if scaler is KARPENTER:
        return []
    return ["scale-down-unneeded-time=1m", "scale-down-delay-after-add=1m"]


def _check_budgets(simulation: Simulation, world: Autoscaled, share: str) -> None:
    for found in simulation.world.all(KINDS.POD_DISRUPTION_BUDGET):
        status = found.view.status
        gone = status.expectedPods - status.currentHealthy
        assert gone <= int(found.view.spec.maxUnavailable), f"{found.key}: {gone} pods are gone"
    controller = world.attached.controller
    if share:
        leaving, nodes = len(controller.leaving), simulation.world.count(KINDS.NODE)
        most = math.ceil(nodes * int(share[:-1]) / 100) if share.endswith("%") else int(share)
        assert leaving <= most, f"{leaving} of {nodes} nodes leave, {share} may"


def check_sums(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Let every removal that sums rule out be tried nevertheless; return what the sums said."""
    said: list[bool] = []
    rules_out = Consolidator._needs_too_much

    def checked(self: Consolidator, candidates: Any) -> bool:
        found = rules_out(self, candidates)
        said.append(found)
        if found:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Consolidator, "_needs_too_much", lambda self, candidates: False)
                tried = self.compute(candidates)
            assert not isinstance(tried, Command), f"{tried.names} can go"
            is_cheapest = not (self._kinds.prices < sum(one.price for one in candidates) - 1e-9).any()
            assert not is_cheapest or tried.reason == "Can't replace with a cheaper node"
        return found

    monkeypatch.setattr(Consolidator, "_needs_too_much", checked)
    return said


def test_removals_that_sums_rule_out_are_not_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    said = check_sums(monkeypatch)
    law_of_consolidation(KARPENTER)
    assert any(said)


@pytest.mark.slow
def test_the_law_notices_sums_of_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidation, "most_of", lambda free, sizes: free // 4)
    check_sums(monkeypatch)
    assert_notices(lambda: law_of_consolidation(KARPENTER, SEARCH))


@LAW_SETTINGS
@given(st.lists(st.integers(-5, 40), max_size=5), st.sets(st.integers(3, 30), min_size=1, max_size=4))
def test_what_sizes_add_up_to_is_the_largest_sum(free: list[int], sizes: set[int]) -> None:
    sums = {0}
    for _ in range(14):
        sums |= {one + size for one in sums for size in sizes if one + size <= 40}
    most = consolidation.most_of(np.array(free, np.int64), sizes)
    assert most.tolist() == [max(one for one in sums if one <= max(room, 0)) for room in free]


@pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
def test_consolidation_makes_no_pod_wait_and_breaks_no_budget(scaler: Scaler) -> None:
    law_of_consolidation(scaler)


def test_the_law_notices_consolidation_without_a_look_for_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consolidator, "compute", lambda self, candidates: Command(tuple(candidates)))
    assert_notices(lambda: law_of_consolidation(KARPENTER, SEARCH))


def test_the_law_notices_an_autoscaler_that_forgets_disruption_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KarpenterController, "_within", lambda self, left, candidates, now: list(candidates))
    assert_notices(lambda: law_of_consolidation(KARPENTER, SEARCH, ("1",)))


# -- plan and cluster -------------------------------------------------------------------------------------------------


def facts(nodes: Iterable[Node], pods: Iterable[PodView]) -> tuple[Counter[str], Counter[tuple[str, bool]]]:
    """Return how many nodes there are of each kind, and how many pods of each workload have a node."""
    kinds = Counter(
        node.metadata.labels.get("karpenter.sh/nodepool", node.metadata.labels.get("group", "")) for node in nodes
    )
    return kinds, Counter((pod.metadata.labels["app"], bool(pod.spec.nodeName)) for pod in pods)


def facts_of(planned: Autoscaled) -> tuple[Counter[str], Counter[tuple[str, bool]]]:
    simulation = planned.until(300).simulation
    return facts((one.view for one in simulation.world.all(KINDS.NODE)), (one.view for one in simulation.pods()))


#: Karpenter takes pods of one size and one second in the order of their UIDs, and the scheduler chooses among equal
#: nodes by chance. So a cluster has what a plan of some seed has; where chance decides nothing, that of the first one.
SEEDS = 200
#: Whether the pod that needs zone a is taken first decides whether it gets a node in a that others fill before it.
DECIDED_BY_UIDS: list[Pool] = [(8, False, "b", 3), (4, True, "b", 1), (8, False, "a", 1)]


def law_of_plan_and_cluster(scaler: Scaler, most: int = examples(12), delay: str = "60s", seeds: int = SEEDS) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(st.integers(0, 8), st.integers(0, 5), st.sampled_from([300, 1800, 2500]), POOLS)
    @example(5, 1, 2500, DECIDED_BY_UIDS)
    def law(first: int, second: int, cpu: int, bounded: list[Pool]) -> None:
        # Pods of one size, and room for all: which of them wait when there is too little is decided by chance.
        workloads: list[Workload] = [(first, cpu, False, ""), (second, cpu, True, "a")]
        pools = [(cpus, is_tainted, zone, 20) for cpus, is_tainted, zone, _ in bounded]
        documents = manifests(workloads)
        planned = Autoscaled(scaler, written(scaler, pools), *documents)
        autoscaling = planned.planner.autoscaling
        assert autoscaling is not None
        options = read_options(scaler, [f"provisioning-delay={delay}"])

        def beside(context: ControllerContext) -> NodeAutoscaler:
            return AUTOSCALERS[scaler](context, Setup(autoscaling.pools, options))

        world = World(documents, gates_from({}), {})
        found = objects_in_cluster(world, 300.0, ("Node", "Pod"), beside)
        happened = facts((one.view for one in found["Node"]), (one.view for one in found["Pod"]))
        expected = facts_of(planned)
        for seed in range(1, seeds):
            if happened == expected:
                break
            expected = facts_of(Autoscaled(scaler, written(scaler, pools), *documents, seed=seed))
        assert happened == expected, f"no plan of {seeds} seeds has the nodes and pods of the cluster"

    law()


@pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
def test_a_plan_has_the_nodes_and_pods_of_a_cluster(scaler: Scaler) -> None:
    law_of_plan_and_cluster(scaler)


def test_the_law_notices_a_cloud_that_takes_longer_in_the_cluster() -> None:
    assert_notices(lambda: law_of_plan_and_cluster(KARPENTER, SEARCH, "400s", 4))


def test_the_order_of_uids_decides_which_nodes_stay() -> None:
    documents = manifests([(5, 2500, False, ""), (1, 2500, True, "a")])
    texts = written(KARPENTER, [(cpus, is_tainted, zone, 20) for cpus, is_tainted, zone, _ in DECIDED_BY_UIDS])
    found = {frozenset(facts_of(Autoscaled(KARPENTER, texts, *documents, seed=seed))[0].items()) for seed in range(8)}
    assert found == {frozenset({("p2", 2)}), frozenset({("p0", 1), ("p2", 1)})}
