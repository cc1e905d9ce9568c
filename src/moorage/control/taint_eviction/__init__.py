"""The taint eviction controller. Kubernetes: pkg/controller/tainteviction."""
