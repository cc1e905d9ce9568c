"""Evict pods that use devices with NoExecute taints."""
