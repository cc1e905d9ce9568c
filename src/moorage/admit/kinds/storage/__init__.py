"""Validation of volumes, claims and what storage drivers write."""
