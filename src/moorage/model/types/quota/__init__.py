"""What namespaces may use, and how pods are run: LimitRange, ResourceQuota, RuntimeClass."""
