"""The caches of all informers, with their indexes. Kubernetes: listers and indexers."""

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.framework.pod_tally import (
    Tally,
    controller_of,
    facts_for_budgets,
    facts_for_owner,
    is_counted_alike,
)
from moorage.match.label_selector import as_label_selector
from moorage.model.kinds import KINDS, CustomKind, Kind
from moorage.model.types.meta import LabelSelector

__all__ = ["World", "controller_of", "telling_label"]

#: An ordered set.
_Keys = dict[str, None]


class World:
    """Objects by key, controlling owner, namespace, label and node. Objects are shared: never change them."""

    def __init__(self) -> None:
        #: The kinds that custom resource definitions add, by group and name.
        self.custom_kinds: dict[tuple[str, str], CustomKind] = {}
        self._objects: dict[Kind, dict[str, Object]] = {}
        self._by_owner: dict[tuple[Kind, str], _Keys] = {}
        self._by_namespace: dict[tuple[Kind, str], _Keys] = {}
        self._orphans: dict[tuple[Kind, str], _Keys] = {}
        self._orphans_by_label: dict[tuple[Kind, str, str, str], _Keys] = {}
        self._by_selector: dict[tuple[Kind, str, str, str], _Keys] = {}
        self._pods_by_node: dict[str, _Keys] = {}
        #: Pods by namespace and label, only for the labels that the selectors of Services tell.
        self._pods_by_label: dict[tuple[str, str, str], _Keys] = {}
        #: By the UID of an owner and by namespace, of those that were asked for and have pods.
        self._tallies_of_owners: dict[str, Tally] = {}
        self._tallies_of_namespaces: dict[str, Tally] = {}

    def get(self, kind: Kind, key: str) -> Object | None:
        """Return an object by `namespace/name`, or by name for cluster-scoped kinds."""
        objects = self._objects.get(kind)
        return None if objects is None else objects.get(key)

    def view(self, kind: Kind, key: str) -> Any:
        found = self.get(kind, key)
        return None if found is None else found.view

    def all(self, kind: Kind) -> Iterator[Object]:
        return iter(list(self._objects.get(kind, {}).values()))

    def count(self, kind: Kind) -> int:
        return len(self._objects.get(kind, {}))

    def owned(self, kind: Kind, uid: str) -> list[Object]:
        """Return the objects of a kind whose controller has this UID."""
        return self._found(kind, self._by_owner.get((kind, uid)))

    def first_owned(self, kind: Kind, uid: str) -> Iterator[Object]:
        """Yield the same objects, one at a time."""
        objects = self._objects.get(kind, {})
        return (objects[key] for key in self._by_owner.get((kind, uid), ()))

    def tally_of_owner(self, uid: str) -> Tally:
        """Return how many pods of an owner have which facts. It is kept from now on: do not change it."""
        tally = self._tallies_of_owners.get(uid)
        if tally is None:
            tally = Tally(facts_for_owner, (pod.view for pod in self.owned(KINDS.POD, uid)))
            if tally:
                self._tallies_of_owners[uid] = tally
        return tally

    def tally_of_namespace(self, namespace: str) -> Tally:
        """Return how many pods of a namespace have which facts that matter to budgets, kept likewise."""
        tally = self._tallies_of_namespaces.get(namespace)
        if tally is None:
            tally = Tally(facts_for_budgets, (pod.view for pod in self.in_namespace(KINDS.POD, namespace)))
            if tally:
                self._tallies_of_namespaces[namespace] = tally
        return tally

    def _tally(self, known: Object | None, new: Object | None) -> None:
        """Count a pod as it is now and no longer as it was known here."""
        if known is not None and new is not None and is_counted_alike(known.view, new.view):
            return
        for found, by in ((known, -1), (new, 1)):
            if found is None:
                continue
            metadata = found.view.metadata
            owner = controller_of(metadata)
            if owner is not None and (tally := self._tallies_of_owners.get(owner.uid)) is not None:
                tally.count(found.view, by)
                if not tally:
                    del self._tallies_of_owners[owner.uid]
            if (tally := self._tallies_of_namespaces.get(metadata.namespace)) is not None:
                tally.count(found.view, by)
                if not tally:
                    del self._tallies_of_namespaces[metadata.namespace]

    def orphans(self, kind: Kind, namespace: str) -> list[Object]:
        return self._found(kind, self._orphans.get((kind, namespace)))

    def orphans_for(self, kind: Kind, namespace: str, selector: LabelSelector | None) -> list[Object]:
        """Return the orphans that a selector may match, by its most selective label."""
        telling = telling_label(selector)
        if telling == ("", ""):
            return self.orphans(kind, namespace)
        return self._found(kind, self._orphans_by_label.get((kind, namespace, *telling)))

    def selecting(self, kind: Kind, namespace: str, labels: Mapping[str, str]) -> list[Object]:
        """Return the workloads or Services in a namespace whose selector may match these labels."""
        index = self._by_selector
        found = self._found(kind, index.get((kind, namespace, "", "")))
        for label in labels.items():
            found += self._found(kind, index.get((kind, namespace, *label)))
        return found

    @property
    def has_selectors(self) -> bool:
        """Whether any Service has a selector."""
        return bool(self._pods_by_label)

    def pods_of_service(self, service: Object) -> list[Object]:
        """Return the pods that a Service selects; none if it has no selector."""
        selector = service.view.spec.selector
        if not selector:
            return []
        wanted = selector.items()
        found = self._found(KINDS.POD, self._pods_by_label.get((service.namespace, *_last(selector))))
        return [pod for pod in found if wanted <= pod.view.metadata.labels.items()] if len(selector) > 1 else found

    def in_namespace(self, kind: Kind, namespace: str) -> list[Object]:
        return self._found(kind, self._by_namespace.get((kind, namespace)))

    def has_any(self, kind: Kind, namespace: str) -> bool:
        return (kind, namespace) in self._by_namespace

    def pods_on(self, node: str) -> list[Object]:
        return self._found(KINDS.POD, self._pods_by_node.get(node))

    def _found(self, kind: Kind, keys: _Keys | None) -> list[Object]:
        if not keys:
            return []
        objects = self._objects[kind]
        return [objects[key] for key in keys]

    def apply(self, kind: Kind, delta: Delta) -> None:
        self.put(kind, delta.old, delta.new)

    def put(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        """Put a new object in the place of an old one; either may be absent.

        What is known counts, not the old one: a deletion may show a state that was not seen before.
        """
        changed = new or old
        if changed is None:
            return
        old = self._objects.get(kind, {}).get(changed.key)
        if kind is KINDS.POD and (self._tallies_of_owners or self._tallies_of_namespaces):
            self._tally(old, new)
        if kind is KINDS.POD and new is not None and old is not None and self._moved(old, new):
            return
        if old is not None:
            self._remove(kind, old)
        if new is not None:
            self._add(kind, new)

    def _moved(self, old: Object, new: Object) -> bool:
        """Put a pod in its place if it is in all indices that had its old version, but perhaps on a node now.

        A pod with other labels, as it gets them from its node, goes to the end of each index.
        """
        before, after = old.view, new.view
        metadata, key = after.metadata, new.key
        old_node, node = before.spec.nodeName, after.spec.nodeName
        if old_node and old_node != node:
            return False
        if before.metadata is metadata or (
            before.metadata.labels is metadata.labels and before.metadata.ownerReferences is metadata.ownerReferences
        ):
            self._objects[KINDS.POD][key] = new
            if node and not old_node:
                self._pods_by_node.setdefault(node, {})[key] = None
            return True
        if before.metadata.ownerReferences is not metadata.ownerReferences or self._pods_by_label:
            return False
        owner = controller_of(metadata)
        objects = self._objects[KINDS.POD]
        if owner is None or objects.pop(key, None) is None:
            return False
        objects[key] = new
        found = [
            self._by_owner.setdefault((KINDS.POD, owner.uid), {}),
            self._by_namespace.setdefault((KINDS.POD, new.namespace), {}),
        ]
        if node:
            found.append(self._pods_by_node.setdefault(node, {}))
        for keys in found:
            keys.pop(key, None)
            keys[key] = None
        return True

    def _add(self, kind: Kind, found: Object) -> None:
        self._objects.setdefault(kind, {})[found.key] = found
        for index, value in self._indices(kind, found):
            index.setdefault(value, {})[found.key] = None
        if kind is KINDS.SERVICE and found.view.spec.selector:
            self._follow_label((found.namespace, *_last(found.view.spec.selector)))
        elif kind is KINDS.POD and self._pods_by_label:
            for label in found.view.metadata.labels.items():
                keys = self._pods_by_label.get((found.namespace, *label))
                if keys is not None:
                    keys[found.key] = None

    def _follow_label(self, label: tuple[str, str, str]) -> None:
        """Begin to keep the pods with a label that the selector of a Service tells."""
        if label not in self._pods_by_label:
            namespace, key, value = label
            pods = self.in_namespace(KINDS.POD, namespace)
            self._pods_by_label[label] = {pod.key: None for pod in pods if pod.view.metadata.labels.get(key) == value}

    def _remove(self, kind: Kind, found: Object) -> None:
        objects = self._objects.get(kind, {})
        objects.pop(found.key, None)
        if not objects:
            self._objects.pop(kind, None)
        for index, value in self._indices(kind, found):
            entries = index.get(value)
            if entries is not None:
                entries.pop(found.key, None)
                if not entries:
                    del index[value]
        if kind is KINDS.SERVICE and found.view.spec.selector:
            label = found.namespace, *_last(found.view.spec.selector)
            if (kind, *label) not in self._by_selector:
                self._pods_by_label.pop(label, None)
        elif kind is KINDS.POD and self._pods_by_label:
            for pair in found.view.metadata.labels.items():
                keys = self._pods_by_label.get((found.namespace, *pair))
                if keys is not None:
                    keys.pop(found.key, None)

    def _indices(self, kind: Kind, found: Object) -> list[tuple[dict[Any, _Keys], Any]]:
        view, namespace = found.view, found.namespace
        owner = controller_of(view.metadata)
        indices: list[tuple[dict[Any, _Keys], Any]] = []
        if owner is not None:
            indices.append((self._by_owner, (kind, owner.uid)))
        elif kind.namespaced:
            indices.append((self._orphans, (kind, namespace)))
            for key, value in view.metadata.labels.items():
                indices.append((self._orphans_by_label, (kind, namespace, key, value)))
        if kind is not KINDS.POD and kind.template is not None and kind.template[0] == "spec":
            selector = as_label_selector(getattr(view.spec, "selector", None))
            if selector is not None:
                indices.append((self._by_selector, (kind, namespace, *telling_label(selector))))
        elif kind is KINDS.SERVICE and view.spec.selector:
            indices.append((self._by_selector, (kind, namespace, *_last(view.spec.selector))))
        elif kind is KINDS.POD_DISRUPTION_BUDGET and view.spec.selector is not None:
            indices.append((self._by_selector, (kind, namespace, *telling_label(view.spec.selector))))
        if kind.namespaced:
            indices.append((self._by_namespace, (kind, namespace)))
        if kind is KINDS.POD and view.spec.nodeName:
            indices.append((self._pods_by_node, view.spec.nodeName))
        return indices


def telling_label(selector: LabelSelector | None) -> tuple[str, str]:
    """Return the last of a selector's matchLabels, which is the hash that Deployments add, or empty texts."""
    if selector is None or not selector.matchLabels:
        return "", ""
    return _last(selector.matchLabels)


def _last(labels: dict[str, str]) -> tuple[str, str]:
    return next(reversed(labels.items()))
