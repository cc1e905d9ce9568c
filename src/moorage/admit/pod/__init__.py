"""Validation of pods and pod templates: field errors in upstream's words and order.

The path through this package: `pod`, then `spec`, then `volumes`, `containers` and the rest. Kubernetes:
pkg/apis/core/validation/validation.go.
"""
