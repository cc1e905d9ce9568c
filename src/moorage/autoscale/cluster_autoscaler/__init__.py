"""Decide as Cluster Autoscaler does: one node group is made larger at a time, unneeded nodes leave after a while."""
