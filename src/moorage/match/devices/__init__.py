"""Devices (DRA): selectors, taints and tolerations, eviction, and which devices claims are allocated."""
