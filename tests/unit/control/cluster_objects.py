"""Nodes, pods and taints as short as tests want them."""

from typing import Any

from tests import objects

Raw = dict[str, Any]


def taint(key: str, value: str = "", effect: str = "NoExecute", **more: Any) -> Raw:
    return objects.taint(key, value, effect, **more)


def node(name: str, *taints: Raw, **more: Any) -> Raw:
    return objects.node(name, *taints, **{"status": {}, **more})


def pod(name: str, on: str, *tolerations: Raw, **more: Any) -> Raw:
    placed = {"nodeName": on, "tolerations": list(tolerations), "terminationGracePeriodSeconds": 0}
    return objects.pod(name, **{**placed, **more})
