"""Validation of a pod's volumes and mounts."""
