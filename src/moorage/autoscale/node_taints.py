"""Read and write the taints of nodes: those that a pool's nodes start with, and those of nodes in trouble."""

from collections.abc import Sequence

from moorage.client.protocol import Object, Raw
from moorage.control.framework.actions import Patch
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node, Taint
from moorage.model.well_known.taints import NOT_READY, UNREACHABLE
from moorage.pools.node_template import Pool

_NOT_READY = frozenset({NOT_READY, UNREACHABLE})


def is_initialized(node: Node, pool: Pool) -> bool:
    """Return whether a node is ready, without startup taints."""
    ready = next((one.status for one in node.status.conditions if one.type == "Ready"), "")
    startup = pool.templates[0].startup_taints if pool.templates else ()
    return ready == "True" and not any(one.key in _NOT_READY or is_among(one, startup) for one in node.spec.taints)


def is_among(taint: Taint, others: Sequence[Taint]) -> bool:
    return any(taint.key == one.key and taint.effect == one.effect for one in others)


def written_taint(taint: Taint) -> Raw:
    return {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}


def patch_taints(found: Object, taints: Sequence[Taint]) -> Patch:
    """Set the taints of the node that has this UID, if it is as it was when this was decided."""
    metadata = {"uid": found.uid, **({"resourceVersion": str(found.revision)} if found.revision else {})}
    patch = {"metadata": metadata, "spec": {"taints": list(map(written_taint, taints)) or None}}
    return Patch(KINDS.NODE, "", found.name, patch)
