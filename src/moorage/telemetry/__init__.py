"""Logs and metrics under Kubernetes' names."""
