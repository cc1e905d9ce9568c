"""Identity: certificates, tokens, kubeconfig files, authentication."""
