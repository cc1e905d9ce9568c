"""A kubeconfig file to a server address and credentials."""
