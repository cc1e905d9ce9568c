"""Find the few policies or webhooks of many whose rules may match a request.

They are sorted by the resources that their rules name, and what is found for one kind of request is kept for a
`generation` of the world. So thousands of policies about other resources cost a request a look into a dictionary, and
a policy that changes costs the next request little. Selectors, scope, names and exclusions are looked at afterwards,
by `matching`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from moorage.admit.extension.attributes import Attributes, ObjectResource
from moorage.admit.extension.matching.rules import ANY, RequestRule
from moorage.admit.extension.world import ExtensionWorld

Item = TypeVar("Item")
Key = tuple[str, ObjectResource, str]

#: The kinds of requests of which one world keeps what was found; there are hardly more in a cluster.
_MOST_KINDS = 4096


class ItemRules(NamedTuple):
    """The rules of a policy or webhook. `matches_all` if it has none and that means everything, or if it is wrong."""

    rules: tuple[RequestRule, ...]
    is_equivalent: bool
    matches_all: bool = False


class Candidates(Generic[Item]):
    """The items of a world (policies, or webhooks) that may match requests, in their order.

    `resources` gives the resources that the rules of an item name (`*` for all) where that is cheaper than `rules`.
    """

    def __init__(
        self,
        items: Callable[[ExtensionWorld], Sequence[Item]],
        rules: Callable[[Item], ItemRules],
        resources: Callable[[Item], Iterable[str]] | None = None,
    ) -> None:
        self._items, self._rules = items, rules
        self._resources = resources or self._resources_of_rules
        self._indexes: WeakKeyDictionary[ExtensionWorld, _Index[Item]] = WeakKeyDictionary()

    def of(self, attributes: Attributes, world: ExtensionWorld) -> Sequence[Item]:
        """Return the items that may match a request."""
        index, generation = self._indexes.get(world), world.generation
        if index is None or index.generation != generation:
            index = self._indexes[world] = self._index(index, generation, self._items(world))
        key = (attributes.operation, attributes.resource, attributes.subresource)
        found = index.found.get(key)
        if found is None:
            if len(index.found) >= _MOST_KINDS:
                index.found.clear()
            found = index.found[key] = tuple(self._search(index, key, world))
        return found

    def _index(self, before: "_Index[Item] | None", generation: int, items: Sequence[Item]) -> "_Index[Item]":
        if before is not None and before.items is items:  # other versions may be served now
            return before._replace(generation=generation, found={})
        places = {id(item): place for place, item in enumerate(items)}
        known = {} if before is None else before.places
        by_resource = {} if before is None else dict(before.by_resource)
        if before is not None:
            self._change(by_resource, [item for item in before.items if id(item) not in places], is_there=False)
        self._change(by_resource, [item for item in items if id(item) not in known], is_there=True)
        return _Index(generation, items, places, by_resource, {})

    def _change(self, by_resource: dict[str, frozenset[int]], items: Iterable[Item], *, is_there: bool) -> None:
        """Add items to the resources that they name, or take them away."""
        changed: dict[str, set[int]] = {}
        for item in items:
            for name in self._resources(item):
                changed.setdefault(name, set()).add(id(item))
        for name, ids in changed.items():
            before = by_resource.get(name, frozenset())
            by_resource[name] = before | ids if is_there else before - ids

    def _resources_of_rules(self, item: Item) -> Iterable[str]:
        own = self._rules(item)
        return (ANY,) if own.matches_all else {resource for rule in own.rules for resource, _ in rule.resources}

    def _search(self, index: "_Index[Item]", key: Key, world: ExtensionWorld) -> list[Item]:
        operation, resource, subresource = key
        versions = [resource, *(other.resource for other in world.served_versions(resource, subresource))]
        names = {ANY, *(version.resource for version in versions)}
        ids = {each for name in names for each in index.by_resource.get(name, ())}

        def may_match(item: Item) -> bool:
            own = self._rules(item)
            resources = versions if own.is_equivalent else versions[:1]
            return own.matches_all or any(
                rule.may_match(operation, each, subresource) for rule in own.rules for each in resources
            )

        places = sorted(index.places[each] for each in ids)
        return [index.items[place] for place in places if may_match(index.items[place])]


class _Index(NamedTuple, Generic[Item]):
    """Items by the resources that they name, and what was found for requests. It is not changed, but replaced."""

    generation: int
    items: Sequence[Item]
    places: Mapping[int, int]  # by identity of the items, which are kept alive by being in the index
    by_resource: dict[str, frozenset[int]]
    found: dict[Key, tuple[Item, ...]]
