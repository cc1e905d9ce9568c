"""Serve the Kubernetes API, over HTTP and to components in the same process.

`http` turns bytes into requests, `resources` finds what a path means, `verbs` act on the store with `moorage.admit` in
between. Kubernetes: apiserver and pkg/registry.
"""
