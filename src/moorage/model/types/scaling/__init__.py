"""Typed views of what scales workloads."""
