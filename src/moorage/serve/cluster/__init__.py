"""Objects and services every cluster has: bootstrap objects, admission lookups, event expiry."""
