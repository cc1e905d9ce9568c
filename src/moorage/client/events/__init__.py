"""Event recorders: correlation, series, sending in the background."""
