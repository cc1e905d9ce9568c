"""Where pods land, in which order, and what they are told if they land nowhere."""

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload

from moorage.plan.outcome import Usage
from moorage.plan.pod_lines import State


def priority_class(name: str, value: int, **fields: object) -> Raw:
    about = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {**about, "value": value, **fields}


def test_higher_priority_is_placed_first_and_then_whoever_came_first() -> None:
    plan = Plan(
        node("n1", cpu="2"),
        pod("early", "2"),
        pod("late", "2"),
        pod("important", "2", priorityClassName="high", preemptionPolicy="Never"),
        priority_class("high", 1000, preemptionPolicy="Never"),
    )
    assert plan.where == {"early": "", "late": "", "important": "n1"}
    assert Plan(node("n1", cpu="2"), pod("early", "2"), pod("late", "2")).where == {"early": "n1", "late": ""}


def test_a_priority_class_that_running_pods_have_is_known() -> None:
    wants = pod("a", priorityClassName="gold")
    there = running("b", "n1", priorityClassName="gold")
    there["spec"] |= {"priority": 77, "preemptionPolicy": "PreemptLowerPriority"}
    known = Plan(node("n1"), there, wants)
    assert known.where == {"a": "n1", "b": "n1"}
    assert known.pod("a").spec.priority == 77


def test_the_second_default_priority_class_is_refused() -> None:
    plan = Plan(
        node("n1"), priority_class("a", 5, globalDefault=True), priority_class("b", 9, globalDefault=True), pod("p")
    )
    assert plan.pod("p").spec.priority == 5
    assert "PriorityClass a is already marked as default" in plan.notes[0]


def test_preemption_evicts_and_the_controller_makes_the_victim_anew() -> None:
    plan = Plan(
        node("n1", cpu="2"),
        running("web-abc-1", "n1", ("ReplicaSet", "web-abc"), cpu="2", labels={"pod-template-hash": "abc"}),
        priority_class("high", 1000),
        pod("important", "2", priorityClassName="high"),
    )
    assert plan.where["important"] == "n1"
    (gone,) = plan.outcome.preempted
    assert (gone.pod, gone.node, gone.by) == ("default/web-abc-1", "n1", "default/important")
    (again,) = plan.outcome.pending
    assert again.name.startswith("web-abc-")
    assert again.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_the_message_is_that_of_a_cluster() -> None:
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    plan = Plan(node("n1", cpu="1"), node("n2", taints=taints), pod("a", "2"))
    assert plan.why["a"] == (
        "Unschedulable: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {gpu: yes}. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_without_nodes_nothing_can_be_placed() -> None:
    assert Plan(pod("a")).why == {"a": "Unschedulable: no nodes available to schedule pods"}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"schedulingGates": [{"name": "wait"}]}, "SchedulingGated: waiting for scheduling gates: [wait]"),
        ({"schedulerName": "mine"}, "NoScheduler: waits for scheduler mine; this plan has default-scheduler"),
    ],
)
def test_pods_that_nobody_schedules(fields: Raw, why: str) -> None:
    assert Plan(node("n1"), pod("a", **fields)).why == {"a": why}


def test_a_pod_that_needs_another_one_waits_for_it_and_not_forever() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    plan = Plan(node("n1"), node("n2"), pod("web", affinity=affinity), pod("db", labels={"app": "db"}))
    assert plan.where["web"] == plan.where["db"] != ""


def test_a_pod_on_a_node_that_is_not_in_the_input_is_named_and_counts() -> None:
    plan = Plan(
        node("n1"),
        workload("Deployment", "web", replicas=1),
        running("web-abc-1", "gone", ("ReplicaSet", "web-abc"), labels={"app": "web", "pod-template-hash": "abc"}),
    )
    assert plan.where == {"web-abc-1": "gone"}
    assert "is bound to node gone, which is not in the input" in plan.notes[0]
    assert plan.outcome.nodes[0].pods == 0


def test_many_nodes_that_are_not_in_the_input_are_one_note() -> None:
    plan = Plan(node("n1"), *(running(f"p{number}", f"gone-{number}", ("ReplicaSet", "web")) for number in range(5)))
    said = [note for note in plan.notes if "bound to node" in note]
    assert len(said) == 1
    assert (
        "and 4 more pods are bound to nodes that are not in the input: gone-0, gone-1, gone-2, gone-3, gone-4"
        in said[0]
    )


def test_a_node_without_a_status_has_what_a_simulated_kubelet_reports() -> None:
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}}
    plan = Plan(bare, pod("a"))
    assert plan.notes == [
        "warning 1 Node bare: has no status: it is simulated with the default capacity, as in moorage up"
    ]
    assert plan.where == {"a": "bare"}
    assert plan.outcome.nodes[0].resources["cpu"].allocatable == 8000


def test_nodes_are_filled_and_bound_pods_stay() -> None:
    plan = Plan(node("n1"), running("a", "n1", cpu="1500m"), pod("b", "500m"))
    assert [one.state for one in plan.outcome.pods] == [State.BOUND, State.PLACED]
    usage = plan.outcome.nodes[0].resources
    assert (usage["cpu"].requested, usage["cpu"].allocatable, usage["cpu"].percent) == (2000, 4000, 50)
    assert (usage["pods"].requested, usage["pods"].allocatable) == (2, 20)


@pytest.mark.parametrize(
    ("requested", "allocatable", "percent", "fullness"),
    [
        (290, 1000, 28, 28),  # 0.29 * 100 is 28.999999999999996 in floating point, for kubectl, too
        (999, 1000, 99, 99),
        (3, 1000, 0, 0),
        (1000, 1000, 100, 100),
        (2500, 1000, 250, 250),
        (1, 0, 0, 100),
        (0, 0, 0, 0),
    ],
)
def test_percentages_are_cut_off_as_kubectl_does(requested: int, allocatable: int, percent: int, fullness: int) -> None:
    usage = Usage(requested, allocatable)
    assert (usage.percent, usage.fullness) == (percent, fullness)


def test_seed_decides_ties_and_nothing_else() -> None:
    nodes = [node(f"n{i}") for i in range(20)]
    first, again, other = (Plan(*nodes, pod("a"), seed=seed).where["a"] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_claims_that_are_missing_are_named() -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    plan = Plan(node("n1"), pod("a", volumes=[volume]), pod("b"))
    assert plan.where == {"a": "", "b": "n1"}
    assert plan.why["a"].startswith('Unschedulable: 0/1 nodes are available: persistentvolumeclaim "data" not found.')
    assert "claim data is used, but the input has no PersistentVolumeClaims" in plan.notes[0]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "other"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "pv",
            "storageClassName": "fast",
        },
    }
    both = Plan(node("n1"), pod("a", volumes=[volume]), claim)
    assert any("uses claim data, which is not in the input" in note for note in both.notes)
    assert any("is bound to volume pv, which is not in the input" in note for note in both.notes)
    del claim["spec"]["volumeName"]  # type: ignore[attr-defined]
    assert any("names StorageClass fast, which is not in the input" in note for note in Plan(claim).notes)
