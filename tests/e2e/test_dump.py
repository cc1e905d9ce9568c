"""`moorage dump`: the plan of the dump is the plan of the cluster, and a new cluster can begin with it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.forked_command import forked_moorage
from tests.e2e.up_process import UpProcess

OBJECTS = """
{apiVersion: v1, kind: ResourceQuota, metadata: {name: compute}, spec: {hard: {pods: "1"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: password}, stringData: {password: correct-horse}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: words}, data: {a: "y", b: "0o17", c: "1e3"}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: sizes, namespace: shop}
spec: {limits: [{type: Container, defaultRequest: {cpu: 250m}}]}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b, namespace: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: agent}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {priorityClassName: high, containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: one, namespace: shop}, spec: {a: "no"}}
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
    ran = forked_moorage(arguments)
    assert ran.returncode == status, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stdout


def without_places(value: Any) -> Any:
    """Leave out which file and line an object is from, which a live cluster does not have, and what no plan reads."""
    if isinstance(value, list):
        return [without_places(item) for item in value]
    if isinstance(value, dict):
        return {
            name: without_places(item)
            for name, item in value.items()
            if name not in ("file", "line", "passedOver", "notes")
        }
    return value


def planned(*arguments: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(run("plan", "-o", "json", *arguments))
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
        for what_if in (
            (),
            ("--drain", "node-1"),
            ("--scale", "statefulset/shop/db=4"),
            ("--rollout", "daemonset/shop/agent"),
        ):
            assert planned(str(file), *what_if) == planned(*live, *what_if), what_if
        for target in ("daemonset/shop/agent", "statefulset/shop/db"):
            told = [
                without_places(json.loads(run("explain", target, "-o", "json", *options)))
                for options in (("-f", str(file)), live)
            ]
            assert told[0] == told[1], target
        assert json.loads(run("lint", "-o", "json", str(file)))["findings"] == []
        kinds = {document["kind"] for document in yaml.safe_load_all(run("dump", *live, "-n", "kube-system"))}
    assert "correct-horse" not in text
    assert "managedFields" not in text
    assert "Deployment" not in kinds
    assert {"Node", "Namespace"} <= kinds
    with UpProcess(tmp_path, "--ephemeral", "--from", str(file)) as copy:
        again = run("dump", "--kubeconfig", str(copy.kubeconfig))
    names = [
        {(document["kind"], document["metadata"]["name"]) for document in yaml.safe_load_all(stream)}
        for stream in (text, again)
    ]
    assert {kind for kind, _ in names[0] - names[1]} <= {"EndpointSlice"}, names[0] - names[1]
    assert {("Widget", "one"), ("Secret", "password"), ("ResourceQuota", "compute")} <= names[1]


def test_a_reader_that_goes_away_is_not_an_error(tmp_path: Path) -> None:
    with UpProcess(tmp_path, "--nodes", "1", "--ephemeral") as cluster:
        command = f"{sys.executable} -m moorage dump --kubeconfig {cluster.kubeconfig} | head -1"
        ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.stderr) == ("---\n", "")


def test_a_cluster_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    assert run("dump", "--kubeconfig", str(tmp_path / "missing"), status=2) == ""
