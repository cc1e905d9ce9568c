"""Try suggestions on a workload as a whole, and choose those that help it."""
