"""Answer questions about capacity: what values cost, and what pools there are."""
