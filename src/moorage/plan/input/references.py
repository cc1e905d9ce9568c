"""Note references to claims, volumes and classes that are not in the input.

Pods that need a missing object are Pending, with the reason a cluster would give. One note is enough where the input
has no claims at all: it comes from a `kubectl get` that did not ask for them.
"""

from collections.abc import Iterator

from moorage.lint.finding import Severity
from moorage.match.devices.claims import class_names
from moorage.match.volumes.claims import claim_class
from moorage.model.kinds import KINDS
from moorage.model.types.pod import PodSpec
from moorage.plan.input.inventory import NOWHERE, Inventory, Item, Key, Note, note_at
from moorage.plan.simulation.simulation import Simulation

_WITH_TEMPLATE = ("Deployment", "ReplicaSet", "ReplicationController", "DaemonSet", "Job", "StatefulSet")
_CLAIM = "PersistentVolumeClaim"

_DELAYED = "WaitForFirstConsumer"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def note_dangling(inventory: Inventory) -> None:
    _note_claims_of_pods(inventory)
    _note_devices(inventory)
    for item in list(inventory.of_kind(_CLAIM)):
        _note_volume_of_claim(inventory, item)
    for item in inventory.of_kind("CronJob"):
        text = f"is not expanded: it makes Jobs by its schedule ({item.view.spec.schedule})"
        inventory.note(Severity.INFO, item.key, text, item.place)


def _note_claims_of_pods(inventory: Inventory) -> None:
    missing: dict[Key, Item] = {}
    for item in inventory.of_kind("Pod", *_WITH_TEMPLATE):
        spec = item.view.spec if item.key.kind == "Pod" else item.view.spec.template.spec
        for claim in _claims(spec):
            key = Key(_CLAIM, item.key.namespace, claim)
            if key not in inventory.items:
                missing.setdefault(key, item)
    if missing and not inventory.is_live and not any(True for _ in inventory.of_kind(_CLAIM)):
        first = next(iter(missing.values()))
        names = f"{len(missing)} claims are" if len(missing) > 1 else f"claim {next(iter(missing)).name} is"
        text = f"{names} used, but the input has no PersistentVolumeClaims: kubectl get pvc,pv,sc -A prints them"
        inventory.note(Severity.WARNING, first.key, text, first.place)
        return
    for key, item in missing.items():
        inventory.note(
            Severity.WARNING, item.key, f"uses claim {key.name}, which is not in the {inventory.whole}", item.place
        )


def _note_devices(inventory: Inventory) -> None:
    """Note claims and templates of devices that pods name, and classes that those name."""
    missing: dict[Key, Item] = {}
    for item in inventory.of_kind("Pod", *_WITH_TEMPLATE):
        spec = item.view.spec if item.key.kind == "Pod" else item.view.spec.template.spec
        for entry in spec.resourceClaims:
            if entry.resourceClaimName is not None:
                key = Key("ResourceClaim", item.key.namespace, entry.resourceClaimName)
            elif entry.resourceClaimTemplateName is not None and not getattr(item.view.spec, "nodeName", ""):
                key = Key("ResourceClaimTemplate", item.key.namespace, entry.resourceClaimTemplateName)
            else:
                continue
            if key not in inventory.items:
                missing.setdefault(key, item)
    for key, item in missing.items():
        inventory.note(
            Severity.WARNING, item.key, f"uses {key.kind} {key.name}, which is not in the {inventory.whole}", item.place
        )
    for item in list(inventory.of_kind("ResourceClaim", "ResourceClaimTemplate")):
        is_claim = item.key.kind == "ResourceClaim"
        if is_claim and item.view.status.allocation is not None:
            continue
        spec = item.view.spec if is_claim else item.view.spec.spec
        for name in dict.fromkeys(class_names(spec)):
            if name and Key("DeviceClass", "", name) not in inventory.items:
                text = f"names DeviceClass {name}, which is not in the {inventory.whole}"
                inventory.note(Severity.WARNING, item.key, text, item.place)


def _claims(spec: PodSpec) -> list[str]:
    return [v.persistentVolumeClaim.claimName for v in spec.volumes if v.persistentVolumeClaim is not None]


def _note_volume_of_claim(inventory: Inventory, item: Item) -> None:
    spec = item.view.spec
    if spec.volumeName:
        if Key("PersistentVolume", "", spec.volumeName) not in inventory.items:
            text = f"is bound to volume {spec.volumeName}, which is not in the {inventory.whole}"
            inventory.note(Severity.WARNING, item.key, text, item.place)
        return
    name = spec.storageClassName
    if name and Key("StorageClass", "", name) not in inventory.items:
        text = f"names StorageClass {name}, which is not in the {inventory.whole}"
        inventory.note(Severity.WARNING, item.key, text, item.place)


def unbound_claims(simulation: Simulation, inventory: Inventory) -> Iterator[Note]:
    """Return a note for every claim that nothing can bind before a pod uses it."""
    for found in simulation.world.all(KINDS.PERSISTENT_VOLUME_CLAIM):
        claim = found.view
        if claim.status.phase != "Pending" or claim.spec.volumeName or claim.metadata.deletionTimestamp is not None:
            continue
        name = claim_class(claim)
        storage_class = simulation.world.view(KINDS.STORAGE_CLASS, name) if name else None
        if storage_class.volumeBindingMode == _DELAYED if storage_class is not None else bool(name):
            continue
        key = Key(_CLAIM, found.namespace, found.name)
        place = inventory.items[key].place if key in inventory.items else NOWHERE
        yield note_at(
            Severity.WARNING, str(key), f"is not bound, and no volume in the {inventory.whole} fits it", place
        )
