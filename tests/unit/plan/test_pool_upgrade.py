"""The upgrade of a pool: which nodes, how many at a time, where it stops, and what becomes of the nodes."""

from __future__ import annotations

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, workload

from moorage.model.kinds import KINDS
from moorage.plan.node_changes import ChangeError, LabelChange
from moorage.plan.pool_upgrade import PoolUpgrade, Upgrade, is_for_upgraded, parse_upgrade
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.text import TextReport
from moorage.plan.what_if import Changes

VERSION = "example.com/version"
NEW = (LabelChange("", VERSION, "v1.37.0"),)


def pool(number: int = 3, **labels: str) -> list[Raw]:
    return [node(f"n{index}", taints=None, **{"pool": "spot", VERSION: "v1.36.0", **labels}) for index in range(number)]


def budget(minimum: int) -> Raw:
    spec = {"minAvailable": minimum, "selector": {"matchLabels": {"app": "web"}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": spec}


def upgraded(plan: Plan, change: PoolUpgrade) -> Upgrade:
    difference = plan.what_if(Changes(upgrade=change))
    assert difference.upgrade is not None
    text = "\n".join(TextReport().lines(plan.outcome, difference))
    markdown = "\n".join(MarkdownReport().lines(plan.outcome, difference))
    word = "It completes after" if difference.upgrade.completes else "It stops at"
    assert word in text
    assert word in markdown
    return difference.upgrade


def labels_of(plan: Plan) -> dict[str, str]:
    nodes = plan.simulation.world.all(KINDS.NODE)
    return {one.name: one.view.metadata.labels.get(VERSION, "") for one in nodes}


def test_an_upgrade_relabels_and_uncordons_each_node_of_the_pool_and_no_other() -> None:
    plan = Plan(
        *pool(),
        node("other", taints=None, **{VERSION: "v1.36.0"}),
        workload("Deployment", "web", replicas=3),
        budget(2),
    )
    upgrade = upgraded(plan, PoolUpgrade("pool=spot", labels=NEW))
    assert upgrade.completes
    assert [step.nodes for step in upgrade.steps] == [("n0",), ("n1",), ("n2",)]
    assert labels_of(plan) == dict.fromkeys(("n0", "n1", "n2"), "v1.37.0") | {"other": "v1.36.0"}
    assert not any(one.view.spec.unschedulable for one in plan.simulation.world.all(KINDS.NODE))


def test_an_upgrade_stops_where_new_versions_leave_pods_pending_and_their_budget_counts_them() -> None:
    rule = {"key": VERSION, "operator": "SemverLt", "values": ["v1.37.0"]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    web = workload("Deployment", "web", pods={"affinity": {"nodeAffinity": required}}, replicas=3)
    plan = Plan(*pool(), web, budget(2), gates={"AllAlpha": True})
    upgrade = upgraded(plan, PoolUpgrade("pool=spot", labels=NEW))
    assert not upgrade.completes
    assert (upgrade.stops_at, upgrade.upgraded) == ("n2", ("n0", "n1"))
    assert "PodDisruptionBudget default/web: minAvailable 2, 2 of 3 healthy, 0 disruptions allowed" in upgrade.message
    assert "stays Pending: 0/3 nodes are available" in upgrade.message
    assert upgrade.blocked


def test_replaced_nodes_have_new_names_and_the_new_label() -> None:
    plan = Plan(*pool(2), workload("Deployment", "web", replicas=2))
    assert upgraded(plan, PoolUpgrade("pool=spot", labels=NEW, replaces=True)).completes
    assert labels_of(plan) == {"n0-1": "v1.37.0", "n1-1": "v1.37.0"}


@pytest.mark.parametrize(("limit", "batches"), [("1", [1, 1, 1, 1]), ("3", [3, 1]), ("50%", [2, 2]), ("10%", [1] * 4)])
def test_nodes_are_taken_so_many_at_a_time(limit: str, batches: list[int]) -> None:
    upgrade = upgraded(Plan(*pool(4)), PoolUpgrade("pool", limit))
    assert [len(step.nodes) for step in upgrade.steps] == batches


def test_pods_that_kubectl_drain_refuses_stop_the_upgrade_unless_it_is_told_to_evict_them() -> None:
    bare = pod("bare", nodeName="n0")
    upgrade = upgraded(Plan(*pool(2), bare), PoolUpgrade("pool=spot"))
    assert "kubectl drain n0 refuses default/bare without --force" in upgrade.message
    assert upgrade.upgraded == ()
    assert upgraded(Plan(*pool(2), bare), PoolUpgrade("pool=spot", forces=True)).completes


def test_pods_with_local_data_stop_the_upgrade_unless_it_may_be_deleted() -> None:
    web = workload("Deployment", "web", pods={"volumes": [{"name": "v", "emptyDir": {}}]}, replicas=1)
    assert "--delete-emptydir-data" in upgraded(Plan(*pool(2), web), PoolUpgrade("pool=spot")).message
    assert upgraded(Plan(*pool(2), web), PoolUpgrade("pool=spot", deletes_empty_dirs=True)).completes


def test_a_node_that_was_cordoned_before_stays_cordoned() -> None:
    first, second = pool(2)
    first["spec"]["unschedulable"] = True
    plan = Plan(first, second)
    upgraded(plan, PoolUpgrade("pool=spot"))
    nodes = plan.simulation.world.all(KINDS.NODE)
    assert {one.name: bool(one.view.spec.unschedulable) for one in nodes} == {"n0": True, "n1": False}


def test_nodes_are_upgraded_in_the_order_of_the_input_though_some_were_changed_before() -> None:
    first, second = (node(f"n{number}", pool="spot") for number in range(2))
    first["spec"]["unschedulable"] = True
    plan = Plan(first, second)
    difference = plan.what_if(Changes(labels=(LabelChange("n0", "a", "b"),), upgrade=PoolUpgrade("pool=spot")))
    assert difference.upgrade is not None
    assert [step.nodes for step in difference.upgrade.steps] == [("n0",), ("n1",)]


def test_two_budgets_of_one_pod_fail_the_drain() -> None:
    """kubectl waits for a budget, and gives up where the eviction is an error."""
    plan = Plan(*pool(), workload("Deployment", "web", replicas=3), budget(1), {**budget(2), "metadata": {"name": "q"}})
    upgrade = upgraded(plan, PoolUpgrade("pool=spot"))
    assert "the drain of n0 fails: This pod has more than one PodDisruptionBudget" in upgrade.message


def test_a_label_without_a_node_is_for_upgraded_nodes() -> None:
    assert is_for_upgraded("example.com/v=v1.37.0")
    assert is_for_upgraded("old-")
    assert not is_for_upgraded("n1=pool=spot")
    assert not is_for_upgraded("n1=pool-")
    assert not is_for_upgraded("{pool=spot}=a=b")


@pytest.mark.parametrize(
    ("selector", "limit", "complaint"),
    [
        ("", "1", "needs the label selector"),
        ("a in", "1", "--upgrade a in: unable to parse requirement"),
        ("a=b", "0", "--max-unavailable"),
        ("a=b", "0%", "--max-unavailable"),
        ("a=b", "x", "--max-unavailable"),
        ("a=b", "-1", "--max-unavailable"),
        ("a=b", "%", "--max-unavailable"),
        ("a=b", "200%", "--max-unavailable must not be greater than 100%, and is 200%"),
        ("a=b", "9" * 30, "--max-unavailable"),
    ],
)
def test_wrong_options_of_an_upgrade_are_refused(selector: str, limit: str, complaint: str) -> None:
    with pytest.raises(ChangeError, match=complaint):
        parse_upgrade(selector, limit, (), replaces=False, forces=False, deletes_empty_dirs=False)


def test_a_pool_without_nodes_is_refused() -> None:
    with pytest.raises(ChangeError, match="there are no nodes with pool=gone in the input"):
        Plan(*pool()).what_if(Changes(upgrade=PoolUpgrade("pool=gone")))
