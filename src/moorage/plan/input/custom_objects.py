"""Create the custom objects of the input as the API server does, by the definitions that the inventory has.

No pod depends on them, so they are kept apart from the objects that are planned: later ones update them, and quotas
count them. Kubernetes: apiextensions-apiserver.
"""

from collections.abc import Container, Mapping
from copy import copy
from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.custom.structural import SchemaTooDeepError
from moorage.model.kinds import Kind
from moorage.plan.input.inventory import Inventory
from moorage.plan.input.registry import InventoryRegistry, InventoryStore
from moorage.serve.custom.conditions import next_status
from moorage.serve.custom.served_kind import ServedKind, served_kinds
from moorage.serve.resources.objects import prefix_of

#: By group and kind, then by API version: the versions that are served.
Defined = dict[tuple[str, str], dict[str, ServedKind]]


def defined_kinds(inventory: Inventory, wanted: Container[tuple[str, str]]) -> Defined:
    """Return the wanted kinds that an inventory defines; of two definitions with the same names, the first has them."""
    defined: Defined = {}
    accepted: dict[str, list[dict[str, Any]]] = {}
    for item in inventory.of_kind("CustomResourceDefinition"):
        spec = item.raw["spec"]
        others = accepted.setdefault(spec["group"], [])
        status = next_status(item.raw, others, "")
        others.append(status["acceptedNames"])
        group_kind = spec["group"], spec["names"]["kind"]
        if group_kind in wanted:
            versions = served_kinds({**item.raw, "status": status}, msgspec.json.encode(item.raw), 0)
            known = defined.setdefault(group_kind, {})
            known |= {kind.api_version: kind for kind in versions if _has_schema(kind)}
    return defined


def _has_schema(kind: ServedKind) -> bool:
    """Compile the schema; one that exists already may be deeper than what is admitted here."""
    try:
        _ = kind.schema
    except SchemaTooDeepError:
        return False
    return True


class CustomStore(InventoryStore):
    """The custom objects of an inventory as a store."""

    def __init__(self, inventory: Inventory, registry: InventoryRegistry, defined: Defined) -> None:
        super().__init__(inventory, registry.directory, registry.extensions)
        self.items = inventory.custom
        kinds = (kind for versions in defined.values() for kind in versions.values())
        self._kinds: Mapping[str, Kind] = {prefix_of(kind): kind for kind in kinds}

    def place_of(self, key: str) -> tuple[Kind, str]:
        group, plural, name = key[1:].split("/", 2)
        return self._kinds[f"/{group}/{plural}/"], name

    def _announce(self, kind: Kind, view: Any, raw: Raw) -> None:
        """Nothing is admitted by custom objects."""


def registry_of_custom(inventory: Inventory, registry: InventoryRegistry, defined: Defined) -> InventoryRegistry:
    """Return a registry with the admission chain and the quotas of another, which stores custom objects."""
    custom = copy(registry)
    custom.store = CustomStore(inventory, registry, defined)
    return custom
