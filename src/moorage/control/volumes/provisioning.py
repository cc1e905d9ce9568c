"""Provision volumes for claims, and expand them. Kubernetes: provisionClaim, pkg/controller/volume/expand.

Classes with the provisioner `moorage.dev/simulated` are served here: such a volume is an object only. With
`all_provisioners` all others are simulated too, so that manifests for real clusters work. A volume made for a node is
reachable where allowedTopologies and the node's labels agree, or else from the node's zone; one without a node from all
allowed topologies. Claims with a selector get no volume: a new one has no labels. Differs: provisioning and expansion
take no time.
"""

from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Create, Raw, Report, Update, note, patch_status, warn
from moorage.control.framework.workloads import nonempty
from moorage.control.framework.world import World
from moorage.control.volumes.written import BOUND, changed
from moorage.match.volumes.claims import SELECTED_NODE, claim_class
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.text.patterns import whole
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim, StorageClass, TopologySelectorTerm
from moorage.model.well_known.annotations import BOUND_BY_CONTROLLER
from moorage.model.well_known.labels import ZONE

SIMULATED = "moorage.dev/simulated"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONING_FAILED, EXTERNAL_PROVISIONING = "ProvisioningFailed", "ExternalProvisioning"
_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_OLD_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
_IN_TREE, _NO_PROVISIONER = "kubernetes.io/", "kubernetes.io/no-provisioner"
_STORAGE = "storage"
_DRIVER = "simulated.moorage.dev"
_is_driver_name = whole(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_DRIVER_NAME_LENGTH = 63


class Provisioning(NamedTuple):
    """Actions for a claim, and the event to report, if any, once until another follows."""

    actions: tuple[Action, ...] = ()
    says: Report | None = None


class Provisioner:
    """Creates volumes for claims."""

    def __init__(self, all_provisioners: bool) -> None:
        self._all = all_provisioners

    def is_ours(self, provisioner: str) -> bool:
        """Return whether volumes of this provisioner are created and deleted here."""
        return provisioner == SIMULATED or (self._all and provisioner != _NO_PROVISIONER)

    def deletes(self, volume: PersistentVolume) -> bool:
        """Return whether no other component has to delete the storage of a volume first."""
        return self._all or self.is_ours(volume.metadata.annotations.get(PROVISIONED_BY, ""))

    def provision(self, claim: Object, world: World) -> Provisioning:
        """Provision a volume for a claim with a class and no matching volume."""
        name = claim_class(claim.view)
        storage_class: StorageClass | None = world.view(KINDS.STORAGE_CLASS, name)
        if storage_class is None:
            return _failed(claim, f"storageclass.storage.k8s.io {go_quote(name)} not found")
        provisioner = storage_class.provisioner
        if self.is_ours(provisioner):
            return self._simulate(claim, storage_class, world)
        if provisioner.startswith(_IN_TREE):
            return _failed(claim, f"no volume plugin matched name: {provisioner}")
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        return Provisioning(_tell(claim, provisioner), note(claim, EXTERNAL_PROVISIONING, text))

    def _simulate(self, claim: Object, storage_class: StorageClass, world: World) -> Provisioning:
        name = f"pvc-{claim.uid}"
        if world.get(KINDS.PERSISTENT_VOLUME, name) is not None:
            return Provisioning()
        which = f"Failed to provision volume with StorageClass {go_quote(storage_class.metadata.name)}"
        if claim.view.spec.selector is not None:
            return _failed(claim, f"{which}: claim Selector is not supported")
        labels: dict[str, str] | None = None
        node = claim.view.metadata.annotations.get(SELECTED_NODE)
        if node is not None:
            found = world.get(KINDS.NODE, node)
            if found is None:
                return _elsewhere(claim, f"Failed to get target node: node {go_quote(node)} not found")
            labels = found.view.metadata.labels
        terms = _reach(storage_class, labels)
        if terms is None:
            text = f"no allowed topology has node {go_quote(node or '')}"
            return _elsewhere(claim, f"{which}: {text}")
        document = _volume(name, claim, storage_class, terms)
        text = f"Successfully provisioned volume {name} using {storage_class.provisioner}"
        made = Create(KINDS.PERSISTENT_VOLUME, document, report=note(claim, "ProvisioningSucceeded", text))
        return Provisioning((*_tell(claim, storage_class.provisioner), made))


def _failed(claim: Object, message: str) -> Provisioning:
    return Provisioning(says=warn(claim, PROVISIONING_FAILED, message))


def _elsewhere(claim: Object, message: str) -> Provisioning:
    """Unset the selected node, so that the scheduler chooses another."""
    annotations = {key: value for key, value in claim.view.metadata.annotations.items() if key != SELECTED_NODE}
    update = Update(KINDS.PERSISTENT_VOLUME_CLAIM, changed(claim, annotations=annotations))
    return Provisioning((update, warn(claim, PROVISIONING_FAILED, message)))


def _tell(claim: Object, provisioner: str) -> tuple[Action, ...]:
    """Name the provisioner in the claim's annotations."""
    annotations = claim.view.metadata.annotations
    if annotations.get(_PROVISIONER) == annotations.get(_OLD_PROVISIONER) == provisioner:
        return ()
    told = {**annotations, _OLD_PROVISIONER: provisioner, _PROVISIONER: provisioner}
    return (Update(KINDS.PERSISTENT_VOLUME_CLAIM, changed(claim, annotations=told)),)


def _reach(storage_class: StorageClass, labels: dict[str, str] | None) -> list[Raw] | None:
    """Return node selector terms from which the volume is reachable: empty for everywhere, None for nowhere."""
    allowed = storage_class.allowedTopologies
    if labels is None:
        return [
            _term({requirement.key: list(requirement.values) for requirement in term.matchLabelExpressions})
            for term in allowed
        ]
    if not allowed:
        return [_term({ZONE: [labels[ZONE]]})] if ZONE in labels else []
    for term in allowed:
        if _has(term, labels):
            return [_term({requirement.key: [labels[requirement.key]] for requirement in term.matchLabelExpressions})]
    return None


def _has(term: TopologySelectorTerm, labels: dict[str, str]) -> bool:
    return all(labels.get(requirement.key) in requirement.values for requirement in term.matchLabelExpressions)


def _term(values: dict[str, list[str]]) -> Raw:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": some} for key, some in values.items()]}


def _volume(name: str, claim: Object, storage_class: StorageClass, terms: list[Raw]) -> Raw:
    view: PersistentVolumeClaim = claim.view
    asked, provisioner = claim.raw["spec"], storage_class.provisioner
    spec = {
        "accessModes": asked.get("accessModes") or [],
        "capacity": {_STORAGE: ((asked.get("resources") or {}).get("requests") or {}).get(_STORAGE, "0")},
        "claimRef": claim.reference,
        "csi": {"driver": _driver(provisioner), "volumeHandle": name},
        "persistentVolumeReclaimPolicy": storage_class.reclaimPolicy or "Delete",
        "storageClassName": claim_class(view),
        **nonempty(
            volumeMode=view.spec.volumeMode,
            volumeAttributesClassName=view.spec.volumeAttributesClassName,
            mountOptions=list(storage_class.mountOptions),
            nodeAffinity={"required": {"nodeSelectorTerms": terms}} if terms else None,
        ),
    }
    annotations = {BOUND_BY_CONTROLLER: "yes", PROVISIONED_BY: provisioner}
    metadata = {"name": name, "annotations": annotations}
    return {
        "apiVersion": KINDS.PERSISTENT_VOLUME.api_version,
        "kind": KINDS.PERSISTENT_VOLUME.name,
        "metadata": metadata,
        "spec": spec,
    }


def _driver(provisioner: str) -> str:
    """Return the CSI driver named after the provisioner; our own if that is not a valid name."""
    is_name = len(provisioner) <= _MAX_DRIVER_NAME_LENGTH and _is_driver_name(provisioner)
    return provisioner if is_name else _DRIVER


def expand(claim: Object, volume: Object, provisioner: Provisioner) -> Provisioning:
    """Resize the volume, then the claim's status, so that a crash in between repeats the resize."""
    view: PersistentVolumeClaim = claim.view
    wanted, has = view.spec.resources.requests.get(_STORAGE), view.status.capacity.get(_STORAGE)
    if view.status.phase != BOUND or wanted is None or has is None or not has < wanted:
        return Provisioning()
    if not provisioner.deletes(volume.view):
        text = "waiting for an external controller to expand this PVC"
        return Provisioning(says=note(claim, "ExternalExpanding", text))
    actions: list[Action] = []
    size = volume.view.spec.capacity.get(_STORAGE)
    if size is None or size < wanted:
        size = wanted
        spec = volume.raw["spec"]
        grown = {**spec, "capacity": {**(spec.get("capacity") or {}), _STORAGE: str(wanted)}}
        actions.append(note(claim, "Resizing", f"External resizer is resizing volume {volume.name}"))
        actions.append(Update(KINDS.PERSISTENT_VOLUME, changed(volume, spec=grown)))
    resized = patch_status(claim, {"capacity": {_STORAGE: str(size)}})
    return Provisioning((*actions, resized, note(claim, "VolumeResizeSuccessful", "Resize volume succeeded")))
