"""Admit writes to subresources: status, scale, binding, eviction, and deletion."""
