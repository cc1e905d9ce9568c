"""Answer what admission looks up from objects in memory: those of a whole cluster, or those of some files.

The API server's lookups, the simulated cluster and the objects given to `lint` and `explain` are such worlds.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moorage.admit.plugins.quota import QuotaBalance, QuotaCharge
from moorage.admit.plugins.topology import NO_TOPOLOGY, topology_labels
from moorage.admit.prepare.service_allocator import SERVICE_RANGE
from moorage.admit.world import Assumption, assumption_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.quantity import add_amounts
from moorage.model.types.core import Namespace, Service, ServiceAccount
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node
from moorage.model.types.policy import LimitRange, PriorityClass, RuntimeClass
from moorage.model.types.storage import StorageClass

#: The namespaces every cluster has.
SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
#: The kinds that admission looks up. Nodes are kept apart, because only their topology labels count for new objects.
LOOKED_UP = (
    KINDS.NAMESPACE,
    KINDS.PRIORITY_CLASS,
    KINDS.STORAGE_CLASS,
    KINDS.SERVICE,
    KINDS.LIMIT_RANGE,
    KINDS.RUNTIME_CLASS,
    KINDS.SERVICE_ACCOUNT,
)


class ObjectsWorld:
    """A world of the objects it is told of with `put` and `drop`, by kind and key (`namespace/name` or `name`).

    Call both for every write, of any kind: kinds that admission does not look up cost a dictionary lookup. Pass
    `is_complete` for a whole cluster (a live one, a dump of one, a simulation of one), in which what is not there does
    not exist; else each missing object is assumed once, and noted. The namespaces and PriorityClasses that every
    cluster has exist always. `put` quotas with a status that says what is used, and `charge`
    them with what is written, unless the quota itself is put again then.
    """

    service_range = SERVICE_RANGE

    def __init__(self, *, is_complete: bool = False) -> None:
        self.generation = 0
        self.is_complete = is_complete
        self.assumed: list[Assumption] = []
        #: Everything that was ever assumed, in order; `assumed` is emptied by the chain, whose answers carry it.
        self.all_assumed: list[Assumption] = []
        self._causes: set[tuple[Kind, str]] = set()
        self._known: dict[Kind, dict[str, Any]] = {kind: {} for kind in LOOKED_UP}
        self._ranges: dict[str, dict[str, LimitRange]] = {}
        self._quotas: dict[str, dict[str, QuotaBalance]] = {}
        self._nodes: dict[str, Node] = {}
        self._topology: dict[str, Mapping[str, str]] = {}

    @classmethod
    def of(cls, views: Iterable[tuple[Kind, Any]], *, is_complete: bool = False) -> "ObjectsWorld":
        """Return a world with these objects."""
        world = cls(is_complete=is_complete)
        for kind, view in views:
            world.put_view(kind, view)
        return world

    def put_view(self, kind: Kind, view: Any) -> None:
        """Put an object under the key that its metadata has."""
        metadata: ObjectMeta = view.metadata
        self.put(kind, f"{metadata.namespace}/{metadata.name}" if kind.namespaced else metadata.name, view)

    def put(self, kind: Kind, key: str, view: Any) -> None:
        """Take in an object that is new or has changed."""
        known = self._known.get(kind)
        if known is not None:
            known[key] = view
            if kind is KINDS.LIMIT_RANGE:
                namespace, _, name = key.partition("/")
                self._ranges.setdefault(namespace, {})[name] = view
            self._changed()
        elif kind is KINDS.NODE:
            self._nodes[key] = view
            self.put_topology(key, view.metadata.labels)
        elif kind is KINDS.RESOURCE_QUOTA:
            namespace, _, name = key.partition("/")
            self._quotas.setdefault(namespace, {})[name] = QuotaBalance(view, view.status.used)

    def drop(self, kind: Kind, key: str) -> None:
        """Forget an object that was deleted."""
        known = self._known.get(kind)
        if known is not None:
            known.pop(key, None)
            if kind is KINDS.LIMIT_RANGE:
                namespace, _, name = key.partition("/")
                _drop(self._ranges, namespace, name)
            self._changed()
        elif kind is KINDS.NODE:
            self._nodes.pop(key, None)
            if self._topology.pop(key, None) is not None:
                self._changed()
        elif kind is KINDS.RESOURCE_QUOTA:
            namespace, _, name = key.partition("/")
            _drop(self._quotas, namespace, name)

    def charge(self, namespace: str, charge: QuotaCharge) -> None:
        """Add what a write was charged to what is used of a quota."""
        quota, used = self._quotas[namespace][charge.quota]
        total = dict(used)
        add_amounts(total, charge.amounts)
        self._quotas[namespace][charge.quota] = QuotaBalance(quota, total)

    def put_topology(self, node: str, labels: Mapping[str, str]) -> None:
        """Remember the zone of a node. Nodes are written often, and hardly ever have another zone than before."""
        topology = topology_labels(labels)
        if topology != self.topology_of(node):
            self._topology[node] = topology
            self._changed()

    def _changed(self) -> None:
        self.generation += 1

    def assumes(self, kind: Kind, key: str, needed_by: Kind) -> bool:
        if kind is KINDS.NAMESPACE and key in SYSTEM_NAMESPACES:
            return True
        if kind is KINDS.SERVICE_ACCOUNT and (self.is_complete or not self._misses_account(key)):
            return True  # Differs: accounts need not exist, since nothing here uses them
        if self.is_complete:
            return False
        if (kind, key) not in self._causes:
            self._causes.add((kind, key))
            assumption = assumption_of(kind, key, needed_by)
            self.assumed.append(assumption)
            self.all_assumed.append(assumption)
        return True

    def _misses_account(self, key: str) -> bool:
        """Return whether an account stands out by its absence: others of its namespace are here."""
        namespace, _, name = key.partition("/")
        others = self._known[KINDS.SERVICE_ACCOUNT]
        return name != "default" and any(other.startswith(f"{namespace}/") for other in others)

    def namespace(self, name: str) -> Namespace | None:
        namespace: Namespace | None = self._known[KINDS.NAMESPACE].get(name)
        return namespace

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """Return the labels of a namespace, if there is one of that name."""
        namespace = self.namespace(name)
        return None if namespace is None else namespace.metadata.labels

    def limit_ranges(self, namespace: str) -> Sequence[LimitRange]:
        ranges = self._ranges.get(namespace)
        return [view for _, view in sorted(ranges.items())] if ranges else ()  # in one step, as below

    def priority_classes(self) -> Sequence[PriorityClass]:
        return tuple(self._known[KINDS.PRIORITY_CLASS].values())  # in one step: a server has a second thread

    def storage_classes(self) -> Mapping[str, StorageClass]:
        return self._known[KINDS.STORAGE_CLASS]

    def runtime_class(self, name: str) -> RuntimeClass | None:
        runtime_class: RuntimeClass | None = self._known[KINDS.RUNTIME_CLASS].get(name)
        return runtime_class

    def find(self, kind: Kind, namespace: str, name: str) -> Any:
        """Return a looked-up object, or None. Objects in memory are not those of a request, so more is not needed."""
        return self._known.get(kind, {}).get(f"{namespace}/{name}" if kind.namespaced else name)

    def service_account(self, namespace: str, name: str) -> ServiceAccount | None:
        account: ServiceAccount | None = self._known[KINDS.SERVICE_ACCOUNT].get(f"{namespace}/{name}")
        return account

    def topology_of(self, node: str) -> Mapping[str, str]:
        return self._topology.get(node, NO_TOPOLOGY)

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def services(self) -> Mapping[str, Service]:
        return self._known[KINDS.SERVICE]

    def quota_balances(self, namespace: str) -> Sequence[QuotaBalance]:
        quotas = self._quotas.get(namespace)
        return [quotas[name] for name in sorted(quotas)] if quotas else ()


def _drop(filed: dict[str, dict[str, Any]], namespace: str, name: str) -> None:
    """Forget an object, and its namespace with the last one."""
    here = filed.get(namespace)
    if here is not None:
        here.pop(name, None)
        if not here:
            del filed[namespace]
