"""What can be explained: pods, workloads by every word that kubectl knows, CronJobs, and nodes by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.objects import taint
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node, pod, running, workload

from moorage.cli.commands.explain import command
from moorage.plan.explain.target import TargetError


def cron_job(name: str, cpu: str = "9", **fields: Any) -> Raw:
    job = {"template": workload("Job", "x", cpu)["spec"]["template"]}
    spec = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job}, **fields}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def ran(tmp_path: Path, *arguments: str, documents: tuple[Raw, ...] = ()) -> Result:
    path = tmp_path / "cluster.json"
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return CliRunner().invoke(command, [*arguments, "-f", str(path)], standalone_mode=False)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Deployment", "deploy deployment deployments deployment.apps deploy.apps deployments.v1.apps DEPLOY"),
        ("StatefulSet", "sts statefulset statefulsets.apps"),
        ("DaemonSet", "ds daemonset daemonsets.apps"),
        ("ReplicaSet", "rs replicaset"),
        ("Job", "job jobs job.batch jobs.v1.batch"),
    ],
)
def test_workloads_by_every_word_that_kubectl_knows(kind: str, words: str) -> None:
    documents = node("a"), workload(kind, "w", "9")
    for word in words.split():
        told = explained(*documents, pod=f"{word}/w")
        assert told.workload == f"{kind} default/w"
        assert told.is_pending


@pytest.mark.parametrize("word", ["cj", "cronjob", "cronjobs", "cronjob.batch", "cj.v1.batch"])
def test_the_next_job_of_a_cron_job(word: str) -> None:
    told = explained(node("a"), cron_job("c"), pod=f"{word}/c")
    assert told.workload == "Job default/c-next"
    assert told.story == "no pod of CronJob default/c waits; this would be one of its next Job"
    assert told.suggestions


def test_a_pod_of_a_cron_job_that_waits_comes_first() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "uid-c", "controller": True}
    job = workload("Job", "c-1", "9")
    job["metadata"]["ownerReferences"] = [owner]
    told = explained(node("a"), cron_job("c"), job, pod="cj/c")
    assert told.workload == "Job default/c-1"
    assert told.story == "the pod of CronJob default/c waits for a node; this is it"


def test_cron_jobs_that_are_suspended_or_ask_for_nothing() -> None:
    assert explained(node("a"), cron_job("c", suspend=True), pod="cj/c").story.endswith(", although it is suspended")
    idle = cron_job("c")
    idle["spec"]["jobTemplate"]["spec"]["suspend"] = True
    with pytest.raises(TargetError, match="have no pods"):
        explained(node("a"), idle, pod="cj/c")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pvc/data", "pvc/data is a PersistentVolumeClaim, which runs no pods: write pod/NAME"),
        ("svc/web", "svc/web is a Service, which runs no pods: write pod/NAME"),
        ("cj/none", "there is no CronJob 'none' in the input"),
        ("deploy/", "names no pod: write pod/NAME, NAMESPACE/NAME, node/NAME, or a workload"),
        ("a", "there is no pod 'a' in the input; did you mean node/a?"),
        ("c", "there is no pod 'c' in the input; did you mean cronjob/c?"),
    ],
)
def test_what_cannot_be_explained_says_what_can(text: str, said: str) -> None:
    with pytest.raises(TargetError) as caught:
        explained(node("a"), cron_job("c"), pod=text)
    assert said in str(caught.value)


def test_a_node_by_itself(tmp_path: Path) -> None:
    documents = (
        node("a", taints=[taint("spot", "15")]),
        node("b"),
        running("here", "a", cpu="1"),
        running("there", "b", cpu="1", tolerations=[{"operator": "Exists"}]),
        running("stuck", "b", cpu="1"),
        workload("Deployment", "web", "3", replicas=2),
        workload("DaemonSet", "agent", "0"),
        pod("gated", schedulingGates=[{"name": "x/wait"}]),
    )
    done = ran(tmp_path, "node/a", documents=documents)
    assert done.return_value == 0
    text = done.stdout
    assert "node a  Ready\n  taints: spot=15:NoSchedule\n  requested: cpu 1/4, " in text
    assert "  1 pod: default/here\n" in text
    waiting, _, others = text.partition("Pods of other nodes that could run here")
    assert "of Deployment default/web" in waiting
    assert "taint spot=15 is not tolerated" in waiting
    assert "waiting for scheduling gates: [x/wait]" in waiting
    assert "agent" not in text
    could, _, could_not = others.partition("Pods of other nodes that could not")
    assert "pod default/there" in could
    assert "pod default/stuck" in could_not
    document = json.loads(ran(tmp_path, "no/a", "-o", "json", documents=documents).stdout)
    assert (document["node"], document["pods"]) == ("a", ["default/here"])
    fits = {one["pods"][0]: (one["pending"], one["fits"]) for one in document["elsewhere"]}
    assert fits["default/there"] == (False, True)
    assert fits["default/stuck"] == (False, False)
    assert fits["default/gated"] == (True, False)


def test_a_node_that_is_not_there(tmp_path: Path) -> None:
    done = ran(tmp_path, "node/node-11", documents=(node("node-1"),))
    assert done.return_value == 2
    assert done.stderr == "moorage: there is no node 'node-11' in the input; did you mean node-1?\n"
    with pytest.raises(TargetError, match="is a node, not a pod"):
        explained(node("a"), pod="node/a")
