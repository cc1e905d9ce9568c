"""Objects and services of every cluster: bootstrap objects, admission lookups, event expiry, service addresses."""
