"""Small valid documents to start from, and what admission says about them."""

from typing import Any

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.model.gates import GateSet, default_gates

Raw = dict[str, Any]

LABELS = {"app": "web"}
SELECTOR = {"matchLabels": LABELS}
_API_VERSIONS = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ControllerRevision": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "StorageClass": "storage.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "Lease": "coordination.k8s.io/v1",
    **dict.fromkeys(("CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment"), "storage.k8s.io/v1"),
}


def document(kind: str, name: str = "x", /, **fields: Any) -> Raw:
    return {"apiVersion": _API_VERSIONS.get(kind, "v1"), "kind": kind, "metadata": {"name": name}, **fields}


def pod(labels: Raw | None = None, **spec: Any) -> Raw:
    made = document("Pod", "p", spec={"containers": [{"name": "c", "image": "i"}], **spec})
    if labels is not None:
        made["metadata"]["labels"] = labels
    return made


def template(**spec: Any) -> Raw:
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def workload(kind: str, spec: Raw | None = None, **pod_spec: Any) -> Raw:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet, Job or CronJob with a pod spec of those fields."""
    if kind in ("Job", "CronJob"):
        job = {"template": template(**{"restartPolicy": "Never", **pod_spec}), **(spec or {})}
        if kind == "Job":
            return document(kind, spec=job)
        return document(kind, spec={"schedule": "@daily", "jobTemplate": {"spec": job}})
    return document(kind, spec={"selector": SELECTOR, "template": template(**pod_spec), **(spec or {})})


def volume(**spec: Any) -> Raw:
    basis = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    return document("PersistentVolume", spec={**basis, **spec})


def node(**spec: Any) -> Raw:
    return document("Node", "n1", spec=spec)


def stored(new: Raw, gates: GateSet | None = None) -> Raw:
    """The object as a store would hold it; the document must be admitted."""
    answer = admit(new, None, gates or default_gates())
    assert isinstance(answer, Admitted), answer.status["message"]
    answer.object["metadata"]["resourceVersion"] = "7"
    return answer.object


def complaints(new: Raw, old: Raw | None = None, gates: GateSet | None = None) -> list[str]:
    """What admission has against it: texts of field errors up to their first newline, or the Status' message."""
    answer = admit(new, old, gates or default_gates())
    if isinstance(answer, Admitted):
        return []
    return [str(error).partition("\n")[0] for error in answer.errors] or [answer.status["message"]]


def rejected(new: Raw, old: Raw | None = None, gates: GateSet | None = None) -> Rejected:
    answer = admit(new, old, gates or default_gates())
    assert isinstance(answer, Rejected)
    return answer
