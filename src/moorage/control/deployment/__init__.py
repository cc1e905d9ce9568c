"""Deployments: ReplicaSets that take over from each other.

In: Deployments, their ReplicaSets, and for Recreate their pods. Out: ReplicaSets made, resized and cleaned up; status
and events. Kubernetes: pkg/controller/deployment. Start with `controller`.
"""
