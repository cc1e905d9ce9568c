"""Tell how many more pods of each workload fit."""

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.plan.pod_lines import planned_pods
from moorage.plan.simulation.loading import COUNTED
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.candidates import NO_SLOT

#: So many more pods of a workload are tried at most.
MAX_MORE = 1000


def headroom(simulation: Simulation) -> tuple[dict[str, int], dict[str, str]]:
    """Return how many more pods of each workload fit, by the workload's name, and why that cannot be told of others.

    Copies of a pod are placed one after the other without preemption, and taken away again. A pod with claims has no
    copies: another one would have claims of its own.
    """
    found: dict[str, int] = {}
    untold: dict[str, str] = {}
    for pod in planned_pods(simulation):
        name = pod.workload if pod.owner is not None and pod.owner.kind in COUNTED else ""
        if not name or name in found or name in untold:
            continue
        if not simulation.scheduler.knows(pod.pod.spec.schedulerName):
            untold[name] = f"its pods wait for scheduler {pod.pod.spec.schedulerName}"
            continue
        spec = msgspec.structs.replace(pod.pod.spec, nodeName="")
        record = simulation.cluster.record(pod.key, msgspec.structs.replace(pod.pod, spec=spec))
        if record.claims or record.shape.devices or pod.pod.spec.resourceClaims:
            what = "volumes" if record.claims else "devices"
            untold[name] = f"its pods claim {what}, and each further pod would need claims of its own"
        else:
            found[name] = _more(simulation, record)
    return found, untold


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
