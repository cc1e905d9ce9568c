"""`moorage dump`: the plan of the dump is the plan of the cluster, and a new cluster can begin with it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.up_process import UpProcess

OBJECTS = """
{apiVersion: v1, kind: ResourceQuota, metadata: {name: compute}, spec: {hard: {pods: "1"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: password}, stringData: {password: correct-horse}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
"""


def run(*arguments: str, status: int = 0) -> str:
    ran = subprocess.run([sys.executable, "-m", "moorage", *arguments], capture_output=True, text=True, timeout=120)
    assert ran.returncode == status, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stdout


def without_places(value: Any) -> Any:
    """Leave out which file and line an object is from, which a live cluster does not have."""
    if isinstance(value, list):
        return [without_places(item) for item in value]
    if isinstance(value, dict):
        return {name: without_places(item) for name, item in value.items() if name not in ("file", "line")}
    return value


def planned(*arguments: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(run("plan", "-o", "json", *arguments))
    del plan["notes"], plan["summary"]["passedOver"]
    return without_places(plan)  # type: ignore[no-any-return]


def test_the_plan_of_a_dump_is_the_plan_of_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(OBJECTS)
    file = tmp_path / "dump.yaml"
    load = ("--load", str(tmp_path / "objects.yaml"))
    with UpProcess(tmp_path, "--nodes", "2", "--ephemeral", *load) as cluster:
        live = ("--kubeconfig", str(cluster.kubeconfig))
        run("dump", *live, "-o", str(file))
        text = file.read_text()
        assert run("dump", *live, "-o", str(file), status=2) == ""
        assert file.read_text() == text
        assert planned(str(file)) == planned(*live)
        kinds = {document["kind"] for document in yaml.safe_load_all(run("dump", *live, "-n", "kube-system"))}
    assert "correct-horse" not in text
    assert "managedFields" not in text
    assert "Deployment" not in kinds
    assert {"Node", "Namespace"} <= kinds
    with UpProcess(tmp_path, "--ephemeral", "--from", str(file)) as copy:
        assert "ResourceQuota" in run("dump", "--kubeconfig", str(copy.kubeconfig))


def test_a_cluster_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    assert run("dump", "--kubeconfig", str(tmp_path / "missing"), status=2) == ""
