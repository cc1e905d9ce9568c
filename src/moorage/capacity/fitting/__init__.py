"""Find the cheapest mix of nodes on which everything runs, with a bound below which no mix can cost."""
