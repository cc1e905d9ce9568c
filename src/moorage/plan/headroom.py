"""Count how many more pods of each workload would fit on the cluster as it is.

Copies of a pod are placed one after the other without preemption, at most `MAX_MORE`, and taken away again. Pods with
claims are left out: the next one has its own.
"""

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.plan.planned_pod import planned_pods
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.engine.candidates import NO_SLOT

MAX_MORE = 1000
_COUNTED = ("Deployment", "ReplicaSet", "StatefulSet", "Job")


def headroom(simulation: Simulation) -> dict[str, int]:
    """Return how many more pods of each workload fit, by the workload's name."""
    found: dict[str, int] = {}
    for pod in planned_pods(simulation):
        name = pod.workload if pod.owner is not None and pod.owner.kind in _COUNTED else ""
        if not name or name in found or not simulation.scheduler.knows(pod.pod.spec.schedulerName):
            continue
        spec = msgspec.structs.replace(pod.pod.spec, nodeName="")
        record = simulation.cluster.record(pod.key, msgspec.structs.replace(pod.pod, spec=spec))
        if not record.claims:
            found[name] = _more(simulation, record)
    return found


def _more(simulation: Simulation, like: PodRecord) -> int:
    cluster, engine = simulation.cluster, simulation.scheduler.engines[like.pod.spec.schedulerName]
    placed: list[PodRecord] = []
    while len(placed) < MAX_MORE:
        record = PodRecord(f"{like.key}+{len(placed)}", like.pod, like.shape)
        slot = engine.find(record)
        if slot == NO_SLOT:
            break
        cluster.add_pod(record, slot)
        placed.append(record)
    for record in placed:
        cluster.remove_pod(record)
    return len(placed)
