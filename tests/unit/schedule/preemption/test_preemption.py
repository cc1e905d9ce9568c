"""DefaultPreemption on clusters small enough to see who has to go."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import Raw, cluster_of, node, requests

from moorage.columns.cluster import Cluster
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.schedule.candidates import NO_SLOT, Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.config.plugin_args import DefaultPreemptionArgs
from moorage.schedule.preemption.disruption_budgets import DisruptionBudgets
from moorage.schedule.preemption.preemption import DefaultPreemption, PreemptionResult


def put(cluster: Cluster, on: str, name: str, priority: int = 0, cpu: str = "1", **more: Any) -> None:
    cluster.add_pod(cluster.record(f"default/{name}", asking(name, priority, cpu, **more)), cluster.nodes.slot_of[on])


def asking(name: str, priority: int, cpu: str, labels: Raw | None = None, start: str = "", **spec: Any) -> Pod:
    raw = {
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
        "spec": {"containers": requests(cpu=cpu), "priority": priority, **spec},
        "status": {"startTime": start} if start else {},
    }
    return convert_view(raw, Pod)


def candidates_of(cluster: Cluster, pod: Pod) -> Candidates:
    candidates = Candidates(default_profile(default_gates()), cluster.shape_of(pod), cluster)
    assert candidates.best() == NO_SLOT
    return candidates


def preempt(cluster: Cluster, pod: Pod, *budgets: PodDisruptionBudget, **args: int) -> PreemptionResult:
    given = convert_view(args, DefaultPreemptionArgs)
    preemption = DefaultPreemption(cluster, DisruptionBudgets(budgets), given)
    return preemption.preempt(candidates_of(cluster, pod))


def chosen(outcome: PreemptionResult, cluster: Cluster) -> tuple[str, list[str]]:
    assert outcome.selection is not None, outcome.message
    node_name = cluster.nodes.node(outcome.selection.slot).metadata.name
    return node_name, [victim.key.removeprefix("default/") for victim in outcome.selection.victims]


def budget(name: str, labels: Raw, status: Raw | None = None, **spec: Any) -> PodDisruptionBudget:
    raw = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, **spec},
        "status": status or {},
    }
    return convert_view(raw, PodDisruptionBudget)


URGENT = asking("urgent", 100, "2")


# -- whom ------------------------------------------------------------------------------------------


def test_the_least_important_go_and_no_more_than_needed() -> None:
    cluster = cluster_of(node("n"))
    for name, priority in (("a", 3), ("b", 1), ("c", 2), ("d", 0)):
        put(cluster, "n", name, priority)
    assert chosen(preempt(cluster, URGENT), cluster) == ("n", ["b", "d"])


def test_of_equal_priority_the_youngest_go() -> None:
    cluster = cluster_of(node("n"))
    for name, day in (("a", 1), ("b", 4), ("c", 2), ("d", 3)):
        put(cluster, "n", name, start=f"2026-01-0{day}T00:00:00Z")
    assert chosen(preempt(cluster, URGENT), cluster) == ("n", ["d", "b"])


def test_one_that_has_not_started_is_the_youngest() -> None:
    cluster = cluster_of(node("n"))
    put(cluster, "n", "a", cpu="2")
    put(cluster, "n", "b", cpu="2", start="2026-01-01T00:00:00Z")
    assert chosen(preempt(cluster, URGENT), cluster) == ("n", ["a"])


@pytest.mark.parametrize("priority", [100, 101])
def test_pods_of_equal_priority_are_not_victims(priority: int) -> None:
    cluster = cluster_of(node("n"))
    put(cluster, "n", "a", priority, cpu="4")
    outcome = preempt(cluster, URGENT)
    assert outcome.selection is None
    assert outcome.gives_up
    assert outcome.message == ("preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")


def test_ports_are_freed_too() -> None:
    cluster = cluster_of(node("n"))
    port = [{"name": "c", "ports": [{"hostPort": 80}]}]
    put(cluster, "n", "web", containers=port)
    put(cluster, "n", "other")
    pod = asking("urgent", 100, "1", containers=port)
    assert chosen(preempt(cluster, pod), cluster) == ("n", ["web"])


def test_anti_affinity_is_resolved_too() -> None:
    cluster = cluster_of(node("n", {"zone": "a"}), node("m", {"zone": "a"}))
    put(cluster, "n", "db", labels={"app": "db"})
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert chosen(preempt(cluster, asking("urgent", 100, "1", affinity=affinity)), cluster) == ("n", ["db"])


# -- where ------------------------------------------------------------------------------------------


def test_budgets_weigh_most() -> None:
    cluster = cluster_of(node("n"), node("m"))
    put(cluster, "n", "a", 0, "4", labels={"app": "web"})
    put(cluster, "m", "b", 50, "4")
    outcome = preempt(cluster, URGENT, budget("web", {"app": "web"}, minAvailable=1))
    assert chosen(outcome, cluster) == ("m", ["b"])


def test_then_the_highest_priority_among_the_victims() -> None:
    cluster = cluster_of(node("n"), node("m"))
    put(cluster, "n", "a", 6, "4")
    for name in "bcde":
        put(cluster, "m", name, 5)
    assert chosen(preempt(cluster, URGENT), cluster)[0] == "m"


def test_then_the_sum_of_priorities() -> None:
    cluster = cluster_of(node("n"), node("m"))
    put(cluster, "n", "a", 5, "3")
    put(cluster, "n", "b", 1, "1")
    put(cluster, "m", "c", 5, "4")
    assert chosen(preempt(cluster, asking("urgent", 100, "4")), cluster) == ("m", ["c"])


def test_negative_priorities_do_not_make_many_victims_cheap() -> None:
    cluster = cluster_of(node("n"), node("m"))
    put(cluster, "n", "a", -5, "4")
    put(cluster, "m", "b", -5, "2")
    put(cluster, "m", "c", -5, "2")
    assert chosen(preempt(cluster, asking("urgent", 100, "4")), cluster) == ("n", ["a"])


def test_then_the_latest_start_among_the_victims() -> None:
    cluster = cluster_of(node("n"), node("m"))
    put(cluster, "n", "a", 0, "4", start="2026-01-02T00:00:00Z")
    put(cluster, "m", "b", 0, "4", start="2026-01-01T00:00:00Z")
    assert chosen(preempt(cluster, URGENT), cluster) == ("n", ["a"])


def test_nodes_with_unresolvable_refusals_are_not_candidates() -> None:
    tainted = [{"key": "sla", "value": "80", "effect": "NoSchedule"}]
    cluster = cluster_of(
        node("tainted", taints=tainted), node("small", status={"allocatable": {"cpu": "1", "pods": "9"}}), node("n")
    )
    put(cluster, "tainted", "a", 0, "4")
    put(cluster, "n", "b", 50, "4")
    assert chosen(preempt(cluster, URGENT), cluster) == ("n", ["b"])


def test_message_counts_every_reason() -> None:
    tainted = [{"key": "sla", "value": "80", "effect": "NoSchedule"}]
    cluster = cluster_of(node("tainted", taints=tainted), node("important"), node("half"), node("other half"))
    put(cluster, "important", "a", 200, "4")
    for name in ("half", "other half"):
        put(cluster, name, f"b {name}", 200, "3")
        put(cluster, name, f"c {name}", 0, "1")
    assert preempt(cluster, URGENT).message == (
        "preemption: 0/4 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling, 2 Insufficient cpu."
    )


# -- who may ------------------------------------------------------------------------------------------


def test_pods_with_policy_never_do_not_preempt() -> None:
    cluster = cluster_of(node("n"))
    put(cluster, "n", "a", 0, "4")
    outcome = preempt(cluster, asking("modest", 100, "2", preemptionPolicy="Never"))
    assert outcome == PreemptionResult(message="preemption: not eligible due to preemptionPolicy=Never.")


def test_pods_with_terminating_victims_do_not_preempt_again() -> None:
    cluster = cluster_of(node("n"), node("m"))
    put(cluster, "n", "a", 0, "4")
    put(cluster, "m", "b", 0, "4")
    leaving = "default/a"
    preemption = DefaultPreemption(cluster, is_leaving=lambda record: record.key == leaving)
    candidates = candidates_of(cluster, URGENT)
    slot = cluster.nodes.slot_of["n"]
    text = "preemption: not eligible due to a terminating pod on the nominated node."
    assert preemption.preempt(candidates, slot) == PreemptionResult(message=text)
    assert preemption.preempt(candidates, cluster.nodes.slot_of["m"]).selection is not None


def test_preempted_pods_are_known_by_their_condition() -> None:
    cluster = cluster_of(node("n"))
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    raw = {
        "metadata": {"name": "a", "namespace": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"containers": requests(cpu="4"), "priority": 0},
        "status": {"conditions": [condition]},
    }
    cluster.add_pod(cluster.record("default/a", convert_view(raw, Pod)), 0)
    outcome = DefaultPreemption(cluster).preempt(candidates_of(cluster, URGENT), 0)
    assert outcome.message.endswith("a terminating pod on the nominated node.")


# -- how many nodes ------------------------------------------------------------------------------------------


def test_enough_candidates() -> None:
    assert DefaultPreemptionArgs(minCandidateNodesAbsolute=3).enough(100) == 10
    assert DefaultPreemptionArgs(minCandidateNodesPercentage=1).enough(5000) == 100
    assert DefaultPreemptionArgs(minCandidateNodesPercentage=50, minCandidateNodesAbsolute=1).enough(7) == 3
    assert DefaultPreemptionArgs(minCandidateNodesAbsolute=200).enough(20) == 20


def test_sampled_search_finds_victims() -> None:
    cluster = cluster_of(*(node(f"n{i}") for i in range(20)))
    for i in range(20):
        put(cluster, f"n{i}", f"a{i}", 0, "4")
    outcome = preempt(cluster, URGENT, minCandidateNodesPercentage=0, minCandidateNodesAbsolute=1)
    assert len(chosen(outcome, cluster)[1]) == 1


# -- budgets ------------------------------------------------------------------------------------------


def test_status_is_believed_and_disrupted_pods_are_not_counted_twice() -> None:
    cluster = cluster_of(node("n"))
    for name in ("a", "b", "c"):
        put(cluster, "n", name, labels={"app": "web"})
    status = {"disruptionsAllowed": 1, "disruptedPods": {"a": "2026-01-01T00:00:00Z"}}
    budgets = DisruptionBudgets([budget("web", {"app": "web"}, status)])
    violating, others = budgets.part([cluster.pods[f"default/{name}"] for name in "abc"])
    assert ([r.key for r in violating], [r.key for r in others]) == (["default/c"], ["default/a", "default/b"])


def test_budgets_without_selected_pods() -> None:
    cluster = cluster_of(node("n"))
    put(cluster, "n", "a", labels={"app": "web"})
    malformed = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    raw = [{"selector": {}, "minAvailable": 1}, {"minAvailable": 1}, {"selector": malformed, "minAvailable": 1}]
    budgets = DisruptionBudgets()
    for index, spec in enumerate(raw):
        document = {"metadata": {"name": f"b{index}", "namespace": "default"}, "spec": spec}
        budgets.set(convert_view(document, PodDisruptionBudget))
    assert budgets.part(list(cluster.pods.values()))[0] == []
    budgets.set(budget("web", {"app": "web"}, minAvailable=1))
    assert len(budgets.part(list(cluster.pods.values()))[0]) == 1
    budgets.remove("default", "web")
    assert budgets.part(list(cluster.pods.values()))[0] == []


def test_a_budget_that_is_used_up_makes_the_next_choice_another() -> None:
    cluster = cluster_of(node("n"), node("m"), node("o"))
    put(cluster, "n", "a", 0, "4", labels={"app": "web"})
    put(cluster, "m", "b", 0, "4", labels={"app": "web"})
    put(cluster, "o", "c", 50, "4")
    budgets = DisruptionBudgets([budget("web", {"app": "web"}, {"disruptionsAllowed": 1})])
    preemption = DefaultPreemption(cluster, budgets)
    candidates = candidates_of(cluster, asking("urgent", 100, "4"))
    first, victims = chosen(preemption.preempt(candidates), cluster)
    assert first in ("n", "m")
    cluster.remove_pod(cluster.pods[f"default/{victims[0]}"])
    put(cluster, first, "now there", 100, "4")
    budgets.set(budget("web", {"app": "web"}, {"disruptionsAllowed": 0}))
    assert chosen(preemption.preempt(candidates), cluster) == ("o", ["c"])
