"""Scheme defaults: what the API server fills in before it looks at an object.

In: raw documents that decoded without errors. Out: the same documents, changed in place; `moorage.admit.admission`
hands in a copy. Kubernetes: pkg/apis/*/v1/defaults.go and zz_generated.defaults.go.
"""
