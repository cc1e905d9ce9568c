"""Validate and prepare every kind but pods: each module ends with its `ROWS`, by view.

Kubernetes: pkg/apis/*/validation and the strategies of pkg/registry.
"""
