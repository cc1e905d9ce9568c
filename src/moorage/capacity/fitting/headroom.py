"""Make the pods for which room is to be kept: a share more of each workload, and those of CapacityBuffers.

Kubernetes: Cluster Autoscaler's CapacityBuffers, whose pods are like those of a PodTemplate or a workload. Differs:
`limits` bound the sum of requests, rounded down to whole pods.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy

from moorage.admit.raw import Raw
from moorage.capacity.fitting.worlds import FitWorld
from moorage.columns.resources import amount, pod_requests
from moorage.model.kinds import KINDS, view_of
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import POD_TEMPLATE_HASH
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.pod_lines import planned_pods
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import Buffer

MAX_PODS = 100_000
_OF_A_NODE = ("nodeName", "hostname", "subdomain")


def headroom_pods(simulation: Simulation, percent: float) -> Iterator[Raw]:
    """Yield this share more of the pods of each workload, rounded up."""
    counts: dict[str, int] = {}
    first: dict[str, str] = {}
    for pod in planned_pods(simulation):
        if pod.owner is None or pod.owner.kind == KINDS.DAEMON_SET.name:
            continue
        counts[pod.workload] = counts.get(pod.workload, 0) + 1
        if simulation.world.get(KINDS.POD, pod.key) is not None:
            first.setdefault(pod.workload, pod.key)
    for number, (workload, key) in enumerate(first.items(), 1):
        found = simulation.world.get(KINDS.POD, key)
        if found is None or _has_claims(found.raw):
            continue
        more = -(-counts[workload] * percent // 100)
        yield from _copies(found.raw["spec"], found.raw["metadata"], found.namespace, f"headroom-{number}", int(more))


def _has_claims(raw: Raw) -> bool:
    return any("persistentVolumeClaim" in volume for volume in raw["spec"].get("volumes") or ())


def buffer_pods(inventory: Inventory, buffers: Iterable[Buffer], notes: list[str]) -> Iterator[Raw]:
    """Yield the pods of CapacityBuffers; note those whose pods are not in the input."""
    for buffer in buffers:
        template, replicas = _template_of(inventory, buffer)
        if template is None:
            what = (
                f"{buffer.workload_kind} {buffer.workload}" if buffer.workload else f"PodTemplate {buffer.pod_template}"
            )
            notes.append(f"{buffer.place}: CapacityBuffer {buffer.name}: {what} is not in the input")
            continue
        number = _number(buffer, template, replicas)
        metadata = template.get("metadata") or {}
        yield from _copies(template["spec"], metadata, buffer.namespace, f"buffer-{buffer.name}", number)


def _template_of(inventory: Inventory, buffer: Buffer) -> tuple[Raw | None, int]:
    if buffer.pod_template:
        item = inventory.items.get(Key("PodTemplate", buffer.namespace, buffer.pod_template))
        return (item.raw.get("template"), 0) if item is not None else (None, 0)
    item = inventory.items.get(Key(buffer.workload_kind, buffer.namespace, buffer.workload))
    if item is None:
        return None, 0
    spec = item.raw.get("spec") or {}
    replicas = spec.get("replicas", spec.get("parallelism", 1))
    return spec.get("template"), 1 if replicas is None else int(replicas)


def _number(buffer: Buffer, template: Raw, replicas: int) -> int:
    """Return how many pods a buffer has: the least of what it says."""
    numbers = [MAX_PODS]
    if buffer.replicas is not None:
        numbers.append(buffer.replicas)
    if buffer.percentage is not None:
        numbers.append(-(-replicas * buffer.percentage // 100))
    view = view_of({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": template["spec"]})
    if buffer.limits and isinstance(view, Pod):
        requests = pod_requests(view.spec)
        for name, limit in buffer.limits.items():
            each = requests.get(name.removeprefix("requests."), 0)
            if each > 0:
                numbers.append(amount(name.removeprefix("requests."), limit) // each)
    return max(min(numbers), 0)


def _copies(spec: Raw, metadata: Raw, namespace: str, name: str, number: int) -> Iterator[Raw]:
    """Yield pods of a spec; another hash keeps controllers from adopting them."""
    own = {key: deepcopy(value) for key, value in spec.items() if key not in _OF_A_NODE}
    labels = {**(metadata.get("labels") or {}), POD_TEMPLATE_HASH: "headroom"}
    for index in range(1, min(number, MAX_PODS) + 1):
        about = {"name": f"{name[:200]}-{index}", "namespace": namespace, "labels": labels}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": own}


def add_headroom(
    world: FitWorld, simulation: Simulation | None, percent: float, buffers: Iterable[Buffer], inventory: Inventory
) -> None:
    """Add the pods for which room is to be kept to a world, and say how many."""
    documents = list(buffer_pods(inventory, buffers, world.notes))
    if percent and simulation is not None:
        documents += headroom_pods(simulation, percent)
    if documents:
        world.add_pods(documents)
        pods = "1 pod" if len(documents) == 1 else f"{len(documents):,} pods"
        world.notes.append(f"room for {pods} more is kept free, which count as pods here")
