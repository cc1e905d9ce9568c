"""Changes the API server makes before validation: defaults, pod mutation, per-kind strategies."""
