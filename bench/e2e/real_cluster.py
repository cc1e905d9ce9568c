"""What the real one reaches: kube-scheduler v1.36.4 with API server and etcd, and what Moorage wants to reach.

The figures were measured on a machine like the one that Moorage's own were measured on, with the workloads of
scheduler_perf, 5,000 nodes if not said otherwise; they are data here, not measured again.
"""

from __future__ import annotations

from typing import NamedTuple

NODES = 5_000
SOURCE = "kube-scheduler v1.36.4 with API server and etcd, on a machine like that of Moorage's figures in the README"


class RealCluster(NamedTuple):
    """Pods a second, from run to run, and how many times as many are the goal."""

    slowest: int
    fastest: int
    goal_factor: int | None = None


MEASURED = {
    "SchedulingBasic": RealCluster(180, 220, 10),
    "SchedulingNodeAffinity": RealCluster(95, 158, 10),
    "SchedulingPodAffinity": RealCluster(30, 36, 30),
    "SchedulingPodAntiAffinity": RealCluster(26, 26, 30),
    "SchedulingPreferredPodAffinity": RealCluster(31, 80, 30),
    "TopologySpreading": RealCluster(73, 73),
}
#: Of workloads with devices, on as many nodes as they have.
WITH_DEVICES = {
    "SchedulingWithResourceClaimTemplate/2000pods_200nodes": RealCluster(43, 43, 20),
    "SchedulingWithResourceClaim/2000pods_200nodes": RealCluster(60, 60, 20),
}


def real_cluster(workload: str, nodes: int) -> RealCluster | None:
    """The real one's figures for a workload of as many nodes, if there are any."""
    if workload in WITH_DEVICES:
        return WITH_DEVICES[workload]
    return MEASURED.get(workload.partition("/")[0]) if nodes == NODES else None
