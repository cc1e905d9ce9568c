"""Moorage: a Kubernetes-compatible scheduling control plane in which every decision can be explained."""

__version__ = "0.1.0"
