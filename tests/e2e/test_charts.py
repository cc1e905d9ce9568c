"""Manifests with the kinds and features of widely used charts are accepted without an error, and become ready.

`charts/` holds one file for each; their CustomResourceDefinitions are applied first, as Helm does.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.component_processes import until
from tests.e2e.kubectl import Kubectl, Ran
from tests.e2e.running_cluster import Cluster, moorage_up

CHARTS = Path(__file__).with_name("charts")
FILES = sorted(CHARTS.glob("*.yaml"))
WORKLOADS = "deployments,daemonsets,statefulsets"
ROLLED_OUT = ("Deployment", "DaemonSet", "StatefulSet")
#: What is stored and not acted on is accepted with a warning.
STORED_ONLY = ": the APIService is stored only"
#: Charts bring APIServices of metrics and the role that reads them; every cluster here has its own, not made by apply.
OWN_METRICS = re.compile(
    r"Warning: resource \S*(metrics\.k8s\.io|:aggregated-metrics-reader) is missing the .*last-applied"
)

NODE_AND_CLASS = """\
apiVersion: v1
kind: Node
metadata:
  name: node-1
  labels: {kubernetes.io/os: linux, kubernetes.io/hostname: node-1, topology.kubernetes.io/zone: zone-a}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110", ephemeral-storage: 100Gi}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/disks
"""

Raw = dict[str, Any]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with moorage_up(tmp_path_factory.mktemp("cluster"), "--nodes", "3") as running:
        yield running


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster.kubeconfig, cluster.home, "")


def definitions_in(*files: Path) -> list[Raw]:
    documents = (document for file in files for document in yaml.safe_load_all(file.read_text(encoding="utf-8")))
    return [document for document in documents if document["kind"] == "CustomResourceDefinition"]


def playable(file: Path, directory: Path) -> Path:
    """Return a chart whose webhooks may fail: nothing answers in the pods of a simulated node."""
    documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    for document in documents:
        if document["kind"].endswith("WebhookConfiguration"):
            for webhook in document["webhooks"]:
                webhook["failurePolicy"] = "Ignore"
    played = directory / file.name
    played.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return played


def apply_definitions(kubectl: Kubectl, file: Path) -> None:
    found = definitions_in(file)
    if found:
        kubectl("apply -f -", yaml.safe_dump_all(found))
        names = " ".join(f"crd/{definition['metadata']['name']}" for definition in found)
        kubectl(f"wait --for=condition=Established --for=condition=NamesAccepted --timeout=60s {names}")


def assert_only_stored_only_is_warned_of(ran: Ran) -> None:
    lines = (line for line in ran.err.splitlines() if not OWN_METRICS.match(line))
    unexpected = [line for line in lines if not line.endswith(STORED_ONLY)]
    assert not unexpected, ran.err


def unready(items: list[Raw]) -> list[str]:
    """Return the objects that are not what they are meant to become."""
    return [f"{one['kind']} {one['metadata']['name']}" for one in items if not is_ready(one)]


def is_ready(found: Raw) -> bool:
    kind, spec, status = found["kind"], found.get("spec", {}), found.get("status", {})
    match kind:
        case "Deployment" | "StatefulSet":
            return bool(status.get("availableReplicas") == spec["replicas"] == status.get("updatedReplicas"))
        case "DaemonSet":
            return bool(status.get("numberAvailable") == status.get("desiredNumberScheduled") == 3)
        case "Job":
            return holds(status, "Complete")
        case "CustomResourceDefinition":
            return holds(status, "Established") and holds(status, "NamesAccepted")
        case "PersistentVolumeClaim":
            return bool(status.get("phase") == "Bound")
        case "Pod":
            return status.get("phase") in ("Running", "Succeeded")
        case "Service":
            return spec["type"] != "LoadBalancer" or bool(status["loadBalancer"].get("ingress"))
        case "PodDisruptionBudget":
            return bool(status.get("currentHealthy") >= status.get("desiredHealthy"))
        case _:
            return True


def holds(status: Raw, condition: str) -> bool:
    return any(one["type"] == condition and one["status"] == "True" for one in status.get("conditions", []))


def items_of(kubectl: Kubectl, what: str) -> list[Raw]:
    found: Raw = json.loads(kubectl(f"get {what} -o json").out)
    items: list[Raw] = found.get("items", [found])
    return items


def test_all_charts_together_are_accepted_and_become_ready(tmp_path: Path) -> None:
    charts = tmp_path / "charts"
    charts.mkdir()
    for file in FILES:
        playable(file, charts)
    with moorage_up(tmp_path, "--nodes", "3") as running:
        kubectl = Kubectl(running.kubeconfig, running.home, "")
        kubectl("apply -f -", yaml.safe_dump_all(definitions_in(*FILES)))
        assert_only_stored_only_is_warned_of(kubectl(f"apply -f {charts}"))
        until(lambda: not unready(items_of(kubectl, f"{WORKLOADS},jobs,pods,pvc,services,pdb,crd -A")))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_chart_becomes_ready_and_is_removed(kubectl: Kubectl, file: Path, tmp_path: Path) -> None:
    file = playable(file, tmp_path)
    apply_definitions(kubectl, file)
    assert_only_stored_only_is_warned_of(kubectl(f"apply -f {file}"))
    generations = generations_of(items_of(kubectl, f"-f {file}"))
    # Lists that are replaced as a whole are "configured" each time, as their defaults are not in the manifest.
    again = kubectl(f"apply -f {file}")
    assert all(line.endswith((" unchanged", " configured")) for line in again.lines), again.out
    assert generations_of(items_of(kubectl, f"-f {file}")) == generations
    assert_only_stored_only_is_warned_of(kubectl(f"apply --server-side --force-conflicts -f {file}"))
    objects = items_of(kubectl, f"-f {file}")
    for one in objects:
        if one["kind"] in ROLLED_OUT and one["spec"].get("updateStrategy", {}).get("type") != "OnDelete":
            name, namespace = one["metadata"]["name"], one["metadata"]["namespace"]
            kubectl(f"rollout status {one['kind']}/{name} -n {namespace} --timeout=120s")
    until(lambda: not unready(items_of(kubectl, f"-f {file}")))
    kubectl(f"get -f {file} -o wide")
    # kubectl before 1.34 asks for a beta version of these, which Kubernetes 1.36 does not serve.
    described = [one for one in objects if one["kind"] != "VolumeAttributesClass"]
    assert not kubectl("describe -f -", yaml.safe_dump_all(described)).err
    kubectl(f"delete --ignore-not-found -f {file}")
    assert not kubectl("get --ignore-not-found -f -", yaml.safe_dump_all(built_in(objects))).out


def generations_of(objects: list[Raw]) -> dict[tuple[str, str], int | None]:
    return {(one["kind"], one["metadata"]["name"]): one["metadata"].get("generation") for one in objects}


def built_in(objects: list[Raw]) -> list[Raw]:
    """Return the objects whose kinds are still served when the definitions are gone."""
    custom = {one["spec"]["group"] for one in objects if one["kind"] == "CustomResourceDefinition"}
    return [one for one in objects if one["apiVersion"].partition("/")[0] not in custom]


def run_moorage(command: str, stdin: str = "") -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "moorage", *command.split(), str(CHARTS)], input=stdin, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_lint_finds_nothing_in_the_charts() -> None:
    assert "No findings: 204 objects" in run_moorage("lint --ignore webhook-not-called,policy-unbound")
    # Two charts bring webhooks, and one a policy that an operator binds: notes, which are not found fault with.
    assert "3 notes: 204 objects" in run_moorage("lint")


@pytest.mark.slow
def test_plan_places_every_pod_of_the_charts() -> None:
    plan = run_moorage("plan --add-nodes 2 --like node-1 -", NODE_AND_CLASS)
    before, _, after = plan.partition("\nAfter:")  # one node alone has no room for all
    assert "\nPending" not in before
    assert after
    assert "Pending" not in after
    assert "error" not in plan
