"""Pending → placement → binding: the scheduling cycle, its plugins, preemption, the queue, and why not.

In: a `Cluster` and pods without a node. Out: a node for each, or every reason against every node. Knows nothing of
servers or files: `moorage.plan` composes it offline, the live scheduler composes it with a client.
"""
