"""`moorage plan` and `moorage explain` on a live cluster, beside kubectl."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.component_processes import free_port, until
from tests.e2e.forked_command import forked_moorage
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up

_BIG = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "big"},
    "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "64"}}}]},
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with moorage_up(tmp_path_factory.mktemp("cluster"), "--nodes", "3") as running:
        kubectl = Kubectl(running.kubeconfig, running.home)
        kubectl("create namespace shop")
        kubectl("create -f -", json.dumps(_BIG))
        kubectl("create deployment web --image=nginx --replicas=2 -n shop")
        kubectl("rollout status deployment web -n shop --timeout=120s")
        until(lambda: _failed_scheduling(kubectl))
        yield running


def _failed_scheduling(kubectl: Kubectl) -> str:
    events = json.loads(kubectl("get events -o json --field-selector reason=FailedScheduling").out)["items"]
    return str(events[0]["message"]) if events else ""


def _moorage(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    ran = forked_moorage(arguments, stdin)
    assert "Traceback" not in ran.stderr
    return ran


def _plan(cluster: Cluster, *arguments: str, stdin: str = "", code: int = 0) -> Any:
    ran = _moorage("plan", "--kubeconfig", str(cluster.kubeconfig), "-o", "json", *arguments, stdin=stdin)
    assert ran.returncode == code, ran.stderr
    return json.loads(ran.stdout)


def test_a_plan_of_the_cluster_is_the_cluster(cluster: Cluster) -> None:
    plan = _plan(cluster)
    kubectl = Kubectl(cluster.kubeconfig, cluster.home, "shop")
    pods = json.loads(kubectl("get pods -o json").out)["items"]
    summary = plan["summary"]
    assert (summary["bound"], summary["pending"], summary["nodes"]) == (len(pods), 1, 3)
    _plan(cluster, "--strict", code=1)


def test_a_dump_by_kubectl_gives_the_same_plan(cluster: Cluster) -> None:
    kubectl = Kubectl(cluster.kubeconfig, cluster.home)
    kinds = "nodes,pods,ns,pv,pvc,sc,deploy,rs,sts,ds,jobs,cronjobs,pdb,priorityclasses,services"
    dump = kubectl(f"get {kinds} -A -o json").out
    ran = _moorage("plan", "-", "-o", "json", stdin=dump)
    live, offline = _plan(cluster), json.loads(ran.stdout)
    for part in ("nodes", "preempted"):
        assert live[part] == offline[part], part
    where = ("namespace", "name", "state", "node", "message")
    assert [[pod.get(field) for field in where] for pod in live["pods"]] == [
        [pod.get(field) for field in where] for pod in offline["pods"]
    ]


def test_manifests_say_what_would_happen(cluster: Cluster, tmp_path: Path) -> None:
    kubectl = Kubectl(cluster.kubeconfig, cluster.home)
    manifest = Kubectl(cluster.kubeconfig, cluster.home, "")(
        "create deployment more --image=nginx --replicas=2 --dry-run=client -o yaml"
    ).out
    file = tmp_path / "more.yaml"
    file.write_text(manifest)
    text = _moorage("plan", "--kubeconfig", str(cluster.kubeconfig), "-n", "shop", str(file)).stdout
    assert f"apply {file}" in text
    assert "Deployment shop/more  2 pods → " in text
    piped = _moorage("plan", "--kubeconfig", str(cluster.kubeconfig), "-", stdin=manifest).stdout
    assert "Deployment default/more  2 pods → " in piped
    drained = _moorage("plan", "--kubeconfig", str(cluster.kubeconfig), "--drain", "node-1")
    assert drained.returncode == 0, drained.stderr
    kubectl("get deployment web -n shop")  # nothing has changed
    assert "more" not in kubectl("get deployments -A").out


def test_an_explanation_gives_the_events_reason(cluster: Cluster) -> None:
    message = _failed_scheduling(Kubectl(cluster.kubeconfig, cluster.home))
    ran = _moorage("explain", "--kubeconfig", str(cluster.kubeconfig), "pod/big", "--strict", "-o", "json")
    assert ran.returncode == 1, ran.stderr
    assert message in ran.stdout
    shown = _moorage("explain", "--kubeconfig", str(cluster.kubeconfig), "pod/big").stdout
    assert " ".join(message.split()) in " ".join(shown.split())
    there = _moorage("explain", "--kubeconfig", str(cluster.kubeconfig), "deployment/web", "-n", "shop")
    assert there.returncode == 0, there.stderr
    nobody = _moorage("explain", "--kubeconfig", str(cluster.kubeconfig), "pod/nobody")
    assert nobody.returncode == 2
    assert nobody.stderr.startswith("moorage: ")


def test_what_is_wrong_is_said_in_one_line(cluster: Cluster, tmp_path: Path) -> None:
    text = cluster.kubeconfig.read_text()
    away, stranger = tmp_path / "away", tmp_path / "stranger"
    away.write_text(text.replace(cluster.url, f"https://127.0.0.1:{free_port()}"))
    lines = [line for line in text.splitlines() if "client-" not in line]
    stranger.write_text("\n".join("    token: wrong" if "token:" in line else line for line in lines))
    for arguments, said in (
        (["--kubeconfig", "nowhere"], "nowhere: cannot be read"),
        (["--kubeconfig", str(cluster.kubeconfig), "--context", "other"], "other"),
        (["--kubeconfig", str(away)], "the API server cannot be reached: "),
        (["--kubeconfig", str(stranger)], "cannot be listed: Unauthorized"),
    ):
        for command in (["plan"], ["explain", "pod/big"]):
            ran = _moorage(*command, *arguments)
            assert ran.returncode == 2, (arguments, ran.stdout, ran.stderr)
            assert said in ran.stderr
            assert len(ran.stderr.splitlines()) == 1


def _without_input(*arguments: str, kubeconfig: str, home: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "moorage", *arguments]
    environment = {**os.environ, "KUBECONFIG": kubeconfig, "HOME": str(home)}
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=60)
    assert "Traceback" not in ran.stderr
    return ran


def test_the_kubeconfigs_of_the_environment_are_read(cluster: Cluster, tmp_path: Path) -> None:
    """A list is one kubeconfig, in which the first file that sets a value wins, as for kubectl."""
    first = tmp_path / "first"
    first.write_text("{kind: Config, current-context: other, contexts: [{name: other, context: {cluster: none}}]}\n")
    listed = f"{first}:{cluster.kubeconfig}:{tmp_path / 'absent'}"
    [context] = [item["name"] for item in yaml.safe_load(cluster.kubeconfig.read_text())["contexts"]]

    alone = _without_input("gates", kubeconfig=str(cluster.kubeconfig), home=tmp_path)
    assert (alone.returncode, alone.stderr) == (0, "moorage: reading the cluster that $KUBECONFIG leads to\n")
    for command in (["gates"], ["gates", "audit"], ["explain", "pod/big"]):
        chosen = _without_input(*command, "--context", context, kubeconfig=listed, home=tmp_path)
        assert chosen.returncode == 0, (command, chosen.stderr)
        assert "reading the cluster" not in chosen.stderr
    wrong = _without_input("plan", kubeconfig=listed, home=tmp_path)
    assert wrong.returncode == 2
    assert "there is no such entry in clusters: 'none'" in wrong.stderr
    unknown = _without_input("explain", "pod/x", "--context", "nowhere", kubeconfig=listed, home=tmp_path)
    assert unknown.returncode == 2
    assert f"there is no such entry in contexts: 'nowhere' (there are: {context}, other)" in unknown.stderr


def test_files_come_before_the_environment(cluster: Cluster, tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(json.dumps(_BIG))
    planned = _without_input("plan", str(pod), kubeconfig=str(cluster.kubeconfig), home=tmp_path)
    assert "1 pod on 0 nodes" in planned.stdout
    nothing = _without_input("plan", kubeconfig="", home=tmp_path)
    assert nothing.returncode == 2
    assert "Nothing to plan: name files or directories, or pipe manifests in, or name a cluster" in nothing.stderr
