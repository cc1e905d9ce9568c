"""Attach to a cluster that you have: one module for each command of `moorage attach`."""
