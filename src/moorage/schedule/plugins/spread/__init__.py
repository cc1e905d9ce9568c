"""PodTopologySpread, and what it counts."""
