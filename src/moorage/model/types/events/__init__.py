"""Events of both groups, and Leases."""
