"""Why claims cannot be allocated at all: errors with the allocator's own words.

Kubernetes: dynamic-resource-allocation/structured. Differs: a search has a bound on steps where it has a time-out.
"""


class AllocationError(Exception):
    """Allocation failed; `node_only` tells that other nodes may be tried, otherwise the whole attempt fails."""

    node_only = False


class NodeAllocationError(AllocationError):
    """Allocation failed on this node only."""

    node_only = True


class SearchLimitError(NodeAllocationError):
    """The search was given up: it would have taken too many steps."""
