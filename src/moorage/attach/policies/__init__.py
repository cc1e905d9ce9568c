"""Write admission policies that do inside the API server what attach does: mirror nodes, lower thresholds."""
