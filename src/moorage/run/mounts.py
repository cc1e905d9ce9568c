"""Check whether a pod's volumes can be mounted. Kubernetes: pkg/kubelet/volumemanager, checkNodeAffinity.

Each claim must be bound, and the volume's node affinity must match by the kubelet's own gates. Differs: nothing is
attached, so nothing else can fail.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from moorage.client.informer import Delta
from moorage.match.node_selector import compile_node_selector
from moorage.match.volumes.claims import claims_of
from moorage.model.gates import GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim
from moorage.model.well_known.finalizers import CLAIM_IN_USE

FAILED_MOUNT, FAILED_MAP = "FailedMount", "FailedMapVolume"


class NotMounted(NamedTuple):
    """Reason and message of the event about a volume that cannot be mounted."""

    reason: str
    message: str


class Mounts:
    """The claims known, by `namespace/name`, and the volumes, by name."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._known: dict[str, Any] = {}

    def changed(self, deltas: Iterable[Delta]) -> None:
        """Take in changes of claims or volumes."""
        for old, new in deltas:
            if new is not None:
                self._known[new.key] = new.view
            elif old is not None:
                self._known.pop(old.key, None)

    def missing(self, pod: Pod, node: Node) -> NotMounted | None:
        """Return why the first volume that cannot be mounted cannot; None if all can."""
        for use in claims_of(pod):
            key = f"{pod.metadata.namespace}/{use.name}"
            claim: PersistentVolumeClaim | None = self._known.get(key)
            why = _unusable(claim, use.name)
            if why is not None or claim is None:
                return _unprocessed(pod, use.name, f"error processing PVC {key}: {why}")
            volume: PersistentVolume | None = self._known.get(claim.spec.volumeName)
            if volume is None:
                name = claim.spec.volumeName
                missing = f"persistentvolumes {go_quote(name)} not found"
                return _unprocessed(pod, use.name, f"failed to fetch PV {name} from API server: {missing}")
            if not self._reaches(volume, node):
                return _out_of_reach(volume)
        return None

    def _reaches(self, volume: PersistentVolume, node: Node) -> bool:
        affinity = volume.spec.nodeAffinity
        if affinity is None or affinity.required is None:
            return True
        return compile_node_selector(affinity.required, self._gates).match(node.metadata.labels, "")


def _unusable(claim: PersistentVolumeClaim | None, name: str) -> str | None:
    if claim is None:
        return f"failed to fetch PVC from API server: persistentvolumeclaims {go_quote(name)} not found"
    if claim.metadata.deletionTimestamp is not None and CLAIM_IN_USE not in claim.metadata.finalizers:
        return "PVC is being deleted"
    if claim.status.phase != "Bound":
        return "PVC is not bound"
    return None if claim.spec.volumeName else "PVC has empty pvc.Spec.VolumeName"


def _unprocessed(pod: Pod, claim: str, why: str) -> NotMounted:
    which = " ".join(
        volume.name
        for volume in pod.spec.volumes
        if (volume.persistentVolumeClaim is not None and volume.persistentVolumeClaim.claimName == claim)
        or (volume.ephemeral is not None and f"{pod.metadata.name}-{volume.name}" == claim)
    )
    text = f"unmounted volumes=[{which}], unattached volumes=[], failed to process volumes=[{which}]: {why}"
    return NotMounted(FAILED_MOUNT, f"Unable to attach or mount volumes: {text}")


def _out_of_reach(volume: PersistentVolume) -> NotMounted:
    is_device = volume.spec.volumeMode == "Block"
    what = "MapVolume" if is_device else "MountVolume"
    failed = f"{what}.NodeAffinity check failed for volume {go_quote(volume.metadata.name)}"
    return NotMounted(FAILED_MAP if is_device else FAILED_MOUNT, f"{failed} : no matching NodeSelectorTerms")
