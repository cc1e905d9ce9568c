"""TaintNodesByCondition: a node begins as not ready, so that nothing lands there before it is.

In: a new node. Out: the node with the taint. Kubernetes: plugin/pkg/admission/nodetaint. Only a cluster with the
controller that takes the taint away may use it.
"""

from moorage.admit.plugins import Plugin
from moorage.admit.plugins.default_toleration_seconds import NOT_READY
from moorage.admit.raw import Raw, items, part


class TaintNodesByCondition(Plugin):
    """Adds the taint when the node is made."""

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "Node" or old is not None:
            return
        spec = part(new, "spec")
        taints = items(spec, "taints")
        if not any(taint.get("key") == NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]
