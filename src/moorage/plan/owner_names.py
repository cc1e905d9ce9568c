"""Name the workloads of pods: what stands in a plan for the pod's controller, or for the Deployment above it."""

from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.plan.input.inventory import Key
from moorage.plan.simulation.simulation import Simulation


class OwnerNames:
    """What the workloads of pods are called, at one moment: once for all pods that share their references."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._known: dict[tuple[str, str], str] = {}

    def of(self, pod: Object) -> str:
        """Return the kind, namespace and name of a pod's workload; empty if it has none."""
        metadata = pod.view.metadata
        reference = controller_of(metadata)
        if reference is None:
            return ""
        key = metadata.namespace, reference.uid
        if (found := self._known.get(key)) is None:
            owner = self._simulation.owner_of(pod)
            found = self._known[key] = str(Key(*owner)) if owner is not None else ""
        return found
