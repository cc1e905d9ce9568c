"""Suggestions are tried on the whole workload: what helps one pod at the cost of another is not offered."""

from __future__ import annotations

import pytest
import yaml
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node, pod, running, workload

from moorage.plan.explain.explanation import Explanation, plain
from moorage.plan.explain.remedies.change import ChangeKind
from moorage.plan.explain.remedies.workload import trials
from moorage.plan.explain.sentence.standings import Standing


def apart(key: str = "kubernetes.io/hostname") -> Raw:
    """Return a rule that keeps the pods of `web` apart."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def summaries(told: Explanation) -> list[str]:
    return [one.change.summary for one in told.suggestions]


def test_replicas_that_keep_away_from_each_other_are_not_asked_to_move() -> None:
    web = workload("Deployment", "web", replicas=2, pods={"affinity": apart()})
    told = explained(node("n1"), web, pod="deployment/web")
    assert summaries(told) == [
        "required podAntiAffinity term (app=web by kubernetes.io/hostname): prefer it instead of requiring it",
        "replicas 2 → 1: as many as fit",
        "1 more node like n1",
    ]
    assert told.suggestions[0].change.recreates, "the old pod would keep the new ones away"
    assert not any(one.change.gone for one in told.suggestions)
    assert all(one.pending_after == 0 and one.pending_before == 1 for one in told.suggestions)


def test_a_suggestion_says_what_it_does_for_the_workload() -> None:
    taints = [{"key": "t", "value": "1", "effect": "NoSchedule"}]
    nodes = node("n1", "2", taints=taints), node("n2", "1", taints=taints)
    told = explained(*nodes, workload("Deployment", "web", replicas=3), pod="deployment/web")
    effects = {one.change.summary: one.effect for one in told.suggestions}
    assert effects["add a toleration for t: Equal 1, NoSchedule"] == "all 3 pods get a node: n1, n2"
    partly = next(effect for summary, effect in effects.items() if summary.startswith("remove the taint t=1"))
    assert partly in ("2 of 3 pods that wait get a node: n1", "1 of 3 pods that wait gets a node: n2")
    assert plain(told)["suggestions"][0]["landsOn"] == ["n1", "n2"]
    told = explained(node("n1"), workload("Deployment", "web", replicas=5), pod="deployment/web")
    effects = {one.change.summary: one.effect for one in told.suggestions}
    assert effects["replicas 5 → 4: as many as fit"] == "every pod that is left has a node"
    assert effects["1 more node like n1"] == "the pod gets a node: n1-1"
    gated = explained(node("n1"), pod("p", schedulingGates=[{"name": "g"}]))
    assert [one.effect for one in gated.suggestions] == ["it fits on n1"]


@pytest.mark.parametrize(
    ("cpu", "replicas", "pods", "number"),
    [
        ("2", 6, {}, 2),
        ("3", 9, {}, 8),
        ("1", 90, {}, 22),
        ("1", 7, {"affinity": apart()}, 6),  # requests alone would ask for two
        ("1", 5, {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]}, 4),
    ],
    ids=["two on each", "one on each", "many", "apart", "ports"],
)
def test_the_smallest_number_of_nodes_is_suggested(cpu: str, replicas: int, pods: Raw, number: int) -> None:
    web = workload("Deployment", "web", cpu, pods=pods, replicas=replicas)
    told = explained(node("n1", cpu="4"), web, pod="deployment/web")
    assert f"{number} more nodes like n1" in summaries(told)


def test_a_suggestion_says_how_many_pods_still_wait() -> None:
    web = workload("StatefulSet", "web", replicas=3, cpu="3", pods={"nodeSelector": {"disk": "ssd"}})
    web["spec"]["podManagementPolicy"] = "Parallel"
    told = explained(node("n1", cpu="4", disk="hdd"), web, pod="statefulset/web")
    first = next(one for one in told.suggestions if one.change.kind is ChangeKind.NODE_SELECTOR)
    assert (first.pending_before, first.pending_after) == (3, 2)


def test_the_remedy_of_a_suggestion_is_a_manifest_for_plan() -> None:
    web = workload("Deployment", "web", replicas=2, pods={"affinity": apart()})
    told = explained(node("n1"), web, pod="deployment/web")
    (first, second, *_) = plain(told)["suggestions"]
    assert (first["pendingBefore"], first["pendingAfter"], first["worseOff"]) == (1, 0, [])
    assert first["remedy"]["target"]["kind"] == "Deployment"
    changed = yaml.safe_load(first["remedy"]["manifest"])["spec"]
    assert changed["strategy"] == {"type": "Recreate"}
    (preferred,) = changed["template"]["spec"]["affinity"]["podAntiAffinity"].values()
    assert preferred[0]["weight"] == 100
    assert yaml.safe_load(second["remedy"]["manifest"])["spec"]["replicas"] == 1


def test_others_that_would_have_to_go_are_named() -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
    low = workload("Deployment", "low", replicas=1, cpu="3")
    told = explained(node("n1", cpu="4"), low, urgent, pod("p", "3"), pod="deployment/low")
    (first,) = [one for one in told.suggestions if one.change.kind is ChangeKind.PRIORITY]
    assert first.worse_off == ("default/p would be evicted, and nothing recreates it",)


def test_the_nearest_version_comes_first_and_a_version_label_is_called_a_fact() -> None:
    rule = {"key": "kernel", "operator": "SemverGt", "values": ["5.15.0"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    web = workload("Deployment", "web", replicas=1, pods={"affinity": affinity})
    nodes = node("a", kernel="5.15.0-generic"), node("b", kernel="5.4.0")
    told = explained(*nodes, web, pod="deployment/web", gates={"AllAlpha": True})
    assert summaries(told)[0] == "required node affinity: kernel SemverGt 5.15.0 → SemverGt 5.15.0-0"
    labels = [one.change for one in told.suggestions if one.change.kind is ChangeKind.NODE_LABEL]
    assert labels
    assert all("a fact about the node" in change.note for change in labels)


def test_fewer_replicas_are_not_suggested_for_a_pod_that_nobody_asked_for() -> None:
    told = explained(node("n1"), workload("Deployment", "web", replicas=4), pod="deployment/web")
    assert told.standing is Standing.COMPLETE
    assert summaries(told) == ["1 more node like n1"]


def test_a_pod_that_may_not_stay_is_recreated_without_what_admission_gave_it() -> None:
    """The priority of a pod is computed from its class: the API server refuses a manifest that has another one."""
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
    told = explained(node("n1"), running("low", "n1", cpu="4"), urgent, pod("p", "3"))
    (found,) = [one.remedy for one in told.suggestions if one.change.kind is ChangeKind.PRIORITY]
    assert found is not None
    assert yaml.safe_load(found.manifest)["spec"].keys() >= {"priorityClassName"}
    assert "priority:" not in found.manifest


def test_the_manifest_of_a_job_keeps_what_cannot_change() -> None:
    told = explained(node("n1"), workload("Job", "web", parallelism=6, completions=6), pod="job/web")
    (found,) = [one.remedy for one in told.suggestions if one.change.kind is ChangeKind.REPLICAS]
    assert found is not None
    assert yaml.safe_load(found.manifest)["spec"]["selector"]["matchLabels"]


URGENT = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
CLOSED = {"key": "x", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("target", "documents"),
    [
        ("p", [running("low", "n1", cpu="3"), pod("p", "2", priorityClassName="urgent")]),
        (
            "deployment/web",
            [
                running("low", "n1", cpu="1"),
                workload("Deployment", "web", "2", pods={"priorityClassName": "urgent"}, replicas=1),
            ],
        ),
    ],
    ids=["a pod at its turn", "the next replica"],
)
def test_where_others_would_have_to_leave_changes_that_spare_them_are_suggested(
    target: str, documents: list[Raw]
) -> None:
    told = explained(node("n1"), node("n2", taints=[CLOSED]), URGENT, *documents, pod=target)
    assert Standing.PREEMPTS in (told.standing, told.next)
    assert summaries(told) == [
        "cpu 2 → at most 1 (lower by 1)",
        "add a toleration for x: Exists, NoSchedule",
        "remove the taint x:NoSchedule from node n2",
        "1 more node like n1",
    ]
    assert not any(one.worse_off or one.change.recreates for one in told.suggestions)


def test_a_change_that_makes_others_leave_says_who() -> None:
    """The first pod has room on the node that the change opens; the second one preempts."""
    web = workload(
        "Deployment", "web", pods={"priorityClassName": "urgent", "nodeSelector": {"disk": "ssd"}}, replicas=2
    )
    told = explained(node("n1", disk="hdd"), running("low", "n1", cpu="3"), URGENT, web, pod="deployment/web")
    assert summaries(told) == ["nodeSelector disk: ssd → hdd", "label node n1 with disk=ssd (now hdd)"]
    assert all(one.worse_off == ("default/low would be evicted, and nothing recreates it",) for one in told.suggestions)


def test_changes_that_help_together_say_who_still_waits() -> None:
    web = workload("StatefulSet", "web", "3", pods={"nodeSelector": {"disk": "ssd"}}, replicas=3)
    web["spec"]["podManagementPolicy"] = "Parallel"
    told = explained(node("n1", cpu="2", disk="hdd"), web, pod="statefulset/web")
    assert told.together is not None
    assert (told.together.pending_before, told.together.pending_after) == (3, 2)
    assert plain(told)["together"]["remarks"] == ["2 of the 3 pods that wait now still wait"]


def test_a_volume_that_containers_mount_is_named_as_the_obstacle() -> None:
    mounted = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
    web = workload("Deployment", "web", pods=mounted, replicas=1)
    web["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "d", "mountPath": "/data"}]
    told = explained(node("n1"), web, pod="deployment/web")
    (found,) = told.suggestions
    assert found.summary.startswith("create PersistentVolumeClaim data in namespace default")
    assert found.remedy is not None
    assert not found.remedy.manifest, "a workload without its volume is not what helps"


def test_what_cannot_be_tried_is_not_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(work: object, seconds: float) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(trials, "in_fork", no_room)
    web = workload("Deployment", "web", pods={"nodeSelector": {"disk": "ssd"}}, replicas=5)
    told = explained(node("n1"), web, pod="deployment/web")
    assert told.not_all_tried
    assert not told.suggestions
