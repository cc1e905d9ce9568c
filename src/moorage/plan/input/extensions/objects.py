"""Look up what policies of the input need among its objects. Kubernetes: the API server's informers."""

from collections.abc import Iterable, Mapping

from moorage.admit.raw import Raw
from moorage.lint.policies.offline_extensions import FOLLOWED, OfflineExtensions
from moorage.model.kinds import CustomKind, Kind
from moorage.plan.input.extensions.attached import AttachedExtensions
from moorage.plan.input.inventory import Inventory, Item, Key, key_in_inventory


class UnplannedDocuments:
    """The objects of an inventory that are not simulated: custom objects, ConfigMaps and so on."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def find(self, kind: Kind, namespace: str, name: str) -> Raw | None:
        inventory = self._inventory
        if not isinstance(kind, CustomKind):
            return inventory.parameters.find(kind, namespace, name)
        item = inventory.custom.get(key_in_inventory(kind, namespace, name))
        return None if item is None else _document(item)

    def all_of(self, kind: Kind, namespace: str) -> Iterable[Raw]:
        inventory = self._inventory
        if not isinstance(kind, CustomKind):
            return inventory.parameters.all_of(kind, namespace)
        return _of_kind(inventory.custom, kind, namespace)


class InventoryDocuments(UnplannedDocuments):
    """The objects of an inventory, and those that are about to be created in it. Implements `Documents`."""

    def find(self, kind: Kind, namespace: str, name: str) -> Raw | None:
        item = self._inventory.items.get(key_in_inventory(kind, namespace, name))
        found = super().find(kind, namespace, name) if item is None else _document(item)
        return self._inventory.awaited.find(kind, namespace, name) if found is None else found

    def all_of(self, kind: Kind, namespace: str) -> Iterable[Raw]:
        here = (*_of_kind(self._inventory.items, kind, namespace), *super().all_of(kind, namespace))
        names = {raw["metadata"]["name"] for raw in here}
        awaited = self._inventory.awaited.all_of(kind, namespace)
        return (*here, *(raw for raw in awaited if raw["metadata"]["name"] not in names))


def _of_kind(items: Mapping[Key, Item], kind: Kind, namespace: str) -> list[Raw]:
    word, place, _ = key_in_inventory(kind, namespace, "")
    return [_document(item) for key, item in items.items() if (key.kind, key.namespace) == (word, place)]


def _document(item: Item) -> Raw:
    """Return the document of an object with its kind, which objects of a simulation do not name."""
    raw = item.raw
    return raw if "kind" in raw else {**raw, "apiVersion": item.kind.api_version, "kind": item.kind.name}


def extensions_of(inventory: Inventory) -> OfflineExtensions:
    """Return the policies and webhooks of an inventory, with what they look up in it."""
    extensions = AttachedExtensions(inventory.gates, InventoryDocuments(inventory), inventory.has_all)
    for item in inventory.items.values():
        if item.kind in FOLLOWED:
            extensions.learn(item.kind, item.view, item.raw)
    return extensions
