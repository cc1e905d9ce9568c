"""Revisions ↔ HTTP: the Kubernetes API as kubectl, client libraries and our own components know it.

In: requests. Out: objects, lists, tables and watch streams. `http` turns bytes into requests, `routes` says what is
meant, `verbs` do it on the store with `moorage.admit` in between. Kubernetes: apiserver and pkg/registry.
"""
