"""Drains, rollouts, scaling and new nodes planned on live clusters, and compared with what kubectl then does."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.component_processes import until
from tests.e2e.forked_command import forked_moorage
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import moorage_up

_GATES = ("--feature-gates", "TaintTolerationComparisonOperators=true")
Raw = dict[str, Any]


def _node(name: str, cpu: str) -> Raw:
    labels = {"topology.kubernetes.io/zone": "z1", "kubernetes.io/hostname": name}
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def _workload(kind: str, name: str, image: str, cpu: str = "1", **spec: Any) -> Raw:
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": name}}
    about = {"selector": selector, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": about}


def _web(image: str, replicas: int) -> Raw:
    strategy = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    return _workload("Deployment", "web", image, replicas=replicas, strategy=strategy)


_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "wait"},
    "provisioner": "ebs.csi.aws.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}
_CLAIM = {
    "metadata": {"name": "d"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "wait",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
_BARE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "bare"},
    "spec": {"containers": [{"name": "c", "image": "x"}]},
}


class Live:
    """A cluster, its kubectl, and plans of it."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._kubeconfig, self._home = kubeconfig, home
        self.kubectl = Kubectl(kubeconfig, home)

    def apply(self, *documents: Raw) -> None:
        self.kubectl("apply -f -", yaml.safe_dump_all(documents))

    def file(self, document: Raw) -> str:
        path = self._home / "change.yaml"
        path.write_text(yaml.safe_dump(document))
        return str(path)

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        ran = forked_moorage(["plan", "--kubeconfig", str(self._kubeconfig), *_GATES, *arguments])
        assert "Traceback" not in ran.stderr
        return ran

    def plan(self, *arguments: str, code: int = 0) -> Any:
        ran = self.run("-o", "json", *arguments)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return json.loads(ran.stdout)

    def pods(self) -> list[Raw]:
        items: list[Raw] = json.loads(self.kubectl("get pods -o json").out)["items"]
        return items

    def counts(self) -> dict[tuple[str, str], int]:
        """How many pods there are of each revision on each node."""
        found = [
            (one["metadata"]["labels"].get("pod-template-hash", ""), one["spec"].get("nodeName", ""))
            for one in self.pods()
            if "-" in one["metadata"]["name"]
        ]
        return {key: found.count(key) for key in found}


def _planned_counts(plan: Raw) -> dict[tuple[str, str], int]:
    found = [(one["name"].split("-")[1], one.get("node", "")) for one in _present(plan) if "-" in one["name"]]
    return {key: found.count(key) for key in found}


def _present(plan: Raw) -> list[Raw]:
    """The pods that are on a node or wait for one; the others have left or were refused."""
    return [one for one in plan["pods"] if one["state"] in ("Bound", "Placed", "Evicting", "Pending")]


@contextmanager
def _live(directory: Path) -> Iterator[Live]:
    with moorage_up(directory, "--nodes", "0", *_GATES) as running:
        yield Live(running.kubeconfig, running.home)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with _live(tmp_path) as cluster:
        yield cluster


def test_a_pod_with_a_bound_volume_moves_within_its_zone(live: Live) -> None:
    database = _workload("StatefulSet", "db", "db:1", serviceName="db", replicas=1, volumeClaimTemplates=[_CLAIM])
    live.apply(_node("a", "4"), _node("b", "4"), _CLASS, database)
    live.kubectl("rollout status statefulset/db --timeout=120s")
    node = live.pods()[0]["spec"]["nodeName"]
    other = "b" if node == "a" else "a"

    rolled = live.plan("--rollout", "statefulset/default/db", "--strict")["rollout"]
    assert [(step["old"], step["new"]) for step in rolled["steps"]] == [(0, 0), (0, 1)]
    scaled = live.plan("--scale", "statefulset/db=3", "--strict")
    assert sorted(one["name"] for one in scaled["pods"]) == ["db-0", "db-1", "db-2"]

    drained = live.plan("--drain", node, "--strict")
    assert [(one["name"], one["node"]) for one in _present(drained)] == [("db-0", other)]
    live.kubectl(f"drain {node} --timeout=120s")
    live.kubectl("rollout status statefulset/db --timeout=120s")
    until(lambda: [one["spec"].get("nodeName") for one in live.pods()] == [other])
    # What has happened is not planned again.
    again = live.plan("--strict")
    assert again["summary"]["bound"] == 1


@pytest.mark.parametrize("rule", ["maxUnavailable", "minAvailable"])
def test_a_budget_blocks_the_second_drain(live: Live, rule: str) -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}}
    selector = {"matchLabels": {"app": "web"}}
    live.apply(_node("a", "1"), _node("b", "1"), _web("web:1", 2), {**budget, "spec": {rule: 1, "selector": selector}})
    live.kubectl("rollout status deployment/web --timeout=120s")
    until(lambda: live.kubectl("get pdb web -o jsonpath={.status.disruptionsAllowed}").out == "1")
    plan = live.plan("--drain", "a", "--drain", "b", "--strict", code=1)
    left = [one["pod"] for one in plan["whatIf"]["evicted"]]
    stays = [one["pod"] for one in plan["whatIf"]["blocked"]]
    assert (len(left), len(stays)) == (1, 1)
    live.kubectl("drain a --timeout=60s")
    assert "would violate the pod's disruption budget" in live.kubectl.fails("drain b --timeout=2s")
    names = {f"default/{one['metadata']['name']}" for one in live.pods()}
    assert stays[0] in names
    assert left[0] not in names
    assert _planned_counts(plan) == live.counts()


def test_a_rolling_update_goes_as_it_is_planned(live: Live) -> None:
    live.apply(_node("a", "3"), _web("web:1", 2), _BARE)
    live.kubectl("rollout status deployment/web --timeout=120s")
    live.kubectl("wait pod/bare --for=condition=Ready --timeout=120s")

    text = live.run("--drain", "a").stdout
    assert "kubectl drain a refuses without --force" in " ".join(text.split())
    assert "--force" in live.kubectl.fails("drain a --timeout=60s")
    live.kubectl("uncordon a")

    image = live.file(_web("web:2", 2))
    planned = live.plan("--change", image, "--strict")
    assert not planned["whatIf"]["evicted"]
    assert [one["cause"] for one in planned["whatIf"]["replaced"]] == ["new template"] * 2
    assert "Replaced by a rolling update" in live.run(image).stdout
    rollout = live.plan(image, "--rollout", "deployment/web", "--strict")["rollout"]
    assert rollout["completes"]
    assert min(step["available"] for step in rollout["steps"]) == 2
    live.kubectl(f"apply -f {image}")
    live.kubectl("rollout status deployment/web --timeout=120s")
    until(lambda: _planned_counts(planned) == live.counts())

    # More replicas than there is room for: all of the change counts, and what stays Pending is a failure.
    grown = live.file(_web("web:3", 9))
    planned = live.plan("--change", grown, "--rollout", "deployment/web", "--strict", code=1)
    assert not planned["rollout"]["completes"]
    assert [(step["old"], step["new"], step["available"]) for step in planned["rollout"]["steps"]] == [(9, 1, 3)]
    live.kubectl(f"apply -f {grown}")
    until(lambda: _planned_counts(planned) == live.counts())
    # Planned from here, where the rollout is stuck half way, nothing changes; going back to the old image helps.
    assert _planned_counts(live.plan()) == live.counts()
    back = live.plan(live.file(_web("web:2", 2)), "--rollout", "deployment/web", "--strict")
    assert back["rollout"]["completes"]


def test_new_views_of_a_live_cluster(live: Live) -> None:
    live.apply(_node("a", "3"), _web("web:1", 2))
    live.apply(_workload("DaemonSet", "agent", "agent:1", "100m"))
    live.kubectl("rollout status deployment/web --timeout=120s")
    live.kubectl("rollout status daemonset/agent --timeout=120s")
    plan = live.plan("--headroom")
    assert plan["headroom"] == {"Deployment default/web": 0}
    live.plan("--scale", "deployment/web=3", "--strict", code=1)
    more = live.plan("--scale", "deployment/web=4", "--add-nodes", "1", "--like", "a", "--headroom", "--strict")
    assert {one["name"]: one["resources"]["pods"]["requested"] for one in more["nodes"]} == {"a": "3", "a-1": "3"}
    assert more["headroom"] == {"Deployment default/web": 0}
    cordoned = live.plan("--cordon", "a", "--scale", "deployment/web=3", "--strict", code=1)
    assert "1 node(s) were unschedulable" in cordoned["pods"][-1]["message"]
    assert live.plan("--rollout", "daemonset/agent", "--strict")["rollout"]["completes"]
    later = live.plan("--taint", "a=sick:NoExecute", "--at", "10m", "--strict", code=1)
    assert later["summary"]["bound"] == 0
    assert live.plan("--at", "10m", "--strict")["summary"]["bound"] == 3
    for wrong in (["--scale", "deployment/nope=1"], ["--cordon", "nope"], ["--rollout", "deployment/nope"]):
        ran = live.run(*wrong)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.count("Error: there is no ") == 1


def test_nodes_as_the_keps_print_them(live: Live) -> None:
    taint = {"key": "sla", "value": "950", "effect": "NoSchedule"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "spot-1"}, "spec": {"taints": [taint]}}
    toleration = {"key": "sla", "operator": "Gt", "value": "900", "effect": "NoSchedule"}
    pod = {**_BARE, "spec": {**_BARE["spec"], "tolerations": [toleration]}}  # type: ignore[dict-item]
    planned = live.run(live.file({"apiVersion": "v1", "kind": "List", "items": [node, pod]}), "-o", "json")
    live.apply(node, pod)
    live.kubectl("wait pod/bare --for=condition=Ready --timeout=120s")
    before, after = json.loads(planned.stdout), live.plan("--strict")
    assert [one["node"] for one in before["pods"]] == [one["node"] for one in after["pods"]] == ["spot-1"]
    assert before["nodes"] == after["nodes"]
    more = live.plan("--add-nodes", "2", "--like", "spot-1")
    assert [one["taints"] for one in more["nodes"]] == [["sla=950:NoSchedule"]] * 3
