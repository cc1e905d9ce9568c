"""List the roles and bindings of every cluster."""
