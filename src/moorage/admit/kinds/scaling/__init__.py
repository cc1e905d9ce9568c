"""Validate what scales workloads, and templates that no workload has."""
