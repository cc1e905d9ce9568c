"""`moorage plan --diff OLD NEW` as a user runs it: files, git revisions, a live cluster."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.e2e.test_plan_command import plan, run, write
from tests.e2e.up_process import UpProcess
from tests.unit.plan.planning import node, workload

AUTHOR = {f"GIT_{role}_{part}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}


def git(*arguments: str) -> None:
    environment = {**os.environ, **AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *arguments], check=True, capture_output=True, env=environment)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch `main` with two replicas of web, and a work tree that asks for too many."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    git("init", "-q", "-b", "main", ".")
    (tmp_path / "deploy").mkdir()
    write(tmp_path / "nodes.yaml", node("n1"), node("n2"))
    write(tmp_path / "deploy/web.yaml", workload("Deployment", "web", replicas=2))
    write(tmp_path / "deploy/old.yaml", workload("Deployment", "old", replicas=1))
    git("add", "-A")
    git("commit", "-qm", "one")
    write(tmp_path / "deploy/web.yaml", workload("Deployment", "web", replicas=12))
    (tmp_path / "deploy/old.yaml").unlink()
    return tmp_path


def test_revision_against_the_work_tree(repository: Path) -> None:
    document = plan("nodes.yaml", "--diff", "main:deploy/", "deploy/")
    assert document["whatIf"]["diff"] == {
        "old": "main:deploy/",
        "new": "deploy/",
        "objects": [
            {"kind": "Deployment", "namespace": "default", "name": "old", "change": "removed", "fields": []},
            {
                "kind": "Deployment",
                "namespace": "default",
                "name": "web",
                "change": "changed",
                "fields": [{"path": "spec.replicas", "old": 2, "new": 12}],
            },
        ],
    }
    assert document["summary"]["pending"] == 4
    for form in ("text", "markdown"):
        text = run("nodes.yaml", "--diff", "main:deploy/", "deploy/", "--output", form).stdout
        assert "main:deploy/ → deploy/" in text
        assert "Deployment default/old is removed" in text
        assert "Deployment default/web: spec.replicas 2 → 12" in text
    run("nodes.yaml", "--diff", "main:deploy", "deploy", "--strict", code=1)


def test_strict_is_for_what_the_new_side_makes_worse(repository: Path) -> None:
    git("commit", "-qam", "two")
    same = ("nodes.yaml", "--diff", "HEAD:deploy", "deploy")
    assert "the same objects in both" in run(*same, "--strict").stdout  # though pods are Pending, on both sides
    run(*same, "--strict=all", code=1)
    better = run("nodes.yaml", "--diff", "HEAD:deploy", "HEAD~1:deploy", "--strict").stdout
    assert "Deployment default/web: spec.replicas 12 → 2" in better


def test_rollout_of_the_new_side(repository: Path) -> None:
    document = plan("nodes.yaml", "--diff", "main:deploy", "deploy", "--rollout", "deployment/web")
    assert document["rollout"]["completes"] is False


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--diff", "nope:deploy", "deploy"], "there is no git revision 'nope'"),
        (["--diff", "main:gone", "deploy"], "revision 'main' has no 'gone'"),
        (["--diff", "deploy", "gone.yaml"], "gone.yaml: No such file or directory"),
        (["--diff", "gone.yaml", "deploy"], "gone.yaml: No such file or directory"),
        (["--diff", "-", "-"], "Standard input can be read only once"),
        (["--diff", "live", "deploy"], "--diff live needs a cluster"),
        (["--diff", "deploy", "live"], "only OLD can be the live cluster"),
        (["--diff", "deploy", "deploy", "--drain", "n1"], "--drain cannot be given with it"),
        (["--diff", "deploy", "empty"], "empty has no Kubernetes object; --allow-empty accepts it"),
        (["--diff", "deploy"], "requires 2 arguments"),
    ],
)
def test_what_cannot_be_compared(repository: Path, arguments: list[str], reason: str) -> None:
    (repository / "empty").mkdir()
    done = run("nodes.yaml", *arguments, code=2)
    assert reason in done.stderr
    assert done.stdout == ""


def test_standard_input_can_be_a_side(repository: Path) -> None:
    web = (repository / "deploy/web.yaml").read_text()
    assert "spec.replicas 2 → 12" in run("nodes.yaml", "--diff", "main:deploy/web.yaml", "-", stdin=web).stdout


def test_file_that_is_called_live_is_a_file(repository: Path) -> None:
    write(repository / "live", workload("Deployment", "web", replicas=2))
    assert "spec.replicas 2 → 12" in run("nodes.yaml", "--diff", "./live", "deploy/web.yaml").stdout


def test_live_cluster_against_files_and_between_revisions(tmp_path: Path, repository: Path) -> None:
    start = tmp_path / "start.yaml"
    agent = workload("DaemonSet", "agent", "100m")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler["spec"] = {"scaleTargetRef": target, "maxReplicas": 3}
    write(start, workload("Deployment", "web", "1", replicas=2), agent, service, scaler)
    with UpProcess(tmp_path, "--nodes", "2", "--ephemeral", "--wait", "--load", str(start)) as cluster:
        live = ("--kubeconfig", str(cluster.kubeconfig))
        against = plan(*live, "--diff", "live", "deploy/web.yaml")
        between = plan(*live, "--diff", "main:deploy", "deploy")
        same = plan(*live, "--diff", "live", str(start))
    assert same["whatIf"]["diff"]["objects"] == []
    assert against["whatIf"]["diff"]["old"] == "the live cluster"
    changed = next(one for one in against["whatIf"]["diff"]["objects"] if one["name"] == "web")
    assert {"path": "spec.replicas", "old": 2, "new": 12} in changed["fields"]
    assert against["summary"]["nodes"] == 2
    assert {one["name"]: one["change"] for one in between["whatIf"]["diff"]["objects"]} == {
        "old": "removed",
        "web": "changed",
    }
