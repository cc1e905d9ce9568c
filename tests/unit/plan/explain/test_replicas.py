"""Workloads are counted: how many pods exist, wait or are refused, and what would become of one more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.objects import taint
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Plan, Raw, node, pod, workload

from moorage.cli.commands.explain import command
from moorage.plan.explain.explanation import plain
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.text import ExplanationText


def quota(pods: int) -> Raw:
    hard = {"pods": str(pods)}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}


def controller(name: str, replicas: int, cpu: str = "1") -> Raw:
    made = workload("ReplicaSet", name, cpu, replicas=replicas)
    selector = made["spec"]["selector"]["matchLabels"]
    return {**made, "apiVersion": "v1", "kind": "ReplicationController", "spec": {**made["spec"], "selector": selector}}


def of_kind(kind: str, count: int, cpu: str = "1", **fields: Any) -> Raw:
    if kind == "ReplicationController":
        return controller("w", count, cpu)
    return workload(kind, "w", cpu, **{"parallelism" if kind == "Job" else "replicas": count, **fields})


def printed(*documents: Raw, target: str) -> str:
    return " ".join("\n".join(ExplanationText(width=200).lines(explained(*documents, pod=target))).split())


KINDS = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job"]


@pytest.mark.parametrize("kind", KINDS)
def test_refused_pods_are_counted_as_in_plan(kind: str) -> None:
    documents = node("a"), quota(1), of_kind(kind, 3)
    told = explained(*documents, pod=f"{kind}/w")
    (failed,) = Plan(*documents).outcome.failed
    in_order = kind == "StatefulSet"
    lacks = "1 is refused, 1 waits for its turn" if in_order else "2 are refused"
    assert failed.counts == f"1 of 3 pods exists; {lacks}"
    assert told.standing is Standing.REFUSED
    assert told.is_pending, "--strict fails"
    text = printed(*documents, target=f"{kind}/w")
    assert text.startswith(f"{kind} default/w 1 of 3 pods exists; {lacks}: ")
    assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in text
    assert "Were its pods let in, 1 of 1 node would do" in text
    assert "Pending" not in text
    replicas = plain(told)["replicas"]
    assert (replicas["wanted"], replicas["existing"], replicas["refused"]) == (3, 1, 1 if in_order else 2)
    assert replicas["headline"] in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_complete_workload_tells_where_the_next_replica_would_go(kind: str) -> None:
    documents = node("a"), node("b", "8"), of_kind(kind, 3)
    told = explained(*documents, pod=f"{kind}/w")
    assert (told.standing, told.next, told.is_pending) == (Standing.COMPLETE, Standing.FITS, False)
    text = printed(*documents, target=f"{kind}/w")
    assert text.startswith(f"{kind} default/w 3 of 3 pods exist: ")
    who = "One more pod" if kind == "Job" else "The next replica"
    assert f"{who} would go to {told.node}: 2 of 2 nodes fit" in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_next_replica_that_does_not_fit_is_not_a_pod_that_waits(kind: str) -> None:
    documents = node("a", "3"), of_kind(kind, 3)
    told = explained(*documents, pod=f"{kind}/w")
    assert (told.standing, told.next, told.is_pending) == (Standing.COMPLETE, Standing.PENDING, False)
    text = printed(*documents, target=f"{kind}/w")
    who = "One more pod" if kind == "Job" else "The next replica"
    assert f"3 of 3 pods exist: on a {who} would be Pending: needs 1 cpu; no node has any free Unsch" in text
    assert " Pending: fits" not in text.replace("would be Pending: fits", "")
    assert "replicas 4 → 3" not in text


def test_a_next_replica_that_evicts_others_or_is_refused() -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
    first = workload("Deployment", "w", "1", {"priorityClassName": "urgent"}, replicas=1)
    text = printed(node("a", "2"), urgent, first, pod("low", "1"), target="deploy/w")
    assert "The next replica would evict 1 pod from a" in text
    assert "evicts default/low from a" in text
    text = printed(node("a"), quota(2), of_kind("Deployment", 2), target="deploy/w")
    assert "2 of 2 pods exist: on a The next replica would be refused: Error creating: pods" in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_of_no_pods_tells_where_a_first_one_would_go(kind: str) -> None:
    text = printed(node("a"), of_kind(kind, 0), target=f"{kind}/w")
    assert text.startswith(f"{kind} default/w wants 0 pods; a first one would go to a, the only node of 1")
    text = printed(node("a"), of_kind(kind, 0, "9"), target=f"{kind}/w")
    assert "wants 0 pods; a first one would be Pending: needs 9 cpu; the only node has 4 free" in text


def test_a_suspended_job() -> None:
    text = printed(node("a"), of_kind("Job", 2, suspend=True), target="job/w")
    assert "is suspended and wants 0 pods; a first one would go to a" in text


def test_all_pods_that_wait_are_told_with_their_reasons() -> None:
    ordered = of_kind("StatefulSet", 4, "2")
    told = explained(node("a", "3"), ordered, pod="sts/w")
    assert told.standing is Standing.PENDING
    assert told.replicas is not None
    assert [(len(group.pods), group.reason) for group in told.replicas.waiting] == [
        (1, "Unschedulable"),
        (2, "NotCreated"),
    ]
    text = printed(node("a", "3"), ordered, target="sts/w")
    assert "(3 of 4 pods of StatefulSet default/w wait for a node; this is one of them)" in text
    assert "All pods that wait 1 pod (default/w-1): Unschedulable: 0/1 nodes are available: 1 Insufficient cpu." in text
    assert "2 pods (default/w-2, default/w-3): NotCreated: is created once w-1 runs" in text


def test_pods_that_wait_beside_refused_ones() -> None:
    text = printed(node("a", taints=[taint("k", "1")]), quota(1), of_kind("Deployment", 3), target="deploy/w")
    assert "1 of 3 pods exists; 2 are refused: Error creating: pods" in text
    assert "; 1 of those that exist waits for a node" in text
    assert "Pending: The only node has the taint k=1, which it does not tolerate" in text


@pytest.mark.parametrize(
    ("documents", "code"),
    [
        ([node("a", "3"), of_kind("Deployment", 3)], 0),
        ([node("a"), of_kind("Deployment", 0, "9")], 0),
        ([node("a", "2"), of_kind("Deployment", 3)], 1),
        ([node("a"), quota(1), of_kind("Deployment", 3)], 1),
    ],
)
def test_strict_fails_for_pods_that_exist_or_are_refused(documents: list[Raw], code: int, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    done = CliRunner().invoke(command, ["deploy/w", "--strict", "-f", str(path)], standalone_mode=False)
    assert done.return_value == code


def test_many_nodes_are_counted_with_two_examples() -> None:
    nodes = [node(f"n{number}", "1") for number in range(8)]
    text = printed(*nodes, of_kind("Deployment", 8), target="Deployment/w")
    assert text.startswith("Deployment default/w 8 of 8 pods exist: on 8 nodes, such as 1 on n0, 1 on n1 ")
