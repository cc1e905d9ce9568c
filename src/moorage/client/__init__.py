"""Talk to an API server, in this process or behind a kubeconfig. Kubernetes: client-go."""
