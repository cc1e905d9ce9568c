"""What a configuration does: which node wins, who filters, who waits, who is preempted."""

import numpy as np
import pytest
from tests.unit.schedule.clusters import Raw, cluster_of, node, place, pod, requests
from tests.unit.schedule.configurations import configuration, named, profile_fields

from moorage.columns.cluster import Cluster
from moorage.model.gates import default_gates
from moorage.model.types.pod import Pod
from moorage.schedule.cycle import Bind, NoNode, Scheduler
from moorage.schedule.plugins.spread_domains import DefaultSelectors


def scheduler(cluster: Cluster, plugins: Raw | None = None, **args: Raw) -> Scheduler:
    configured = configuration(profiles=[profile_fields(plugins, **args)])
    return configured.make_scheduler(cluster, default_gates())


def tried(made: Scheduler, asked: Pod) -> Bind | NoNode | None:
    made.add(made.cluster.record(f"default/{asked.metadata.name}", asked), 0.0)
    action = made.step(0.0)
    assert action is None or isinstance(action, Bind | NoNode)
    return action


def winner(cluster: Cluster, asked: Pod, plugins: Raw | None = None, **args: Raw) -> str:
    """The node that a scheduler of this configuration chooses; empty if there is none."""
    action = tried(scheduler(cluster, plugins, **args), asked)
    return action.node if isinstance(action, Bind) else ""


def half_full() -> Cluster:
    cluster = cluster_of(node("empty"), node("fuller"))
    place(cluster, pod("there", containers=requests(cpu="2", memory="4Gi")), "fuller")
    return cluster


def only(*scoring: Raw) -> Raw:
    return {"score": {"disabled": named("*"), "enabled": list(scoring)}}


SMALL = pod(containers=requests(cpu="1", memory="2Gi"))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"type": "LeastAllocated"}, "empty"),
        ({"type": "MostAllocated"}, "fuller"),
        (
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
                },
            },
            "fuller",
        ),
        (
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
                },
            },
            "empty",
        ),
    ],
)
def test_the_scoring_strategy_decides(strategy: Raw, expected: str) -> None:
    assert winner(half_full(), SMALL, NodeResourcesFit={"scoringStrategy": strategy}) == expected


@pytest.mark.parametrize(("memory_weight", "expected"), [(1, "cpu"), (100, "memory")])
def test_weights_of_resources_decide(memory_weight: int, expected: str) -> None:
    # One node has much CPU left, the other much memory.
    cluster = cluster_of(node("cpu"), node("memory"))
    place(cluster, pod("a", containers=requests(cpu="100m", memory="6Gi")), "cpu")
    place(cluster, pod("b", containers=requests(cpu="3500m", memory="100Mi")), "memory")
    resources = [{"name": "cpu", "weight": 2}, {"name": "memory", "weight": memory_weight}]
    args = {"scoringStrategy": {"type": "LeastAllocated", "resources": resources}}
    asked = pod(containers=requests(cpu="100m", memory="100Mi"))
    assert winner(cluster, asked, only({"name": "NodeResourcesFit"}), NodeResourcesFit=args) == expected


@pytest.mark.parametrize(("weight", "expected"), [(1, "empty"), (50, "fuller")])
def test_a_weight_changes_the_winner(weight: int, expected: str) -> None:
    cluster = cluster_of(node("empty"), node("fuller", labels={"disk": "fast"}))
    place(cluster, pod("there", containers=requests(cpu="3", memory="6Gi")), "fuller")
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}
    preferred = [{"weight": 1, "preference": term}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    asked = pod(affinity=affinity, containers=requests(cpu="1", memory="2Gi"))
    plugins = only({"name": "NodeAffinity", "weight": weight}, {"name": "NodeResourcesFit", "weight": 5})
    assert winner(cluster, asked, plugins) == expected


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ({}, ""),
        ({"filter": {"disabled": named("TaintToleration")}}, "tainted"),
        ({"multiPoint": {"disabled": named("TaintToleration")}}, "tainted"),
        ({"multiPoint": {"disabled": named("NodeName")}}, ""),
    ],
)
def test_a_disabled_plugin_no_longer_filters(plugins: Raw, expected: str) -> None:
    cluster = cluster_of(node("tainted", taints=[{"key": "k", "effect": "NoSchedule"}]))
    assert winner(cluster, pod(), plugins) == expected


def test_a_disabled_filter_may_still_narrow_the_search_beforehand() -> None:
    cluster = cluster_of(node("a"), node("b"), node("c", labels={"x": "y"}))
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    term = {"matchFields": [field], "matchExpressions": [{"key": "x", "operator": "In", "values": ["y"]}]}
    required = {"nodeSelectorTerms": [term]}
    asked = pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
    assert winner(cluster, asked) == ""
    assert winner(cluster, asked, {"filter": {"disabled": named("NodeAffinity")}}) == "b"


def test_a_disabled_filter_may_still_reject_a_pod_and_is_woken_by_the_same_events() -> None:
    claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
    made = scheduler(cluster_of(node("a")), {"filter": {"disabled": named("VolumeBinding")}})
    action = tried(made, pod(volumes=claim))
    assert isinstance(action, NoNode)
    assert action.rejected_by == {"VolumeBinding"}
    assert 'persistentvolumeclaim "none" not found' in action.message
    off = {"multiPoint": {"disabled": named("VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits")}}
    assert winner(cluster_of(node("a")), pod(volumes=claim), off) == "a"


@pytest.mark.parametrize(
    "args", [{"ignoredResources": ["example.com/gpu"]}, {"ignoredResourceGroups": ["example.com"]}]
)
def test_ignored_resources(args: Raw) -> None:
    asked = pod(containers=requests(**{"example.com/gpu": "1"}))
    assert winner(cluster_of(node("a")), asked) == ""
    assert winner(cluster_of(node("a")), asked, NodeResourcesFit=args) == "a"


def test_added_affinity_keeps_every_pod_to_some_nodes() -> None:
    cluster = cluster_of(node("a"), node("b", labels={"pool": "x"}))
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]}
    added = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    assert winner(cluster, pod(), NodeAffinity=added) == "b"


def test_default_constraints_of_a_list() -> None:
    # Three pods of one Service on a: the default constraint of the list allows no fourth.
    cluster = cluster_of(*(node(name, labels={"kubernetes.io/hostname": name}) for name in "ab"))
    for number in range(3):
        place(cluster, pod(f"p{number}", labels={"app": "x"}), "a")
    place(cluster, pod("full", containers=requests(cpu="4")), "b")
    hard = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultConstraints": [hard], "defaultingType": "List"}
    asked = pod(labels={"app": "x"}, containers=requests(cpu="1"))
    assert winner(cluster, asked) == "a"
    configured = configuration(profiles=[profile_fields(PodTopologySpread=args)])
    made = configured.make_scheduler(cluster, default_gates(), _service("x"))
    action = tried(made, asked)
    assert isinstance(action, NoNode)
    assert "PodTopologySpread" in action.rejected_by


def _service(app: str) -> DefaultSelectors:
    selectors = DefaultSelectors()
    selectors.set_service("default", "s", {"app": app})
    return selectors


@pytest.mark.parametrize(("weight", "differs"), [(0, False), (100, True)])
def test_hard_pod_affinity_weight(weight: int, differs: bool) -> None:
    cluster = cluster_of(*(node(name, labels={"kubernetes.io/hostname": name}) for name in "ab"))
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    place(cluster, pod("there", labels={"app": "x"}, affinity=affinity), "a")
    made = scheduler(cluster, only({"name": "InterPodAffinity"}), InterPodAffinity={"hardPodAffinityWeight": weight})
    candidates = made.engines["default-scheduler"].candidates(cluster.shape_of(pod(labels={"app": "x"})))
    scores = candidates.score_table(candidates.feasible()).get("InterPodAffinity", np.zeros(2, np.int64))
    first, second = (int(scores[cluster.nodes.slot_of[name]]) for name in "ab")
    assert (first > second) is differs


def test_preemption_can_be_turned_off() -> None:
    def full() -> Cluster:
        cluster = cluster_of(node("a"))
        place(cluster, pod("low", priority=0, containers=requests(cpu="4")), "a")
        return cluster

    asked = pod(priority=10, containers=requests(cpu="4"))
    evicting = tried(scheduler(full()), asked)
    assert isinstance(evicting, NoNode)
    assert [victim.key for victim in evicting.victims] == ["default/low"]
    resigned = tried(scheduler(full(), {"postFilter": {"disabled": named("*")}}), asked)
    assert isinstance(resigned, NoNode)
    assert resigned.victims == ()
    assert "preemption" not in resigned.message


def test_how_many_candidates_are_enough_for_preemption() -> None:
    fields = profile_fields(DefaultPreemption={"minCandidateNodesAbsolute": 7})
    args = configuration(profiles=[fields]).profiles[0].preemption
    assert args is not None
    assert not args.looks_everywhere
    assert [args.enough(nodes) for nodes in (5, 50, 500)] == [5, 7, 50]
    everywhere = configuration().profiles[0].preemption
    assert everywhere is not None
    assert everywhere.looks_everywhere


def test_scheduling_gates_can_be_turned_off() -> None:
    gated = pod(schedulingGates=[{"name": "g"}])
    assert tried(scheduler(cluster_of(node("a"))), gated) is None
    assert winner(cluster_of(node("a")), gated, {"preEnqueue": {"disabled": named("SchedulingGates")}}) == "a"


def test_each_pod_has_the_profile_it_asks_for() -> None:
    packing = {"scoringStrategy": {"type": "MostAllocated"}}
    configured = configuration(
        profiles=[
            {"schedulerName": "default-scheduler"},
            {"schedulerName": "packing", **profile_fields(NodeResourcesFit=packing)},
        ]
    )
    for name, expected in (("default-scheduler", "empty"), ("packing", "fuller")):
        made = configured.make_scheduler(half_full(), default_gates())
        action = tried(made, pod(schedulerName=name, containers=requests(cpu="1", memory="2Gi")))
        assert isinstance(action, Bind)
        assert action.node == expected
    assert not made.knows("other")
