"""The node lifecycle controller. Kubernetes: pkg/controller/nodelifecycle."""
