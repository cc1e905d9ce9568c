"""Checked tree to closures that evaluate it and charge for the work."""
