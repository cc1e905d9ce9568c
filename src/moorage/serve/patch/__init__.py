"""JSON patch, merge patch and strategic merge patch.

Nothing that comes in is changed, and unchanged parts are shared with the result. Kubernetes: apiserver's
handlers/patch.go.
"""
