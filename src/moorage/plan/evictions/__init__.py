"""Forecast evictions by taints, and tell what follows them."""
