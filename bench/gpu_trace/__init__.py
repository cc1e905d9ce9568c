"""Measure capacity on a production trace of GPU tasks: the cheapest mix, and GPUs that no task can use any more."""
