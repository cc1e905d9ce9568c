"""What operators see of a running component: logs and metrics, under the names that Kubernetes gives them."""
