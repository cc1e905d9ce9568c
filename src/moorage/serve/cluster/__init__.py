"""Keep the objects of every cluster: bootstrap objects, the API servers' configuration and Leases, expiry of events."""
