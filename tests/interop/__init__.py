"""Real Kubernetes components and ours in one cluster."""
