"""Run a cluster of several processes on one machine, as `moorage up --ha N` does, and keep them running."""
