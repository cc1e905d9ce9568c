"""Hold objects that were read and are not in the inventory yet, and those that are taken out of it again."""

from collections.abc import Callable, MutableMapping
from typing import NamedTuple

from moorage.admit.extension.attributes import CREATE
from moorage.admit.raw import Raw
from moorage.lint.policies.offline_extensions import FOLLOWED
from moorage.model.kinds import Kind
from moorage.model.text.documents import Document
from moorage.model.text.positions import Location
from moorage.plan.input.inventory import Item, Key, Place
from moorage.plan.input.registry import InventoryRegistry
from moorage.serve.resources.objects import key_of
from moorage.serve.verbs.registry import at_once

_MADE_ON_CREATION = ("uid", "creationTimestamp", "generation")


class Draft(NamedTuple):
    """An object that was read and is not in the inventory yet. A name that is to be generated is empty."""

    document: Document
    raw: Raw
    kind: Kind
    key: Key
    place: Place
    existing: bool
    #: What a cluster has of an object that was read back as its user wrote it.
    lowered: Raw | None = None


class _NoPositions:
    """Positions of an object that comes from no file."""

    has_aliases = False

    def find(self, steps: tuple[str, ...]) -> Location:
        return Location(0, 0)

    def alias(self, steps: tuple[str, ...]) -> Location | None:
        return None

    def below(self, steps: tuple[str, ...]) -> "_NoPositions":
        return self

    def start(self) -> Callable[[], Location]:
        return lambda: Location(0, 0)

    def detached(self) -> "_NoPositions":
        return self


NO_POSITIONS = _NoPositions()


def taken_back(registry: InventoryRegistry, changed: MutableMapping[Key, Item | None]) -> list[Draft]:
    """Return new objects without a namespace that policies may be about, out of the inventory.

    They were created when they were read, and the policies may stand below them.
    """
    store = registry.store
    if registry.extensions.is_empty:
        return []
    drafts: list[Draft] = []
    for key in [key for key, before in changed.items() if before is None]:
        item = store.items.get(key)
        if item is None or item.existing or item.kind.namespaced or item.kind in FOLLOWED:
            continue
        if registry.admission.is_extended(CREATE, item.kind):
            del changed[key]
            stored = key_of(item.kind, "", key.name)
            at_once(store.delete(stored, store.revision))
            drafts.append(_drafted(item))
    return drafts


def _drafted(item: Item) -> Draft:
    metadata = {name: value for name, value in item.raw["metadata"].items() if name not in _MADE_ON_CREATION}
    raw: Raw = {**item.raw, "metadata": metadata}
    return Draft(Document("", raw, NO_POSITIONS, b"", 0), raw, item.kind, item.key, item.place, False)
