"""Apply JSON patches, merge patches and strategic merge patches.

Nothing that comes in is changed, and unchanged parts are shared with the result. Kubernetes: apiserver's
handlers/patch.go.
"""
