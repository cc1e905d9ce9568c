"""The Deployment controller. Kubernetes: pkg/controller/deployment."""
