"""Find the values of taints and labels at which something changes, each tried on the simulated cluster."""
