"""Make the pods for which room is to be kept: a share more of each workload, and those of CapacityBuffers.

Kubernetes: Cluster Autoscaler's CapacityBuffers, whose pods are like those of a PodTemplate or a workload.
"""

from collections.abc import Iterator
from copy import deepcopy

from moorage.admit.raw import Raw
from moorage.capacity.fitting.worlds import FitWorld
from moorage.columns.resources import pod_requests
from moorage.model.kinds import KINDS, view_of
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import POD_TEMPLATE_HASH
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.pod_lines import planned_pods
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.buffers import NoSize, pods_of_buffer
from moorage.pools.node_template import Buffer
from moorage.pools.reading import Pools

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


def buffer_pods(inventory: Inventory, pools: Pools, notes: list[str]) -> Iterator[Raw]:
    """Yield the pods of CapacityBuffers; note those for which no room is kept, and why."""
    for buffer in pools.buffers:
        template, replicas = _template_of(inventory, pools, buffer)
        try:
            if not buffer.is_active:
                raise NoSize(f"its provisioningStrategy is {buffer.strategy}")
            if template is None:
                what = (
                    (buffer.workload_kind, buffer.workload) if buffer.workload else ("PodTemplate", buffer.pod_template)
                )
                raise NoSize(f"{' '.join(what)} is not in the input")
            number = pods_of_buffer(buffer, _requests_of(template), replicas)
        except NoSize as error:
            notes.append(f"{buffer.place}: CapacityBuffer {buffer.name}: no room is kept: {error}")
        else:
            metadata = template.get("metadata") or {}
            yield from _copies(template["spec"], metadata, buffer.namespace, f"buffer-{buffer.name}", number)


def _template_of(inventory: Inventory, pools: Pools, buffer: Buffer) -> tuple[Raw | None, int | None]:
    if buffer.pod_template:
        item = inventory.items.get(Key(KINDS.POD_TEMPLATE.name, buffer.namespace, buffer.pod_template))
        raw = item.raw if item is not None else pools.templates.get(f"{buffer.namespace}/{buffer.pod_template}", {})
        return raw.get("template"), None
    item = inventory.items.get(Key(buffer.workload_kind, buffer.namespace, buffer.workload))
    if item is None:
        return None, None
    spec = item.raw.get("spec") or {}
    replicas = spec.get("replicas", spec.get("parallelism", 1))
    return spec.get("template"), 1 if replicas is None else int(replicas)


def _requests_of(template: Raw) -> dict[str, int]:
    view = view_of({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": template["spec"]})
    return pod_requests(view.spec) if isinstance(view, Pod) else {}


def _copies(spec: Raw, metadata: Raw, namespace: str, name: str, number: int) -> Iterator[Raw]:
    """Yield pods of a spec; another hash keeps controllers from adopting them."""
    own = {key: deepcopy(value) for key, value in spec.items() if key not in _OF_A_NODE}
    labels = {**(metadata.get("labels") or {}), POD_TEMPLATE_HASH: "headroom"}
    for index in range(1, min(number, MAX_PODS) + 1):
        about = {"name": f"{name[:200]}-{index}", "namespace": namespace, "labels": labels}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": own}


def add_headroom(
    world: FitWorld, simulation: Simulation | None, percent: float, pools: Pools, inventory: Inventory
) -> None:
    """Add the pods for which room is to be kept to a world, and say how many."""
    documents = list(buffer_pods(inventory, pools, world.notes))
    if percent and simulation is not None:
        documents += headroom_pods(simulation, percent)
    if documents:
        world.add_pods(documents)
        pods = "1 pod" if len(documents) == 1 else f"{len(documents):,} pods"
        world.notes.append(f"room for {pods} more is kept free, which count as pods here")
