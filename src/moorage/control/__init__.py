"""Desired → actual: what happens to a cluster after somebody has said what should be.

In: objects, by way of `moorage.client`. Out: other objects made, changed and deleted until what is matches what should
be. Each controller is a `Controller`: which of its objects a change concerns, and what is to be done about one of
them, both without I/O. `manager` runs them all. Kubernetes: kube-controller-manager.
"""
