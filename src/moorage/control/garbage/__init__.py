"""The garbage collector. Kubernetes: pkg/controller/garbagecollector."""
