"""Validation of kinds that say how pods are reached."""
