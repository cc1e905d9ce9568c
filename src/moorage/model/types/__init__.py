"""Typed views of each kind, with the names and nesting of the Kubernetes API."""
