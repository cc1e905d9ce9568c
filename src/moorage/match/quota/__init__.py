"""What objects use of a ResourceQuota, and which quotas count them. Kubernetes: pkg/quota/v1."""
