"""Tell whether a node is ready."""

from moorage.model.types.node import Node


def is_ready(node: Node) -> bool:
    """Return whether the node's Ready condition is True: one that is Unknown or absent is not."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)
