"""Kinds that say how pods are reached."""
