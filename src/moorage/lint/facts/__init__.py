"""Facts the rules share: comparisons, taints and requirements found in the input."""
