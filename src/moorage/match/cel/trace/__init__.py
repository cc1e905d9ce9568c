"""Evaluate an expression and keep the value of each part of it, as its author wrote the parts."""
