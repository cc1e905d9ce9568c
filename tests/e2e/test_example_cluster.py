"""examples/cluster: every workload lands where its annotation says, in a plan and in what `make run` starts, and the
three things that `make run` proposes do what they say.
"""

import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.component_processes import until
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up

import moorage

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "cluster"
LANDS_ON, BECAUSE = "example.com/lands-on", "example.com/because"


def documents() -> list[dict[str, Any]]:
    return [found for file in sorted(FOLDER.glob("*.yaml")) for found in yaml.safe_load_all(file.read_text())]


def said() -> dict[str, set[str]]:
    """Return the nodes that each workload's annotation names; empty for one that is to wait."""
    found = {}
    for document in documents():
        if "template" in document.get("spec", {}) and document["kind"] != "ResourceClaimTemplate":
            annotations = document["spec"]["template"]["metadata"]["annotations"]
            assert annotations[BECAUSE]
            name = f"{document['metadata']['namespace']}/{document['metadata']['name']}"
            found[name] = set(annotations[LANDS_ON].split(",")) - {"nowhere"}
    return found


def make_run() -> str:
    """Return what `make run` would do on a machine where everything is set up."""
    make = ["make", "-n", "-o", ".venv/.ready", "run"]
    return subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def options() -> list[str]:
    [line] = [line for line in make_run().splitlines() if "moorage up " in line]
    return shlex.split(line)[2:]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    given = options()
    assert given[:3] == ["--ephemeral", "--nodes", "0"]
    given[given.index("examples/cluster")] = str(FOLDER)
    with moorage_up(tmp_path_factory.mktemp("cluster"), *given[1:]) as running:
        yield running


def workload_of(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['labels']['app']}"


def nodes_of(kubectl: Kubectl) -> dict[str, set[str]]:
    """Return the nodes of each workload's pods that are not about to go."""
    found: dict[str, set[str]] = defaultdict(set)
    for pod in json.loads(kubectl("get pods -A -o json").out)["items"]:
        if "deletionTimestamp" not in pod["metadata"]:
            found[workload_of(pod)] |= {pod["spec"].get("nodeName", "")} - {""}
    return found


def test_it_has_all_that_its_readme_says() -> None:
    text = "".join(file.read_text() for file in FOLDER.glob("*.yaml"))
    for what in ("operator: Lt", "operator: Gt", "SemverGt", "SemverLt", "expression: taint", "matchLabelKeys"):
        assert what in text
    assert {"PersistentVolume", "ResourceClaimTemplate", "DaemonSet"} <= {found["kind"] for found in documents()}
    assert len(said()) == 12


def test_a_plan_puts_every_workload_where_it_says() -> None:
    plan = moorage.plan(documents(), gates={"AllAlpha": True, "AllBeta": True})
    found: dict[str, set[str]] = defaultdict(set)
    for pod in (*plan.pods, *plan.pending):
        name = f"{pod.namespace}/{re.sub(r'(-[a-z0-9]{8,10})?-[a-z0-9]{1,5}$', '', pod.name)}"
        found[name] |= {pod.node} - {""}
    assert found == said()


def test_what_make_run_starts_and_proposes(cluster: Cluster) -> None:
    kubectl = Kubectl(cluster.kubeconfig, cluster.home)
    until(lambda: nodes_of(kubectl) == said())
    tried = [line for line in (FOLDER / "TRY.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert "examples/cluster/TRY.txt" in make_run()
    shown = ""
    for line in tried:
        program, words = line.split(" ", 1)
        if program == "kubectl":
            shown = kubectl(words).out
        else:
            command = [sys.executable, "-m", "moorage", *shlex.split(words), "--kubeconfig", str(cluster.kubeconfig)]
            shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        if "failure-probability=9" in line:
            until(lambda: nodes_of(kubectl)["shop/checkout"] & {"ondemand-1", "ondemand-2"})
            assert nodes_of(kubectl)["shop/reports"] == {"spot-1", "spot-2"}
        if line.startswith("moorage explain"):
            assert "kubectl label nodes ondemand-1 example.com/kubelet-version=" in shown
        if "kubelet-version=v1.37.0" in line:
            until(lambda: nodes_of(kubectl)["versions/next-release"] == {"ondemand-2"})
    assert "Deployment ai/training  2 pods leave gpu-1 at once" in shown
