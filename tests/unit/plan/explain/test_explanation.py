"""What becomes of a pod and why: standings, every reason, scores, preemption, one node in full, the right moment."""

from __future__ import annotations

import pytest
from tests.objects import taint
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node, pod, running, workload

from moorage.plan.explain.cells import Answer
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.target import TargetError

URGENT = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}


def test_a_pod_that_fits() -> None:
    told = explained(node("a"), node("b", cpu="8"), pod("p"))
    assert (told.standing, told.node, told.feasible, told.nodes) == (Standing.FITS, "b", 2, 2)
    assert [row.nodes for row in told.scores] == [("b",), ("a",)]
    for row in told.scores:
        assert row.total == sum(row.scores.values())
        assert row.scores["TaintToleration"] == 100 * told.weights["TaintToleration"] == 300
    assert told.tied == 1
    assert not told.is_pending


def test_a_tie_is_told() -> None:
    told = explained(node("a"), node("b"), node("c"), pod("p"))
    assert told.tied == 3
    (row,) = told.scores
    assert row.nodes[0] == told.node


def test_every_reason_of_every_node() -> None:
    bad = node("a", cpu="1", taints=[taint("k", "1"), taint("l", "2")], disk="hdd")
    bad["spec"]["unschedulable"] = True
    told = explained(bad, node("b", cpu="1"), pod("p", "2", nodeSelector={"disk": "ssd"}))
    assert told.standing is Standing.PENDING
    said = {group.nodes: {one.plugin: one.verdict for one in group.refusals} for group in told.refused}
    assert list(said[("b",)]) == ["NodeAffinity", "NodeResourcesFit"]
    assert list(said[("a",)]) == ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit"]
    assert len(said[("a",)]["TaintToleration"].details) == 3  # also that of the node controller
    assert said[("b",)]["NodeResourcesFit"].details == ("cpu: 2 <= 1 is false (allocatable 1, requested 0)",)
    assert told.message.startswith("0/2 nodes are available: ")


def test_no_nodes_at_all() -> None:
    told = explained(pod("p"))
    assert (told.standing, told.message) == (Standing.PENDING, "no nodes available to schedule pods")
    assert told.suggestions == ()


def test_a_bound_pod_is_explained_as_if_it_came_again() -> None:
    told = explained(node("a", cpu="1"), node("b"), running("p", "a", cpu="1"))
    assert (told.standing, told.node, told.feasible) == (Standing.BOUND, "a", 2)
    told = explained(node("a", taints=[taint("k")]), running("p", "a"))
    assert (told.standing, told.node, told.feasible) == (Standing.BOUND, "a", 0)
    assert told.refused[0].nodes == ("a",)


def test_a_pod_on_a_node_that_is_not_there() -> None:
    told = explained(node("a"), running("p", "ghost"))
    assert (told.standing, told.node) == (Standing.BOUND, "ghost")


def test_preemption() -> None:
    told = explained(node("a"), running("r", "a", cpu="4"), URGENT, pod("p", priorityClassName="urgent"))
    assert (told.standing, told.node) == (Standing.PREEMPTS, "a")
    assert told.preemption is not None
    assert told.preemption.victims == ("default/r",)
    assert told.is_pending
    told = explained(node("a"), running("r", "a", cpu="4"), pod("p"))
    assert told.preemption is not None
    assert told.preemption.victims == ()
    assert "preemption: 0/1 nodes are available" in told.preemption.message


@pytest.mark.parametrize(
    ("asks", "reason"),
    [
        (pod("p", schedulingGates=[{"name": "wait"}]), "SchedulingGated"),
        (pod("p", schedulerName="other"), "NoScheduler"),
        (
            pod("p", metadata={"uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}),
            "Terminating",
        ),
    ],
)
def test_pods_that_nobody_looks_at(asks: Raw, reason: str) -> None:
    told = explained(node("a"), asks)
    assert (told.standing, told.reason, told.feasible) == (Standing.PENDING, reason, 1)


# -- the moment -------------------------------------------------------------------------------------------------------


def test_pods_that_come_before_are_placed_before() -> None:
    documents = [node("a"), pod("first", "3"), pod("p", "2")]
    assert explained(*documents).standing is Standing.PENDING
    assert explained(*documents, alone=True).standing is Standing.FITS


def test_pods_that_come_after_are_not() -> None:
    documents = [node("a"), pod("p", "3"), pod("later", "2")]
    assert (explained(*documents).standing, explained(*documents).feasible) == (Standing.FITS, 1)


# -- one node ---------------------------------------------------------------------------------------------------------


def test_one_node_in_full() -> None:
    tolerant = [{"key": "k", "operator": "Lt", "value": "5"}]
    asks = pod("p", nodeSelector={"disk": "ssd"}, tolerations=tolerant)
    told = explained(node("a", taints=[taint("k", "3")], disk="ssd"), node("b"), asks, node="a")
    assert told.column is not None
    cells = {cell.plugin: cell for cell in told.column.plugins}
    assert told.column.fits
    assert cells["TaintToleration"].details == ("taint k=3 is tolerated by toleration Lt 5",)
    assert cells["NodeAffinity"].details == ("label disk=ssd",)
    assert cells["NodeResourcesFit"].details == ("cpu: 1 <= 4", "pods: 0 + 1 <= 20")
    assert cells["NodePorts"].answer is Answer.NOTHING
    assert (told.column.rank, told.column.total) == (1, told.scores[0].total)
    told = explained(node("a"), node("b"), asks, node="b")
    assert told.column is not None
    refused = next(cell for cell in told.column.plugins if cell.plugin == "NodeAffinity")
    assert (told.column.fits, told.column.rank, refused.answer) == (False, 0, Answer.NO)


def test_a_node_that_is_not_there() -> None:
    with pytest.raises(TargetError, match="there is no node 'x' in the input"):
        explained(node("a"), pod("p"), node="x")


# -- which pod --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["p", "pod/p", "po/p", "pods/p", "default/p", "pod/default/p", "POD/p"])
def test_ways_to_name_a_pod(text: str) -> None:
    assert explained(node("a"), pod("p"), pod=text).pod == "default/p"


def test_namespaces() -> None:
    documents = [node("a"), pod("p"), pod("p", metadata={"namespace": "team"})]
    assert explained(*documents, namespace="team").pod == "team/p"
    assert explained(*documents, pod="team/p").pod == "team/p"
    with pytest.raises(TargetError, match=r"several pods 'p': default/p, team/p"):
        explained(*documents)
    with pytest.raises(TargetError, match="not in namespace 'default'"):
        explained(*documents, pod="team/p", namespace="default")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("web-12", "there is no pod 'web-12' in the input; did you mean web-1"),
        ("api", "did you mean deployment/api?"),
        ("deployment/ap", "there is no Deployment 'ap' in the input; did you mean api?"),
        ("done", "pod 'done' in namespace 'default' has ended (Succeeded): it needs no node"),
        ("bad", "pod 'bad' was refused: "),
        ("pod/", "names no pod"),
        ("a/b/c/d", "names no pod"),
        ("sts/x", "there is no StatefulSet 'x'"),
        ("zzz", "there is no pod 'zzz' in namespace 'default' in the input"),
    ],
)
def test_pods_that_are_not_there(text: str, says: str) -> None:
    done = running("done", "a")
    done["status"]["phase"] = "Succeeded"
    bad = pod("bad", restartPolicy="Sometimes")
    documents = [node("a"), pod("web-1"), workload("Deployment", "api", replicas=1), done, bad]
    with pytest.raises(TargetError) as caught:
        explained(*documents, pod=text, namespace="default" if "namespace" in says else "")
    assert says in str(caught.value)


def test_a_workload_is_its_first_pending_pod_or_its_next() -> None:
    some = explained(node("a"), workload("Deployment", "web", cpu="2", replicas=3), pod="deploy/web")
    assert (some.standing, some.workload) == (Standing.PENDING, "Deployment default/web")
    assert some.story == "1 of 3 pods of Deployment default/web waits for a node; this is it"
    more = explained(node("a"), workload("Deployment", "web", replicas=3), pod="deployment/web")
    assert (more.standing, more.next, more.node) == (Standing.COMPLETE, Standing.FITS, "a")
    none = explained(node("a"), workload("Deployment", "web", cpu="9", replicas=0), pod="deployment/web")
    assert (none.standing, none.next) == (Standing.COMPLETE, Standing.PENDING)


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job", "DaemonSet"])
def test_every_kind_of_workload(kind: str) -> None:
    told = explained(node("a"), workload(kind, "w"), pod=f"{kind.lower()}/w")
    assert told.standing in (Standing.COMPLETE, Standing.BOUND)
    assert told.node == "a"
    assert told.workload == f"{kind} default/w"
