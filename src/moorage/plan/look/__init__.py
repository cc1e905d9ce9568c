"""Look at one pod or node of a simulated cluster: why it is here, what it tolerates, where it would go, what fits."""
