"""Nodes that are heard of and nodes that are not: conditions, taints, and pods that are not ready any more.

In: Nodes, their Leases, Pods. Out: conditions that become Unknown, taints, labels, events. `node_facts` reads and
writes one node, `zones` paces what would empty many nodes at once, `controller` brings the two together.
Kubernetes: pkg/controller/nodelifecycle.
"""
