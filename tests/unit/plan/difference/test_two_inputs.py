"""Two inputs compared: the new one is applied to the cluster that the old one gives."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload, written

from moorage.plan.difference.comparison import Becomes
from moorage.plan.difference.difference import Difference
from moorage.plan.difference.two_inputs import Edit, InputDiff
from moorage.plan.node_changes import ChangeError
from moorage.plan.what_if import Changes

NODES = (node("n1"), node("n2"))


def compared(
    old: list[Raw], new: list[Raw | str], common: tuple[Raw, ...] = NODES, *, allows_empty: bool = False
) -> tuple[Difference, InputDiff, Plan]:
    plan = Plan(*common, *old)
    given = {document["metadata"]["name"] for document in common}
    keys = [key for key in plan.planner.inventory.items if key.name not in given]
    diff = InputDiff("old", "new", keys, allows_empty=allows_empty)
    changes = Changes(diff=diff)
    sources = written(*new) if new else []
    plan.outcome, difference, _ = plan.planner.what_if(plan.simulation, plan.outcome, changes, sources)
    return difference, diff, plan


def described(old: list[Raw], new: list[Raw | str], **options: Any) -> list[str]:
    return list(compared(old, new, **options)[1].described())[1:]


def web(replicas: int = 2, cpu: str = "1", **pods: Any) -> Raw:
    return workload("Deployment", "web", cpu, pods, replicas=replicas)


def test_the_same_input_changes_nothing() -> None:
    difference, diff, plan = compared([web(), pod("bare")], [web(), pod("bare")])
    assert diff.objects == []
    assert list(diff.described()) == ["old → new", "the same objects in both"]
    assert difference.is_empty
    assert plan.outcome.is_complete


def test_fields_are_compared_by_path_and_list_elements_by_name() -> None:
    assert described([web()], [web(5, "1500m", nodeSelector={"pool": "spot"})]) == [
        "Deployment default/web: spec.replicas 2 → 5; "
        "spec.template.spec.containers[c].resources.requests.cpu 1 → 1500m; "
        'spec.template.spec.nodeSelector (none) → {"pool":"spot"}'
    ]


def test_defaults_that_one_side_writes_out_are_no_change() -> None:
    plain, explicit = web(), web()
    explicit["spec"] |= {"revisionHistoryLimit": 10, "strategy": {"type": "RollingUpdate"}}
    explicit["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    assert described([plain], [explicit]) == ["the same objects in both"]


def test_objects_that_only_one_side_has_are_removed_and_added() -> None:
    difference, diff, plan = compared([web(), pod("gone")], [web(), workload("Deployment", "api", "100m", replicas=1)])
    assert [(one.name, one.change) for one in diff.objects] == [("gone", Edit.REMOVED), ("api", Edit.ADDED)]
    assert [departure.pod for departure in difference.departures] == ["default/gone"]
    assert {pair.becomes for pair in difference.comparison.differences} == {Becomes.REMOVED, Becomes.NEW}
    assert [line.workload for line in difference.placed] == ["Deployment default/api"]
    assert "gone" not in {line.name for line in plan.outcome.pods if line.is_present}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet"])
def test_pods_of_a_removed_workload_go_with_it(kind: str) -> None:
    """As kubectl deletes: in the background, also a Job, whose pods the API's default would orphan."""
    size: dict[str, Any] = {} if kind == "DaemonSet" else {"parallelism": 2} if kind == "Job" else {"replicas": 2}
    difference, _, plan = compared([workload(kind, "x", **size)], [web(1)])
    assert {one.workload for one in difference.departures} == {f"{kind} default/x"}
    assert difference.anyway == []
    assert [line.workload for line in plan.outcome.pods if line.is_present] == ["Deployment default/web"]


def test_common_input_stays_though_only_the_old_side_names_it_again() -> None:
    _, diff, plan = compared([*NODES, web()], [web()])
    assert diff.objects == []
    assert len(plan.outcome.nodes) == 2


def test_removed_node_moves_its_pods() -> None:
    difference, diff, _ = compared([node("n3", cpu="8"), web(1, "5")], [web(1, "5")], NODES)
    assert [str(one) for one in diff.objects] == ["Node n3 is removed"]
    assert [departure.node for departure in difference.departures] == ["n3"]


def test_pods_of_unchanged_workloads_stay_where_they_are() -> None:
    """A plan from the beginning would shuffle them: names and ties depend on everything in the input."""
    many = [workload("Deployment", f"w{number}", "300m", replicas=3) for number in range(4)]
    first = workload("Deployment", "aaa", "300m", replicas=3)
    difference, _, _ = compared(many, [first, *reversed(many)])
    assert difference.departures == []
    assert {line.workload for line in difference.placed} == {"Deployment default/aaa"}


def test_change_of_an_immutable_field_is_refused_as_by_the_api_server() -> None:
    new = web()
    new["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    new["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    difference, diff, plan = compared([web()], [new])
    assert diff.objects == []  # and it is not taken for removed
    assert plan.outcome.rejected == 1
    assert any("field is immutable" in note.message for note in plan.outcome.notes)
    assert difference.departures == []


def test_quota_of_the_new_side_refuses_pods() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    _, _, plan = compared([web(2, "100m")], [web(4, "100m"), quota])
    assert [line.counts for line in plan.outcome.failed] == ["2 of 4 pods exist; 2 are refused"]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (["a: ["], "nothing is compared, because an input is not read: "),
        (["kind: Pod\napiVersion: v1\nmetadata: {name: a}\n---\n- ]"], "nothing is compared"),
        (["# nothing"], "new has no Kubernetes object; --allow-empty accepts it"),
    ],
)
def test_side_that_is_not_read_ends_the_comparison(new: list[Raw | str], reason: str) -> None:
    with pytest.raises(ChangeError) as error:
        compared([web()], new)
    assert reason in str(error.value)


def test_empty_side_removes_everything_where_it_is_allowed() -> None:
    assert described([web()], ["# nothing"], allows_empty=True) == ["Deployment default/web is removed"]


def test_refusals_of_the_old_side_are_not_those_of_the_new() -> None:
    bad = web()
    bad["spec"]["replicas"] = -1
    difference, _, plan = compared([bad], [bad])
    assert (difference.before.rejected, plan.outcome.rejected) == (1, 1)
    fixed = compared([bad], [web()])[2]
    assert fixed.outcome.rejected == 0


def test_long_lists_and_values_are_cut() -> None:
    new = [workload("Deployment", f"w{number}", "1m", replicas=1) for number in range(60)]
    lines = described([web()], [web(), *new])
    assert len(lines) == 41
    assert lines[-1] == "20 other objects"
    long = web()
    long["metadata"]["annotations"] = {"note": "x" * 500, **{f"a{number}": "1" for number in range(9)}}
    (line,) = described([web()], [long])
    assert len(line) < 300
    assert line.endswith("; 6 other fields")


def test_data_has_every_field_with_its_values() -> None:
    data = compared([web(), running("r", "n1")], [web(3)])[1].data()
    assert data == {
        "old": "old",
        "new": "new",
        "objects": [
            {"kind": "Pod", "namespace": "default", "name": "r", "change": "removed", "fields": []},
            {
                "kind": "Deployment",
                "namespace": "default",
                "name": "web",
                "change": "changed",
                "fields": [{"path": "spec.replicas", "old": 2, "new": 3}],
            },
        ],
    }
