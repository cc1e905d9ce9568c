"""CEL's extension libraries as Kubernetes 1.36 enables them: one module per library, each a tuple of function rows."""
