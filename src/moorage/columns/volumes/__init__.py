"""Volumes, claims and attachments as columns."""
