"""Read what several commands are given besides the cluster."""
