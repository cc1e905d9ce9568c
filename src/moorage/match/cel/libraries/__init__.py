"""The functions of CEL, as rows: the standard library, and the libraries that Kubernetes adds."""
