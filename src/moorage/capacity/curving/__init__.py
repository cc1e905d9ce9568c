"""Answer what a value costs: pods placed, evictions and cost for each value at which something changes."""
