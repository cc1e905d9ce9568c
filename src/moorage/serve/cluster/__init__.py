"""Objects and services of every cluster: bootstrap objects, event expiry."""
