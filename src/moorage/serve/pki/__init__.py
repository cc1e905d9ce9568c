"""Keep identities: certificates, tokens, kubeconfig files, authentication."""
