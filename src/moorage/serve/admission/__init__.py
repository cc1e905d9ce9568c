"""Give admission what it looks up in the server, and charge quotas."""
