"""Workloads in the format of Kubernetes' scheduler_perf, run over HTTPS against a `moorage up` of its own."""
