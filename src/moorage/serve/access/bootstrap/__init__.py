"""The roles and bindings of every cluster, and how they are kept up to date."""
