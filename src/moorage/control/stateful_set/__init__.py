"""The StatefulSet controller. Kubernetes: pkg/controller/statefulset."""
