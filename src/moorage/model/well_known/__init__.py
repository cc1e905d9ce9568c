"""Names that the Kubernetes API gives a meaning, each written once."""
