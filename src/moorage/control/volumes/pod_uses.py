"""Index of pods by the claims they use. Kubernetes: pkg/controller/volume/common."""

from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.match.volumes.claims import claims_of
from moorage.model.types.pod import Pod
from moorage.model.types.storage import PersistentVolumeClaim


class PodUses:
    """Pods by claim, including the claims of ephemeral volumes."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Object]] = {}

    def changed(self, old: Object | None, new: Object | None) -> list[str]:
        """Record a pod and return the keys of its claims, before and now."""
        before = claim_keys(old) if old is not None else []
        after = claim_keys(new) if new is not None else []
        if not before and not after:
            return []
        for key in before:
            pods = self._pods.get(key, {})
            if old is not None:
                pods.pop(old.key, None)
            if not pods:
                self._pods.pop(key, None)
        if new is not None:
            for key in after:
                self._pods.setdefault(key, {})[new.key] = new
        return list(dict.fromkeys((*before, *after)))

    def of(self, claim: str) -> list[Object]:
        return list(self._pods.get(claim, {}).values())


def claim_keys(found: Object) -> list[str]:
    pod: Pod = found.view
    return [f"{found.namespace}/{use.name}" for use in claims_of(pod)] if pod.spec.volumes else []


def is_over(pod: Pod) -> bool:
    """Return whether the pod's containers have stopped for good or will never start."""
    if pod.status.phase in ("Succeeded", "Failed"):
        return True
    statuses = (*pod.status.initContainerStatuses, *pod.status.containerStatuses)
    return pod.metadata.deletionTimestamp is not None and all(
        status.state is not None and (status.state.terminated or status.state.waiting) for status in statuses
    )


def keeps(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Return whether a pod with a node uses the claim. A pod without one cannot get one any more."""
    if not pod.spec.nodeName:
        return False
    owner = controller_of(claim.metadata)
    for use in claims_of(pod):
        if use.name == claim.metadata.name and (
            not use.ephemeral or (owner is not None and owner.uid == pod.metadata.uid and not _is_shut_down(pod))
        ):
            return True
    return False


def _is_shut_down(pod: Pod) -> bool:
    """Return whether the kubelet has finished with the pod, or it was force deleted."""
    return pod.metadata.deletionTimestamp is not None and pod.metadata.deletionGracePeriodSeconds == 0
