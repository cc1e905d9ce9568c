"""Validate pods and pod templates, with upstream's texts and order of field errors.

The path through this package: `pod`, then `spec`, then `volumes`, `containers` and the rest. Kubernetes:
pkg/apis/core/validation/validation.go.
"""
