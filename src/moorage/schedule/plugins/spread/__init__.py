"""PodTopologySpread, what it counts, and the selectors of its default constraints."""
