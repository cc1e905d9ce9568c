"""What the API server says about each kind but pods: one module a kind, `validate_*` and `validate_*_update`.

Kubernetes: pkg/apis/*/validation.
"""
