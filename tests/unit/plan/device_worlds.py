"""Nodes with devices, claims and their pods in few words."""

from __future__ import annotations

from typing import Any

from tests.unit.plan.planning import Raw, node, pod, spec

DRIVER = "gpu.example.com"
BUDGET = "example.com/budget-hours"


def device_class(name: str = "gpu", expression: str = f"device.driver == '{DRIVER}'") -> Raw:
    selectors = [{"cel": {"expression": expression}}]
    about = {"selectors": selectors} if expression else {}
    return _object("DeviceClass", name, about)


def gpu(name: str, budget: str = "", model: str = "a100", effect: str = "NoSchedule") -> Raw:
    device: Raw = {"name": name, "attributes": {"model": {"string": model}}}
    if budget:
        device["taints"] = [
            {"key": BUDGET, "value": budget, "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"},
        ]
    return device


def with_gpus(name: str, *devices: Raw, cpu: str = "4") -> list[Raw]:
    """Return a node and the slice of its devices."""
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    about = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": list(devices)}
    return [node(name, cpu), _object("ResourceSlice", f"{name}-gpus", about)]


def request(name: str = "gpu", **fields: Any) -> Raw:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **fields}}


def above(threshold: str, effect: str = "NoSchedule") -> list[Raw]:
    return [{"key": BUDGET, "operator": "Gt", "value": threshold, "effect": effect}]


def claim(name: str, *requests: Raw) -> Raw:
    return _object("ResourceClaim", name, {"devices": {"requests": list(requests or [request()])}})


def template(name: str, *requests: Raw) -> Raw:
    devices = {"devices": {"requests": list(requests or [request()])}}
    return _object("ResourceClaimTemplate", name, {"spec": devices})


def _object(kind: str, name: str, about: Raw) -> Raw:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": about}


def of_claim(name: str) -> list[Raw]:
    return [{"name": "gpu", "resourceClaimName": name}]


def of_template(name: str) -> list[Raw]:
    return [{"name": "gpu", "resourceClaimTemplateName": name}]


def with_claim(name: str, claims: list[Raw], cpu: str = "1") -> Raw:
    return pod(name, cpu, resourceClaims=claims)


def deployment(name: str, replicas: int, claims: list[Raw], **fields: Any) -> Raw:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec(resourceClaims=claims)},
            **fields,
        },
    }
