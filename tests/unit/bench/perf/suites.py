"""Tiny suites on disk: a few templates, and one test case around some operations."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import yaml
from bench.perf.config import Workload, read_suite

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATES = {
    "node.yaml": """
        kind: Node
        apiVersion: v1
        metadata: {generateName: node-}
        status: {capacity: {cpu: "1", memory: 4Gi, pods: "10"}}
        """,
    "named-node.yaml": """
        kind: Node
        apiVersion: v1
        metadata: {name: "node-{{ .Index }}", labels: {kubernetes.io/hostname: "node-{{ .Index }}"}}
        status: {capacity: {cpu: "8", memory: 4Gi, pods: "10"}}
        """,
    "pod.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {generateName: pod-, labels: {app: a}}
        spec:
          terminationGracePeriodSeconds: 0
          containers: [{name: c, image: i, resources: {requests: {cpu: 500m}}}]
        """,
    "large-pod.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {name: "large-{{.Index}}", labels: {app: large}}
        spec:
          priority: 10
          containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
        """,
    "huge-pod.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {name: "huge-{{.Index}}", labels: {app: huge}}
        spec:
          containers: [{name: c, image: i, resources: {requests: {cpu: "4"}}}]
        """,
    "gated-pod.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {generateName: gated-}
        spec: {schedulingGates: [{name: a.b/c}], containers: [{name: c, image: i}]}
        """,
    "kept-pod.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {generateName: kept-, finalizers: [a.b/c]}
        spec: {containers: [{name: c, image: i}]}
        """,
    "placed-pod.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {name: "placed-{{.Index}}"}
        spec:
          nodeName: node-0
          containers: [{name: c, image: i, resources: {requests: {cpu: "8"}}}]
        """,
    "resized-pod.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {name: "placed-{{.Index}}"}
        spec:
          containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
        """,
    "service.yaml": """
        kind: Service
        apiVersion: v1
        metadata: {generateName: service-}
        spec: {selector: {app: a}}
        """,
    "namespace.yaml": """
        kind: Namespace
        apiVersion: v1
        metadata: {labels: {team: t}}
        """,
    "budget.yaml": """
        kind: PodDisruptionBudget
        apiVersion: policy/v1
        metadata: {name: budget}
        spec: {maxUnavailable: 0, selector: {matchLabels: {app: a}}}
        """,
    "volume.yaml": """
        kind: PersistentVolume
        apiVersion: v1
        spec: {accessModes: [ReadOnlyMany], capacity: {storage: 1Gi}, csi: {driver: d.example}}
        """,
    "disk.yaml": """
        kind: PersistentVolume
        apiVersion: v1
        spec: {accessModes: [ReadOnlyMany], capacity: {storage: 1Gi}, awsElasticBlockStore: {volumeID: x}}
        """,
    "claim.yaml": """
        kind: PersistentVolumeClaim
        apiVersion: v1
        metadata: {annotations: {pv.kubernetes.io/bind-completed: "true"}}
        spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}
        """,
    "config-map.yaml": """
        kind: ConfigMap
        apiVersion: v1
        metadata: {name: settings}
        """,
    "device-class.yaml": """
        kind: DeviceClass
        apiVersion: resource.k8s.io/v1beta2
        metadata: {name: gpu}
        spec: {selectors: [{cel: {expression: device.driver == "driver.example"}}]}
        """,
    "shared-slice.yaml": """
        kind: ResourceSlice
        apiVersion: resource.k8s.io/v1
        metadata: {name: "shared-{{.Index}}"}
        spec:
          driver: driver.example
          allNodes: true
          pool: {name: "shared-{{.Index}}", resourceSliceCount: 1}
          devices: [{name: one}]
        """,
    "taint-rule.yaml": """
        kind: DeviceTaintRule
        apiVersion: resource.k8s.io/v1alpha3
        metadata: {name: everything}
        spec: {deviceSelector: null, taint: {key: a.b/c, effect: NoSchedule}}
        """,
    "resource-claim.yaml": """
        kind: ResourceClaim
        apiVersion: resource.k8s.io/v1
        metadata: {name: "claim-{{.Index}}"}
        spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
        """,
    "resource-claim-template.yaml": """
        kind: ResourceClaimTemplate
        apiVersion: resource.k8s.io/v1
        metadata: {name: gpus}
        spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
        """,
    "pod-with-template.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {generateName: pod-}
        spec:
          resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]
          containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
        """,
    "pod-with-claim.yaml": """
        kind: Pod
        apiVersion: v1
        metadata: {name: "pod-{{.Index}}"}
        spec:
          resourceClaims: [{name: gpu, resourceClaimName: "claim-{{DivideInt .Index 2}}"}]
          containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
        """,
}


def driver(devices: int, nodes: str = "node-*") -> dict[str, Any]:
    return {
        "opcode": "createResourceDriver",
        "driverName": "driver.example",
        "nodes": nodes,
        "maxClaimsPerNode": devices,
    }


def any_of(template: str, count: int = 1, **fields: Any) -> dict[str, Any]:
    return {"opcode": "createAny", "templatePath": template, "count": count, **fields}


def write_suite(folder: Path, *operations: dict[str, Any], **case: Any) -> Path:
    """A folder with one test case, Case/Small, of these operations."""
    for name, text in TEMPLATES.items():
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    workload = {"name": "Small", **case.pop("workload", {})}
    document = [{"name": "Case", "workloadTemplate": list(operations), "workloads": [workload], **case}]
    (folder / "performance-config.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return folder


def read_workload(folder: Path, *operations: dict[str, Any], **case: Any) -> Workload:
    (workload,) = read_suite(write_suite(folder, *operations, **case))
    return workload


def nodes(count: int = 2, template: str = "node.yaml", **fields: Any) -> dict[str, Any]:
    return {"opcode": "createNodes", "count": count, "nodeTemplatePath": template, **fields}


def pods(count: int, template: str = "pod.yaml", **fields: Any) -> dict[str, Any]:
    return {"opcode": "createPods", "count": count, "podTemplatePath": template, **fields}


def measured(count: int, template: str = "pod.yaml", **fields: Any) -> dict[str, Any]:
    return pods(count, template, collectMetrics=True, **fields)
