"""`kubectl drain`, played: cordon, evict, try again every five seconds what a disruption budget refuses.

The drain is that of `kubectl drain --ignore-daemonsets --delete-emptydir-data --force`; `complaints` says which pods
kubectl refuses to touch without the last two. Nodes are cordoned first and then drained one after the other. A drain
that waits for a budget while nothing else happens is given up. Kubernetes: k8s.io/kubectl/pkg/drain.
"""

from collections.abc import Iterator, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.model.well_known.annotations import MIRROR_POD
from moorage.plan.simulation.simulation import Simulation

DRAIN = "drain"
_RETRY_SECONDS = 5.0
_MAX_FUTILE_TRIES = 12
_MAX_TRIES = 10_000


def cordon(simulation: Simulation, node: str) -> None:
    """Mark a node as unschedulable. Raises ApiError."""
    simulation.api.patch(KINDS.NODE, node, "", {"spec": {"unschedulable": True}})


def uncordon(simulation: Simulation, node: str) -> None:
    """Mark a node as schedulable again. Raises ApiError."""
    simulation.api.patch(KINDS.NODE, node, "", {"spec": {"unschedulable": None}})


def drain(simulation: Simulation, nodes: Sequence[str]) -> list[tuple[str, str]]:
    """Drain nodes. Return the pods that could not be evicted, each with the reason. Raises ApiError."""
    for name in nodes:
        cordon(simulation, name)
    simulation.work()
    return [blocked for name in nodes for blocked in _drain_one(simulation, name)]


def complaints(simulation: Simulation, node: str) -> Iterator[tuple[str, str]]:
    """Return the pods for whose sake kubectl refuses to drain a node without further flags, each with the flag."""
    for found in _to_evict(simulation, node):
        pod: Pod = found.view
        if pod.status.phase in FINISHED_PHASES:
            continue
        if controller_of(pod.metadata) is None:
            yield found.key, "--force: no controller makes it anew"
        if any("emptyDir" in volume for volume in found.raw["spec"].get("volumes") or ()):
            yield found.key, "--delete-emptydir-data: it has an emptyDir volume, which is lost"


def _to_evict(simulation: Simulation, node: str) -> list[Object]:
    pods = sorted(simulation.world.pods_on(node), key=lambda pod: simulation.order[pod.uid])
    return [pod for pod in pods if not stays(pod.view)]


def stays(pod: Pod) -> bool:
    """Return whether kubectl leaves the pod alone: DaemonSets make theirs anew at once, kubelets their mirror pods."""
    owner = controller_of(pod.metadata)
    return MIRROR_POD in pod.metadata.annotations or (owner is not None and owner.kind == "DaemonSet")


def _drain_one(simulation: Simulation, name: str) -> list[tuple[str, str]]:
    left = {pod.uid: pod.key for pod in _to_evict(simulation, name)}
    refused: dict[str, str] = {}
    futile = 0
    for _ in range(_MAX_TRIES):
        refused = {}
        for uid, key in list(left.items()):
            found = simulation.world.get(KINDS.POD, key)
            if found is None or found.uid != uid:
                del left[uid]
            elif found.view.metadata.deletionTimestamp is None:
                refused |= _evict(simulation, found)
            simulation.work()
        happened = simulation.run_until(simulation.clock.now + (_RETRY_SECONDS if refused else 0.0))
        if not left or simulation.stopped:
            break
        if not refused and not happened:
            happened = simulation.run_until(simulation.clock.now + _RETRY_SECONDS)
        futile = 0 if happened else futile + 1
        if futile > _MAX_FUTILE_TRIES:
            break
    return [
        (key, f"the drain of {name} waits: {why}")
        for key, why in refused.items()
        if simulation.world.get(KINDS.POD, key)
    ]


def _evict(simulation: Simulation, pod: Object) -> dict[str, str]:
    api = simulation.api
    api.actor = DRAIN
    try:
        api.evict(pod.namespace, pod.name)
    except ApiError as error:
        return {} if error.code == 404 else {pod.key: error.message}
    finally:
        api.actor = ""
    return {}
