"""`kubectl moorage`: the real kubectl runs and completes the plugin by the entry points of pyproject.toml."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.e2e.kubectl import kubectl_program
from tests.e2e.up_process import UpProcess

ROOT = Path(__file__).resolve().parents[2]
NODE = "{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: '2', pods: '9'}}}\n"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with the scripts that an installation makes."""
    folder = tmp_path / "bin"
    folder.mkdir()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name, point in project["scripts"].items():
        module, _, function = point.partition(":")
        script = folder / name
        script.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n")
        script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def run(path: str, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [kubectl_program(), *words],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_kubectl_runs_the_plugin(path: str, tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text(NODE)
    ran = run(path, "moorage", "plan", str(tmp_path / "node.yaml"))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "0 pods on 1 node" in ran.stdout
    assert run(path, "moorage", "plan", "--help").stdout.startswith("Usage: kubectl moorage plan [OPTIONS]")
    refused = run(path, "moorage", "pln")
    assert refused.returncode == 2
    assert "Try 'kubectl moorage --help' for help." in refused.stderr
    assert "kubectl-moorage" in run(path, "plugin", "list").stdout


def test_kubectl_completes_words_of_the_plugin(path: str, tmp_path: Path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(NODE)
    assert run(path, "__complete", "moorage", "expl").stdout.startswith("explain\t")
    assert run(path, "__complete", "moorage", "plan", str(file), "--drain", "").stdout == "node-1\n:4\n"
    with UpProcess(tmp_path, "--nodes", "2", "--ephemeral") as cluster:
        live = str(cluster.kubeconfig)
        completed = run(path, "__complete", "moorage", "explain", "node/", KUBECONFIG=live)
        assert completed.stdout == "node/node-1\nnode/node-2\n:4\n"
        planned = run(path, "moorage", "plan", "--kubeconfig", live, "-n", "kube-system", "--drain", "node-1")
        assert planned.returncode == 0, planned.stderr
