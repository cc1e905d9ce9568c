"""Find what the API server refuses, and valid objects that behave unexpectedly: one file for each theme.

A rule is registered beside the function that reports it, see `moorage.lint.catalogue`. `decoding` reports what reading,
conversion and validation refuse.
"""
