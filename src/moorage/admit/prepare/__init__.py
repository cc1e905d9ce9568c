"""Change objects before validation: defaults, pod mutation, strategies of kinds, addresses of Services."""
