"""Whose pod is this? Pods of a cluster → the workloads of the input that control them.

In: the workloads there are, and a pod's metadata. Out: the key of its controller. A Deployment's pods belong to
ReplicaSets, which `kubectl get deploy,pods` does not print: then the name, which is the Deployment's followed by the
pod's template hash, tells.
"""

from collections.abc import Mapping

from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.types.meta import ObjectMeta, OwnerReference
from moorage.plan.input.inventory import Inventory, Item, Key
from moorage.plan.input.notes import Level

POD_TEMPLATE_HASH = "pod-template-hash"
WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")


def controller_reference(metadata: ObjectMeta) -> OwnerReference | None:
    return next((owner for owner in metadata.ownerReferences if owner.controller), None)


class Owners:
    """Finds controllers. A ReplicaSet that a Deployment of the input owns is the Deployment's business."""

    def __init__(self, inventory: Inventory) -> None:
        self._items: Mapping[Key, Item] = inventory.items
        self._orphan_keepers: list[Item] | None = None
        _note_cycles(inventory)

    def of_pod(self, metadata: ObjectMeta) -> Key | None:
        """The controller's key, whether it is in the input or not; None for a pod that nobody would make anew."""
        owner = controller_reference(metadata)
        if owner is None:
            return self._adopter(metadata)
        key = Key(owner.kind, metadata.namespace, owner.name)
        if key in self._items:
            return self.above(self._items[key]) or key
        if owner.kind == "ReplicaSet":
            suffix = f"-{metadata.labels.get(POD_TEMPLATE_HASH, '')}"
            deployment = Key("Deployment", metadata.namespace, owner.name.removesuffix(suffix))
            if owner.name.endswith(suffix) and deployment in self._items:
                return deployment
        return key

    def above(self, item: Item) -> Key | None:
        """The Deployment that controls a ReplicaSet, if it is in the input."""
        owner = controller_reference(item.view.metadata)
        if owner is None or owner.kind != "Deployment" or item.key.kind != "ReplicaSet":
            return None
        key = Key("Deployment", item.key.namespace, owner.name)
        return key if key in self._items else None

    def _adopter(self, metadata: ObjectMeta) -> Key | None:
        """A ReplicaSet adopts pods that its selector matches and nobody controls."""
        if self._orphan_keepers is None:
            self._orphan_keepers = [item for item in self._items.values() if item.key.kind == "ReplicaSet"]
        for item in self._orphan_keepers:
            if item.key.namespace == metadata.namespace and _selects(item, metadata.labels):
                return self.above(item) or item.key
        return None


def _selects(item: Item, labels: Mapping[str, str]) -> bool:
    try:
        return compile_label_selector(item.view.spec.selector).match(labels)
    except SelectorError:
        return False


def _note_cycles(inventory: Inventory) -> None:
    """Objects that own themselves by way of others: nobody follows them, but somebody should know."""
    seen: set[Key] = set()
    for start in inventory.items:
        path: list[Key] = []
        key: Key | None = start
        while key is not None and key in inventory.items and key not in seen:
            seen.add(key)
            path.append(key)
            owner = controller_reference(inventory.items[key].view.metadata)
            key = Key(owner.kind, key.namespace, owner.name) if owner is not None else None
        if key in path:
            cycle = " → ".join(map(str, [*path[path.index(key) :], key]))
            inventory.note(Level.WARNING, key, f"owns itself: {cycle}", inventory.items[key].place)
