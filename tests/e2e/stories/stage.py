"""A stage for the documents' stories: an empty cluster, a namespace, and what one looks at with kubectl.

In: a folder of `examples/`, or manifests. Out: the node on which a pod landed, or the text of the event that says why
it did not. The pods of a Deployment, Job or other workload are created by hand from its template.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.kubectl import Kubectl

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
NOT_HELPFUL = "preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."
WAIT = "--timeout=120s"
Raw = dict[str, Any]


class Stage:
    """One story: what it creates is gone when it ends (see `conftest`)."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl

    # -- setting the scene -------------------------------------------------------------------------------------------

    def create(self, *documents: Raw | str) -> None:
        self.kubectl("create -f -", as_list(*documents))

    def refused(self, *documents: Raw | str) -> str:
        """What kubectl says about documents that the API server does not take."""
        return self.kubectl.fails("create -f -", as_list(*documents)).strip()

    def nodes(self, folder: str) -> None:
        """The nodes of an example, ready."""
        self.kubectl(f"create -f {EXAMPLES / folder / 'nodes.yaml'}")
        self.kubectl(f"wait --for=condition=Ready node --all {WAIT}")

    def devices(self, folder: str) -> None:
        """The classes and slices of an example."""
        self.kubectl(f"create -f {EXAMPLES / folder / 'devices.yaml'}")

    def play(self, folder: str, file: str, replicas: int = 1) -> list[str]:
        """Creates the pods of an example's file, those of its workloads too, with their claims; returns their names."""
        pods = pods_of(folder, file, replicas)
        claims = [found for found in documents_of(folder, file) if found["kind"].startswith("ResourceClaim")]
        self.create(*claims, *pods)
        return [pod["metadata"]["name"] for pod in pods]

    # -- looking at it -----------------------------------------------------------------------------------------------

    def allocated(self) -> dict[str, str]:
        """The devices of the namespace's claims, by the pods that use them."""
        items = self.object("resourceclaims")["items"]
        return {
            consumer["name"]: device["device"]
            for status in (item["status"] for item in items)
            for consumer in status.get("reservedFor", ())
            for device in status["allocation"]["devices"]["results"]
        }

    def read(self, what: str, path: str) -> str:
        return self.kubectl(f"get {what} -o jsonpath='{path}'").out

    def object(self, what: str) -> Any:
        return json.loads(self.kubectl(f"get {what} -o json").out)

    def lands(self, *pods: str) -> list[str]:
        """The nodes on which pods run, once all of them do."""
        named = " ".join(f"pod/{pod}" for pod in pods)
        # wait prints what it waited for, once that is as it should be.
        path = '{.metadata.name}{" "}{.spec.nodeName}{"\\n"}'
        said = self.kubectl(f"wait --for=condition=Ready {named} {WAIT} -o jsonpath='{path}'").lines
        landed = dict(line.split() for line in said)
        return [landed[pod] for pod in pods]

    def why_pending(self, pod: str) -> str:
        """The text of the pod's FailedScheduling event. A watch also shows what was there before."""
        selector = f"involvedObject.name={pod},reason=FailedScheduling"
        text = self.first_line(f"get events --field-selector {selector} -w -o jsonpath='{{.message}}{{\"\\n\"}}'")
        assert self.read(f"pod {pod}", "{.status.phase} {.spec.nodeName}") == "Pending "
        return text

    def metric(self, name: str, *labels: str) -> float:
        """The sum of the samples of a metric that have these labels."""
        samples = [
            line for line in self.kubectl("get --raw /metrics").lines if line.startswith((name + " ", name + "{"))
        ]
        assert samples, f"no metric {name}"
        return sum(float(line.rsplit(" ", 1)[1]) for line in samples if all(label in line for label in labels))

    def first_line(self, arguments: str) -> str:
        """What a command that goes on for ever prints first; nothing, if that takes too long."""
        watching = self.kubectl.start(f"{arguments} --request-timeout=120s")
        try:
            assert watching.stdout is not None
            return watching.stdout.readline().strip()
        finally:
            watching.kill()
            watching.communicate()


def pod(name: str, *tolerations: Raw, labels: Raw | None = None, **spec: Any) -> Raw:
    """A pod as short as they come."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "containers": [{"name": "main", "image": "registry.example/app:1"}],
            **({"tolerations": list(tolerations)} if tolerations else {}),
            **spec,
        },
    }


def node(name: str, *taints: str, **labels: str) -> Raw:
    """A node; taints as `kubectl taint` writes them, and labels with `__` for a slash, `_` for a dash."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                **{key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()},
            },
        },
        "spec": {"taints": [_taint(taint) for taint in taints]},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def _taint(text: str) -> Raw:
    rest, effect = text.rsplit(":", 1)
    key, _, value = rest.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def documents_of(folder: str, file: str) -> list[Raw]:
    return list(yaml.safe_load_all((EXAMPLES / folder / file).read_text(encoding="utf-8")))


def pods_of(folder: str, file: str, replicas: int = 1) -> list[Raw]:
    """The pods of a file: its own, and those that controllers would make of its templates."""
    pods: list[Raw] = []
    for document in documents_of(folder, file):
        spec = document.get("spec", {})
        template = spec.get("template") or spec.get("jobTemplate", {}).get("spec", {}).get("template")
        if document["kind"] == "Pod":
            pods.append(document)
        elif template:
            name = document["metadata"]["name"]
            # What a StatefulSet claims for its pods is as good as an empty directory here.
            claimed = [
                {"name": claim["metadata"]["name"], "emptyDir": {}} for claim in spec.get("volumeClaimTemplates", ())
            ]
            if claimed:
                template["spec"]["volumes"] = claimed
            pods += [pod_of_template(template, f"{name}-{number + 1}") for number in range(replicas)]
    return pods


def pod_of_template(template: Raw, name: str, **labels: str) -> Raw:
    made = copy.deepcopy(template)
    metadata = {**made["metadata"], "name": name, "labels": {**made["metadata"].get("labels", {}), **labels}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


def as_list(*documents: Raw | str) -> str:
    items = [item for document in documents for item in _loaded(document)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def _loaded(document: Raw | str) -> list[Raw]:
    return [document] if isinstance(document, dict) else list(yaml.safe_load_all(document))
