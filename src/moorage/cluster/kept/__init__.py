"""Clusters that are kept: where each is, what it was told, whether it runs, and how it is stopped and deleted."""
