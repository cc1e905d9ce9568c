"""What the documents' stories say, as data: which nodes are open to which workload, and what the documents print.

The README of each folder in `examples` tells the story; here is its outcome.
"""

import json
from pathlib import Path
from typing import Any

import yaml

Raw = dict[str, Any]
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

#: folder → workload → the nodes of the folder that it may run on. All others must refuse it.
OPEN: dict[str, dict[str, set[str]]] = {
    "cni-upgrade": {
        "tolerant-pod": {"old-cni-node-1", "ancient-cni-node-1", "new-cni-node-1"},
        "pinned-pod": {"old-cni-node-1", "new-cni-node-1"},
    },
    "container-runtime": {"modern-app": {"containerd-2-1"}},
    "cost-limit": {"nightly-report": {"small-node-1"}},
    "disk-iops-minimum": {"search-index": {"nvme-node-1"}},
    "environment-taints-by-prefix": {"log-collector": {"node-1", "node-2"}},
    "gpu-tiers": {"model-training": {"gpu-node-a100"}, "model-inference": {"gpu-node-a100", "gpu-node-t4"}},
    "gpu-claims-by-node-sla": {"dra-workload": {"gpu-node-01"}},
    "gpu-error-budget": {"inference": {"gpu-fresh"}, "short-training": {"gpu-fresh", "gpu-aging"}},
    "inference-eviction-on-sla-drop": {
        "inference-service": {"ondemand-node-1", "ondemand-node-2"},
        "inference-service-printed": {"ondemand-node-2"},
    },
    "kernel-version-by-cel": {"my-app": {"kernel-5-15", "kernel-6-8"}, "my-app-strictly-newer": {"kernel-6-8"}},
    "kubelet-version-rollout": {"modern-app": {"upgraded-1", "upgraded-2"}},
    "parameter-servers-and-workers": {
        "parameter-server": {"ondemand-gpu-1"},
        "training-workers": {"ondemand-gpu-1", "spot-gpu-1"},
    },
    "spot-nodes-by-sla": {
        "cost-optimized": {"spot-node-1", "standard-node-1", "ondemand-node-1"},
        "flexible-sla-workload": {"standard-node-1", "ondemand-node-1"},
        "critical-workload": {"ondemand-node-1"},
        "unaware-workload": set(),
    },
    "spot-protection": {
        "batch-job": {"spot-node-1", "ondemand-node-1"},
        "payment-processor": {"ondemand-node-1"},
        "payment-processor-that-stays": {"ondemand-node-1"},
    },
    "zones-by-regex": {"my-app": {"a1-03", "a2-15"}},
}

_TOLERATIONS = '.spec.tolerations[?(@.operator=="{}")]'
_AFFINITY = (
    ".spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[*]"
    '.matchExpressions[?(@.operator=="{}")]'
)
_EACH_POD = '{{range .items[*]}}{{.metadata.name}}{{": "}}{{{}}}{{"\\n"}}{{end}}'

#: What the documents tell operators to ask for → a name that must be in the answer's line, and a part of that line.
QUERIES: tuple[tuple[str, str, str], ...] = (
    *(
        (f"get pods -A -o jsonpath='{_EACH_POD.format(path.format(operator))}'", pod, f'"operator":"{operator}"')
        for path, operator, pod in (
            (_TOLERATIONS, "Gt", "cost-optimized"),
            (_TOLERATIONS, "SemverGt", "tolerates-semver-gt"),
            (_TOLERATIONS, "SemverLt", "tolerant-pod"),
            (_TOLERATIONS, "SemverEq", "pinned-pod"),
            (_AFFINITY, "SemverGt", "modern-app"),
            (_AFFINITY, "SemverLt", "wants-semver-lt"),
            (_AFFINITY, "SemverEq", "wants-semver-eq"),
        )
    ),
    (
        "get pods -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name}: "
        """{.spec.tolerations[?(@.expression)]}{"\\n"}{end}'""",
        "my-app",
        '"expression":',
    ),
    (
        """get nodes -o jsonpath='{range .items[*]}{.spec.taints[?(@.key=="node.kubernetes.io/sla")]}{"\\n"}{end}'""",
        "node.kubernetes.io/sla",
        '"value":"800"',
    ),
)


def documents(folder: str) -> list[Raw]:
    files = sorted((EXAMPLES / folder).glob("*.yaml"))
    return [document for file in files for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def nodes_of(folder: str) -> list[str]:
    return [document["metadata"]["name"] for document in documents(folder) if document["kind"] == "Node"]


def _template(document: Raw) -> Raw:
    """The pod that a workload makes; a pod makes itself."""
    if document["kind"] == "Pod":
        return document
    spec: Raw = document["spec"]["jobTemplate"]["spec"] if document["kind"] == "CronJob" else document["spec"]
    template: Raw = spec["template"]
    return template


def pods_by_node(folder: str, workload: str) -> dict[str, Raw]:
    """node → a pod of the workload that asks for this node; it is named `workload.node`."""
    makers = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
    document = next(d for d in documents(folder) if d["kind"] in makers and d["metadata"]["name"] == workload)
    template = _template(document)
    spec = json.loads(json.dumps(template["spec"]))
    for container in spec["containers"]:
        # Whether there is room, and which volumes a StatefulSet makes, are other questions.
        container.pop("resources", None)
        container.pop("volumeMounts", None)
    found = {}
    for node in nodes_of(folder):
        wants = {**spec, "nodeSelector": {**spec.get("nodeSelector", {}), "kubernetes.io/hostname": node}}
        metadata = {"name": f"{workload}.{node}", "labels": template.get("metadata", {}).get("labels", {})}
        found[node] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": wants}
    return found
