"""What functions that walk a list once (or a string, for indexOf) are estimated at.

Kubernetes: the case "isSorted", "sum", … of EstimateCallCost in apiserver/pkg/cel/library/cost.go. An element costs 1,
and if it is a string or bytes also the traversal of its largest size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.match.cel.functions import ONE, STRING_FACTOR, CallEstimate
from moorage.match.cel.types import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.match.cel.functions import EstimateContext, Node


def traversal_estimate(
    context: EstimateContext, receiver: Node | None, _arguments: Sequence[Node]
) -> CallEstimate | None:
    """Once over the receiver, element by element."""
    if receiver is None:
        return None
    size = context.size(receiver)
    element = context.element(receiver)
    if element is None:
        return CallEstimate(size.by_factor(STRING_FACTOR))
    each = ONE
    if element.type.kind in (Kind.STRING, Kind.BYTES):
        each = each.plus(context.size(element).by_factor(STRING_FACTOR))
    return CallEstimate(size.times(each))
