"""Pods, nodes and taints as short as tests want them."""

from typing import Any

Raw = dict[str, Any]


def pod(name: str = "p", labels: Raw | None = None, *, metadata: Raw | None = None, **spec: Any) -> Raw:
    """Return a pod in the namespace default, with one container unless `containers` says otherwise."""
    about = {"name": name, "namespace": "default", **({"labels": labels} if labels else {}), **(metadata or {})}
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


def node(
    name: str = "n", *taints: Raw, metadata: Raw | None = None, spec: Raw | None = None, status: Raw | None = None
) -> Raw:
    """Return a node; without `status` it has room for a few pods."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"taints": list(taints), **(spec or {})},
        "status": {"allocatable": amounts, "capacity": amounts} if status is None else status,
    }


def taint(key: str, value: str = "", effect: str = "NoSchedule", **more: Any) -> Raw:
    return {"key": key, "effect": effect, **({"value": value} if value else {}), **more}
