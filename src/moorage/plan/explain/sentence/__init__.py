"""One sentence for a person: what a pod needs, and the most that the cluster has of it."""
