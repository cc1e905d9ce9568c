"""Decide whether A accepts B: pure matchers, compiled once from what the user wrote, which then cannot fail."""
