"""Nodes, pods and taints as short as tests want them."""

from typing import Any

from moorage.model.kinds import KINDS

Raw = dict[str, Any]
NODE, POD, LEASE = KINDS["v1", "Node"], KINDS["v1", "Pod"], KINDS["coordination.k8s.io/v1", "Lease"]


def taint(key: str, value: str = "", effect: str = "NoExecute", **more: Any) -> Raw:
    return {"key": key, "effect": effect, **({"value": value} if value else {}), **more}


def node(name: str, *taints: Raw, **more: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **more.pop("metadata", {})},
        "spec": {"taints": list(taints), **more.pop("spec", {})},
        **more,
    }


def pod(name: str, on: str, *tolerations: Raw, **more: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **more.pop("metadata", {})},
        "spec": {
            "nodeName": on,
            "containers": [{"name": "c", "image": "i"}],
            "tolerations": list(tolerations),
            "terminationGracePeriodSeconds": 0,
            **more,
        },
    }
