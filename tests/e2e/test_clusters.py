"""Several clusters of one user: started, listed, stopped, started again as they were, deleted; one context each."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import moorage
from moorage.cluster.kept.places import all_names
from moorage.cluster.kept.processes import ProcessRecord, end_process, running_process, start_time_of

GATE = "TaintTolerationComparisonOperators"


class User:
    """A user with a home of its own. Commands run in this process; what they detach does not."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self._monkeypatch = home, monkeypatch
        self.kubeconfig = home / ".kube" / "config"
        for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "KUBECONFIG"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.chdir(home)

    def moorage(self, *arguments: str, status: int = 0) -> tuple[str, str]:
        self._monkeypatch.setattr(sys, "argv", ["moorage", *arguments])
        ran = CliRunner().invoke(moorage, arguments, standalone_mode=True)
        assert ran.exit_code == status, f"{ran.stdout}{ran.stderr}{ran.exception!r}"
        assert "Traceback" not in ran.stderr
        return ran.stdout, ran.stderr

    def clusters(self) -> dict[str, Any]:
        return {row["name"]: row for row in json.loads(self.moorage("list", "-o", "json")[0])}

    def contexts(self) -> list[str]:
        content = yaml.safe_load(self.kubeconfig.read_text())
        return [context["name"] for context in content["contexts"]]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    made = User(tmp_path, monkeypatch)
    yield made
    for name in made.clusters():
        made.moorage("delete", name, "--force")


def test_a_cluster_is_started_stopped_started_as_it_was_and_deleted(user: User) -> None:
    user.kubeconfig.parent.mkdir()
    before: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": "prod", "preferences": {}}
    before |= {"clusters": [{"name": "prod", "cluster": {"server": "https://prod", "x": "z"}}], "users": []}
    before |= {"contexts": [{"name": "prod", "context": {"cluster": "prod", "user": ""}}]}
    user.kubeconfig.write_text(yaml.safe_dump(before))
    (user.home / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: mine}, {schedulerName: default-scheduler}]\n"
    )

    told = ["--nodes", "2", f"--feature-gates={GATE}=true", "--config", "scheduler.yaml"]
    out, err = user.moorage("up", "--name", "dev", "--detach", *told)
    assert f"the current context of {user.kubeconfig} is now moorage-dev; it was prod" in err
    assert "Cluster dev is ready at https://127.0.0.1:" in out
    assert "kubectl --context moorage-dev get nodes" in out
    assert user.contexts() == ["prod", "moorage-dev"]
    first = user.clusters()["dev"]
    assert (first["status"], first["context"], first["ephemeral"]) == ("running", "moorage-dev", False)
    _, err = user.moorage("up", "--name", "dev", "--detach", status=1)
    assert f"cluster dev is running already (pid {first['pid']}, at {first['server']})" in err
    gates, _ = user.moorage("gates", "--kubeconfig", str(user.kubeconfig))
    assert next(line for line in gates.splitlines() if line.startswith(GATE)).split().count("on") >= 3

    assert user.moorage("stop", "dev")[0] == "Stopped cluster dev.\n"
    assert user.moorage("stop", "dev")[0] == "Cluster dev is not running.\n"
    assert user.clusters()["dev"]["status"] == "stopped"
    (user.home / "scheduler.yaml").unlink()  # its text is remembered

    told = [f"--feature-gates={GATE}=false", f"--apiserver-feature-gates={GATE}=true", "--write-kubeconfig", "new.yaml"]
    out, err = user.moorage("up", "--name", "dev", "--detach", "--wait", *told)
    assert f"warning: {GATE} is on in kube-apiserver" in out
    assert f"As at the last start: --nodes=2 --config={user.home}/scheduler.yaml\n" in out
    assert f"kubectl --kubeconfig {user.home}/new.yaml --context moorage-dev get nodes" in out
    assert f"--feature-gates={GATE}=false: at the last start it was --feature-gates={GATE}=true" in err
    again = user.clusters()["dev"]
    assert again["server"] == first["server"]
    plan, _ = user.moorage("plan", "--kubeconfig", str(user.kubeconfig), "--context", "moorage-dev", "-o", "json")
    assert len(json.loads(plan)["nodes"]) == 2  # and not three more

    printed, _ = user.moorage("kubeconfig", "dev")
    assert yaml.safe_load(printed)["current-context"] == "moorage-dev"
    user.moorage("kubeconfig", "dev", "--write", "other.yaml")
    assert user.moorage("delete", "dev")[0] == "Deleted cluster dev.\n"
    assert yaml.safe_load(user.kubeconfig.read_text()) == {**before, "current-context": ""}
    assert not (user.home / "other.yaml").exists()
    assert not list((user.home / ".local" / "share" / "moorage" / "clusters").iterdir())
    out, err = user.moorage("delete", "dev")
    assert (out, err) == ("Nothing to delete: there is no cluster named 'dev' (there are: none).\n", "")


def test_a_cluster_that_is_not_kept_goes_with_its_process_and_a_failed_start_says_why(user: User) -> None:
    user.moorage("up", "--name", "one", "--ephemeral", "--detach", "--nodes", "0")
    assert user.contexts() == ["moorage-one"]
    (user.home / "bad.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n")
    _, err = user.moorage("up", "--name", "two", "--detach", "--load", "bad.yaml", status=1)
    assert "--load: bad.yaml:1: Pod" in err
    assert user.contexts() == ["moorage-one"]
    _, err = user.moorage("up", "--name", "three", "--ephemeral", "--detach", "--load", "bad.yaml", status=1)
    assert "--load: bad.yaml:1: Pod" in err
    assert set(user.clusters()) == {"one"}
    user.moorage("stop", "one")
    assert not user.kubeconfig.exists()
    assert "one" not in user.clusters()


@pytest.mark.parametrize("detach", [["--detach"], []])
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--port", "{taken}"], "cannot listen on 127.0.0.1 port {taken}"),
        (["--load", "missing.yaml"], "--load: missing.yaml: No such file or directory"),
        (["--from", "missing"], "missing is neither a file nor a context"),
        (["--dashboard", "--dashboard-port", "{taken}"], "the dashboard has ended"),
        (["--ha", "1", "--etcd-binary", "/missing"], "/missing is not a program"),
        (["--config", "missing.yaml"], "missing.yaml: No such file or directory"),
        (["--etcd-servers", "http://127.0.0.1:1"], "does etcd run there?"),
    ],
)
def test_a_failed_start_leaves_nothing(options: list[str], problem: str, detach: list[str], user: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = listener.getsockname()[1]
        arguments = [option.format(taken=taken) for option in options]
        ran = subprocess.run(
            [sys.executable, "-m", "moorage", "up", "--name", "new", *detach, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert ran.returncode in (1, 2)
    assert problem.format(taken=taken) in ran.stderr
    assert user.clusters() == {}
    clusters = user.home / ".local" / "share" / "moorage" / "clusters"
    assert not clusters.exists() or not list(clusters.iterdir())
    assert not user.kubeconfig.exists()


def test_a_failed_start_removes_no_cluster_and_no_directory_of_the_user(user: User) -> None:
    user.moorage("up", "--name", "kept", "--detach", "--nodes", "1")
    user.moorage("stop", "kept")
    user.moorage("up", "--name", "kept", "--detach", "--load", "missing.yaml", status=1)
    assert user.clusters()["kept"]["status"] == "stopped"
    mine = user.home / "mine"
    mine.mkdir()
    user.moorage("up", "--data-dir", str(mine), "--detach", "--load", "missing.yaml", status=1)
    assert list(mine.iterdir()) == []


def test_logs_of_a_cluster_and_of_its_components(user: User) -> None:
    user.moorage("up", "--name", "dev", "--ephemeral", "--detach", "--nodes", "0", "-v", "1")
    assert '"Ready" component="up"' in user.moorage("logs", "dev")[0]
    _, err = user.moorage("logs", "dev", "scheduler-1", status=1)
    assert "cluster dev has no component 'scheduler-1' (it is one process" in err
    folder = user.home / ".local" / "share" / "moorage" / "clusters" / "dev" / "logs"
    folder.mkdir()
    (folder / "apiserver-1.log").write_text("I1118 served\n")
    assert user.moorage("logs", "dev", "apiserver-1")[0] == "I1118 served\n"
    assert "(there are: apiserver-1)" in user.moorage("logs", "dev", "etcd-9", status=1)[1]
    assert "no cluster named 'gone'" in user.moorage("logs", "gone", status=1)[1]


REFUSED = """
{apiVersion: v1, kind: ResourceQuota, metadata: {name: compute, namespace: default}, spec: {hard: {pods: "0"}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: report}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
"""


def test_waiting_ends_when_all_that_is_left_is_refused_at_admission(user: User) -> None:
    (user.home / "refused.yaml").write_text(REFUSED)
    options = ["--detach", "--nodes", "2", "--wait", "5m", "--load", "refused.yaml"]
    _, err = user.moorage("up", "--name", "full", *options, status=1)
    quota = "exceeded quota: compute, requested: pods=1, used: pods=0, limited: pods=0"
    assert "--wait: pods are refused" in err
    for workload in ("deployment default/web has 0 of 3", "daemonset default/agent has 0 of 2", "report has 0 of 1"):
        assert f"{workload} pods: {quota}" in err
    assert user.clusters() == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--name", "Not_Good"], "'Not_Good' cannot be the name of a cluster"),
        (["--name", "../x"], "cannot be the name"),
        (["--name", "a" * 51], "no more than 50 characters"),
        (["--name", "x", "--data-dir", "d"], "--name says where the cluster is kept"),
        (["--detach", "--ephemeral"], "--detach needs a --name"),
        (["--wait", "soon"], "--wait"),
    ],
)
def test_what_cannot_be_started(arguments: list[str], said: str, user: User) -> None:
    _, err = user.moorage("up", *arguments, status=2)
    assert said in " ".join(err.split())


def test_a_process_that_has_got_the_number_of_another_is_not_stopped(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        record = ProcessRecord(other.pid, "another boot/1")
        assert end_process(record, 0.0, kills=True)
        assert other.poll() is None
        (tmp_path / "process.json").write_text(json.dumps({"pid": other.pid, "started": "another boot/1"}))
        assert running_process(tmp_path) is None
        record = ProcessRecord(other.pid, start_time_of(other.pid))
        assert end_process(record, 10.0, kills=False)  # a zombie counts as ended
        assert other.wait(10) != 0
    finally:
        other.kill()
        other.wait()


def test_clusters_are_where_the_user_keeps_data(tmp_path: Path) -> None:
    environment = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_STATE_HOME": str(tmp_path / "state")}
    assert all_names(environment) == []
    for folder in ("data/moorage/clusters/b", "data/moorage/clusters/a", "state/moorage", "data/moorage/clusters/c"):
        (tmp_path / folder).mkdir(parents=True)
        if not folder.endswith("c"):
            (tmp_path / folder / "moorage.db").touch()
    assert all_names(environment) == ["default", "a", "b"]
