"""Workloads in the format of Kubernetes' scheduler_perf, run against Moorage's engine in this process."""
