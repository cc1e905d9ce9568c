"""Admission of subresources: status, scale, binding, eviction, and deletion."""
