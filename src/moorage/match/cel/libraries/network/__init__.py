"""CEL functions on IP addresses, networks and URLs."""
