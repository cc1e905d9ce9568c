"""InterPodAffinity, and what it counts."""
