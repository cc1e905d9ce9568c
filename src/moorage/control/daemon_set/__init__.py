"""The DaemonSet controller: one pod on every node that fits. Kubernetes: pkg/controller/daemon."""
