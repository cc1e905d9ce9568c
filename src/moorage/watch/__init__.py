"""Show a live view of a cluster in the terminal: what is Pending and why, what moved, what was evicted, full nodes."""
