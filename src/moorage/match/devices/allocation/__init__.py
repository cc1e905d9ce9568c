"""The structured allocator: which devices of a node's pools a pod's claims get. Pure, and bounded in steps.

    pools = gather_pools(published, node, features)           # in order of preference; kept by the caller
    claims = [compile_claim(claim.spec, find_class, gates)]   # kept by spec
    allocate(pools, [ClaimToAllocate(…)], in_use, node, …)    # AllocationResults, or None; raises AllocationError

Kubernetes: dynamic-resource-allocation/structured, its three allocators as one.
"""
