"""Validation of a pod's containers."""
