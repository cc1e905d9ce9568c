"""Bound → running: simulated nodes that take what is bound to them, as a kubelet would, and run nothing.

In: Node and Pod objects, by way of `moorage.client`. Out: Leases, node status, and pod status from Pending to its end.
Kubernetes: the kubelet, kubemark's hollow nodes.
"""
