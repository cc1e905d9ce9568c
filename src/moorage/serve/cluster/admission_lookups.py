"""Keep the objects that admission looks up: namespaces, PriorityClasses, StorageClasses, Services.

All writes of the server pass through here before they are acknowledged, so that a new namespace can be used at once.
Services get cluster IPs from 10.96.0.0/12 and node ports from 30000-32767; the API's own has the first address.
Kubernetes: the informers that admission plugins have; the ipallocator and portallocator of pkg/registry/core/service.
"""

import ipaddress
from collections.abc import Collection, Mapping
from random import Random
from typing import Any

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.plugins.priority import Priority
from moorage.admit.plugins.standard import (
    DefaultTolerationSeconds,
    NamespaceLifecycle,
    ServiceAccount,
    TaintNodesByCondition,
)
from moorage.admit.plugins.storage import DefaultStorageClass, PersistentVolumeClaimResize, StorageObjectInUseProtection
from moorage.admit.prepare.service_addresses import NotAllocated, ServiceAddresses
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.core import Service
from moorage.serve.resources.objects import decode, prefix_of
from moorage.store.protocol import Store, Stored

_RANGE = ipaddress.ip_network("10.96.0.0/12")
_FIRST_PORT, _LAST_PORT = 30000, 32767
_TRIES = 1000


class ServiceAllocator:
    """Finds values that no Service of `services` has. They are taken once the Service is stored.

    Raises NotAllocated for a value that is taken, Forbidden if none is left.
    """

    def __init__(self, services: Mapping[str, Service], random: Random) -> None:
        self._services = services
        self._random = random

    def cluster_ip(self, wanted: str) -> str:
        taken = {address for service in self._services.values() for address in service.spec.clusterIPs}
        if wanted:
            self._check(wanted, taken)
            return wanted
        first = str(_RANGE[1])
        if first not in taken and not self._services:
            return first
        for _ in range(_TRIES):
            address = str(_RANGE[self._random.randrange(2, _RANGE.num_addresses - 1)])
            if address not in taken:
                return address
        raise Forbidden("failed to allocate a serviceIP: range is full")

    def node_port(self, wanted: int, besides: Collection[int] = ()) -> int:
        """Find a free port that is not in `besides`, the ports that the Service has already or is going to have."""
        taken = {port.nodePort for service in self._services.values() for port in service.spec.ports}
        taken |= {service.spec.healthCheckNodePort for service in self._services.values()}
        if wanted:
            if not _FIRST_PORT <= wanted <= _LAST_PORT:
                valid = f"The range of valid ports is {_FIRST_PORT}-{_LAST_PORT}"
                raise NotAllocated(f"provided port is not in the valid range. {valid}")
            if wanted in taken or wanted in besides:
                raise NotAllocated("provided port is already allocated")
            return wanted
        free = [port for port in range(_FIRST_PORT, _LAST_PORT + 1) if port not in taken and port not in besides]
        if not free:
            raise Forbidden("failed to allocate a nodePort: range is full")
        return self._random.choice(free)

    def _check(self, wanted: str, taken: set[str]) -> None:
        try:
            address = ipaddress.ip_address(wanted)
        except ValueError:
            return  # validation says what is wrong with it
        if wanted in taken:
            raise NotAllocated("provided IP is already allocated")
        if address not in _RANGE:
            raise NotAllocated("the provided network does not match the current range")


_NAMESPACE = KINDS["v1", "Namespace"]
_PRIORITY_CLASS = KINDS["scheduling.k8s.io/v1", "PriorityClass"]
_STORAGE_CLASS = KINDS["storage.k8s.io/v1", "StorageClass"]
_SERVICE = KINDS["v1", "Service"]
_LOOKED_UP = (_NAMESPACE, _PRIORITY_CLASS, _STORAGE_CLASS, _SERVICE)


class AdmissionLookups:
    """The looked-up objects, and the plugins that use them. `generation` grows when admission may decide otherwise.

    With `taints_new_nodes` a node begins as not ready, with `protects_storage` volumes and claims begin with a
    finalizer: a controller must remove these.
    """

    def __init__(
        self, random: Random | None = None, *, taints_new_nodes: bool = False, protects_storage: bool = False
    ) -> None:
        self.generation = 0
        self._random = random or Random()
        self._known: dict[str, dict[str, Any]] = {kind.name: {} for kind in _LOOKED_UP}
        self.plugins: tuple[Plugin, ...] = self._make_plugins(taints_new_nodes, protects_storage)

    async def load(self, store: Store) -> None:
        for kind in _LOOKED_UP:
            listing = await store.list(prefix_of(kind))
            self._known[kind.name].update({_name(kind, item): _view(kind, item) for item in listing.items})
        self._changed()

    def learn(self, kind: Kind, stored: Stored) -> None:
        known = self._known.get(kind.name)
        if known is not None:
            known[_name(kind, stored)] = _view(kind, stored)
            self._changed()

    def forget(self, kind: Kind, stored: Stored) -> None:
        known = self._known.get(kind.name)
        if known is not None:
            known.pop(_name(kind, stored), None)
            self._changed()

    def _changed(self) -> None:
        self.generation += 1

    def _phase_of(self, name: str) -> str | None:
        found = self._known["Namespace"].get(name)
        return None if found is None else found.status.phase or "Active"

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """Return the labels of a namespace, if there is one of that name."""
        found = self._known["Namespace"].get(name)
        return None if found is None else found.metadata.labels

    def _make_plugins(self, taints_new_nodes: bool, protects_storage: bool) -> tuple[Plugin, ...]:
        """In upstream's order."""
        known = self._known
        allocator = ServiceAllocator(known["Service"], self._random)
        return (
            NamespaceLifecycle(self._phase_of),
            ServiceAccount(),
            *((TaintNodesByCondition(),) if taints_new_nodes else ()),
            Priority(lambda: known["PriorityClass"].values()),
            DefaultTolerationSeconds(),
            DefaultStorageClass(lambda: known["StorageClass"].values()),
            *((StorageObjectInUseProtection(),) if protects_storage else ()),
            PersistentVolumeClaimResize(lambda: known["StorageClass"]),
            ServiceAddresses(lambda: allocator),
        )


def _name(kind: Kind, stored: Stored) -> str:
    return stored.key.removeprefix(prefix_of(kind))


def _view(kind: Kind, stored: Stored) -> Any:
    return stored.view if stored.view is not None else convert_view(decode(kind, stored), kind.view)
