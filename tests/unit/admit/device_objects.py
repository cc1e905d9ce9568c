"""Objects of resource.k8s.io, and what admission says of them."""

from collections.abc import Mapping
from typing import Any

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.request import Request
from moorage.admit.subresources.status_update import admit_status
from moorage.model.gates import GateSet, default_gates

Raw = dict[str, Any]

GATES = default_gates()
NOW, LATER = "2026-01-02T03:04:05Z", "2026-01-02T04:00:00Z"
ADMIN = "resource.kubernetes.io/admin-access"
RESULT = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "a"}
SHARE = "11111111-2222-3333-4444-555555555555"
POD = {"resource": "pods", "name": "pod", "uid": "1"}
OFF = {
    "DRAConsumableCapacity": False,
    "DRADeviceBindingConditions": False,
    "DRADeviceTaints": False,
    "DRAExtendedResource": False,
    "DRAPartitionableDevices": False,
    "DRAPrioritizedList": False,
    "DRAResourceClaimDeviceStatus": False,
    "DRAResourceClaimGranularStatusAuthorization": False,
}


def document(kind: str, spec: Raw, version: str = "v1", **rest: Any) -> Raw:
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": "x"}, "spec": spec, **rest}


def claim(*tolerations: Raw, **exactly: Any) -> Raw:
    request = {"deviceClassName": "gpu", **({"tolerations": list(tolerations)} if tolerations else {}), **exactly}
    return document("ResourceClaim", {"devices": {"requests": [{"name": "r", "exactly": request}]}})


def template(*tolerations: Raw) -> Raw:
    return document("ResourceClaimTemplate", {"spec": claim(*tolerations)["spec"]})


def slice_of(*devices: Raw, **spec: Any) -> Raw:
    pool = {"name": "p", "resourceSliceCount": 1}
    return document(
        "ResourceSlice", {"driver": "d.example.com", "pool": pool, "nodeName": "n", "devices": [*devices], **spec}
    )


def rule(effect: str, **taint: Any) -> Raw:
    return document("DeviceTaintRule", {"taint": {"key": "k", "effect": effect, **taint}}, "v1beta2")


def stored(raw: Raw, gates: GateSet = GATES) -> Raw:
    answer = admit(raw, None, gates, plugins=(), request=Request(timestamp=NOW))
    assert isinstance(answer, Admitted), answer.errors
    answer.object["metadata"]["resourceVersion"] = "1"
    return answer.object


def updated(raw: Raw, old: Raw, gates: GateSet = GATES, now: str = LATER) -> Admitted | Rejected:
    return admit(raw | {"metadata": old["metadata"]}, old, gates, plugins=(), request=Request(timestamp=now))


def errors(answer: Admitted | Rejected) -> list[str]:
    return [] if isinstance(answer, Admitted) else [str(error) for error in answer.errors]


def with_status(old: Raw, gates: GateSet = GATES, labels: Mapping[str, str] | None = None, **status: Any) -> Any:
    labels_of = None if labels is None else lambda name: labels
    return admit_status(old | {"status": status}, old, gates, namespace_labels=labels_of)


def allocated(**result: Any) -> Raw:
    return {"devices": {"results": [RESULT | result]}}
