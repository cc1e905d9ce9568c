"""Read and write kubeconfig files: server addresses and credentials."""
