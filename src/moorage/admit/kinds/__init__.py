"""What the API server says about each kind but pods: one module a kind, `validate_*` and `validate_*_update`.

In: typed views with their defaults, and options. Out: field errors in upstream's order. Kubernetes:
pkg/apis/*/validation.
"""
