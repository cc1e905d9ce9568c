"""Read the values of keys that taints and labels have and that pods name: on a scale, and where something changes."""
