"""A bound claim that asks for more than it has: its volume grows.

In: the claim and its volume. Out: the volume with the size that is asked for, then the claim's status with it; or a
note for whoever else makes volumes larger. Whether a class allows that, and that nothing shrinks, is for the API server
to say. Kubernetes: pkg/controller/volume/expand for the note, the external resizers of CSI for the rest. Differs: a
simulated volume has its new size at once, and no file system waits for a node to make it larger.
"""

from moorage.client.events.event_action import reference_to
from moorage.client.protocol import Object
from moorage.control.framework.actions import NORMAL, Action, Patch, Report, Update
from moorage.control.volumes.provisioning import Provisioner, Provisioning, Saying
from moorage.control.volumes.written import BOUND, CLAIM, VOLUME, changed
from moorage.model.types.storage.persistent_volume import PersistentVolumeClaim

_STORAGE = "storage"
_SOMEBODY_ELSE = Saying(NORMAL, "ExternalExpanding", "waiting for an external controller to expand this PVC")


def expand(claim: Object, volume: Object, provisioner: Provisioner) -> Provisioning:
    """The volume before the claim, so that a crash in between leaves a claim that asks again."""
    view: PersistentVolumeClaim = claim.view
    wanted, has = view.spec.resources.requests.get(_STORAGE), view.status.capacity.get(_STORAGE)
    if view.status.phase != BOUND or wanted is None or has is None or not has < wanted:
        return Provisioning()
    if not provisioner.deletes(volume.view):
        return Provisioning(says=_SOMEBODY_ELSE)
    about, actions = reference_to(claim), list[Action]()
    size = volume.view.spec.capacity.get(_STORAGE)
    if size is None or size < wanted:
        size = wanted
        spec = volume.raw["spec"]
        grown = {**spec, "capacity": {**(spec.get("capacity") or {}), _STORAGE: str(wanted)}}
        actions.append(Report(about, NORMAL, "Resizing", f"External resizer is resizing volume {volume.name}"))
        actions.append(Update(VOLUME, changed(volume, spec=grown)))
    patch = {"metadata": {"uid": claim.uid}, "status": {"capacity": {_STORAGE: str(size)}}}
    actions.append(Patch(CLAIM, claim.namespace, claim.name, patch, subresource="status"))
    actions.append(Report(about, NORMAL, "VolumeResizeSuccessful", "Resize volume succeeded"))
    return Provisioning(tuple(actions))
