"""Complete what is being typed: fields, operators, keys and values of the cluster, and all of CEL by type."""
