"""Hold what every verb needs: the store, admission and its lookups, the clock, the pod templates.

Admission looks up namespaces, PriorityClasses, StorageClasses and Services. All writes of the server pass through
`AdmissionLookups` before they are acknowledged, so that a new namespace can be used at once. Services get cluster IPs
from 10.96.0.0/12 and node ports from 30000-32767; the API's own has the first address. Kubernetes: the generic
registry's Store with its strategies; the informers that admission plugins have; the ipallocator and portallocator of
pkg/registry/core/service.
"""

import ipaddress
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from moorage.admit.admission import Admitted, Rejected, admit_own
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
from moorage.admit.request import Request
from moorage.admit.subresources.status_update import admit_status
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.core import Service
from moorage.serve.apply.managed_fields import on_create, on_update
from moorage.serve.claim_templates import CLAIM, ClaimTemplate, ClaimTemplates
from moorage.serve.long_work import LongWork
from moorage.serve.resources.objects import decode, prefix_of
from moorage.serve.templates import POD, Likeness, PodTemplate, PodTemplates
from moorage.store.protocol import Store, Stored
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

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
        taken = {address for service in tuple(self._services.values()) for address in service.spec.clusterIPs}
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
        services = tuple(self._services.values())
        taken = {port.nodePort for service in services for port in service.spec.ports}
        taken |= {service.spec.healthCheckNodePort for service in services}
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
    """The looked-up objects, and the plugins that use them. `generation` grows when admission may decide otherwise."""

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
            Priority(lambda: tuple(known["PriorityClass"].values())),  # in one step: there is a second thread
            DefaultTolerationSeconds(),
            DefaultStorageClass(lambda: tuple(known["StorageClass"].values())),
            *((StorageObjectInUseProtection(),) if protects_storage else ()),
            PersistentVolumeClaimResize(lambda: known["StorageClass"]),
            ServiceAddresses(lambda: allocator),
        )


def _name(kind: Kind, stored: Stored) -> str:
    return stored.key.removeprefix(prefix_of(kind))


def _view(kind: Kind, stored: Stored) -> Any:
    return stored.view if stored.view is not None else convert_view(decode(kind, stored), kind.view)


Raw = dict[str, Any]

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5


class WriteResult(NamedTuple):
    """The result of a write. `stored` is the object as it is now, or was last if it is `deleted`."""

    stored: Stored
    warnings: Sequence[str] = ()
    created: bool = False
    deleted: bool = False


class Api:
    """The API server without HTTP. Time and randomness are the caller's, so that a run can be repeated."""

    def __init__(
        self,
        store: Store,
        gates: GateSet,
        *,
        clock: Callable[[], float] = time.time,
        new_uid: Callable[[], str] | None = None,
        new_suffix: Callable[[], str] | None = None,
        collects_garbage: bool = False,
        taints_new_nodes: bool = False,
        protects_storage: bool = False,
        metrics: ApiServerMetrics | None = None,
    ) -> None:
        """Create an API on a store.

        `collects_garbage` means that a garbage collector removes the finalizers that wait for dependents;
        `taints_new_nodes`, that a controller removes the not-ready taint of new nodes; `protects_storage`, that a
        controller removes the finalizers of volumes and claims. `metrics` count what components in this process ask.
        """
        self.metrics = ApiServerMetrics(Metrics()) if metrics is None else metrics
        self.store = store
        self.gates = gates
        self.clock = clock
        self.collects_garbage = collects_garbage
        self.long_work = LongWork()
        self.directory = AdmissionLookups(taints_new_nodes=taints_new_nodes, protects_storage=protects_storage)
        self.new_uid = new_uid or _random_uid
        self.new_suffix = new_suffix or _random_suffix
        self._second, self._second_text = -1, ""
        self.templates = PodTemplates(self._admit_pod, self.plugins, lambda: self.directory.generation)
        self.claim_templates = ClaimTemplates(self._admit_claim, self.plugins, lambda: self.directory.generation)

    async def start(self) -> None:
        await self.directory.load(self.store)

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        return self.directory.plugins

    def now_text(self) -> str:
        """The time in RFC 3339 with seconds, as in objects."""
        second = int(self.clock())
        if second != self._second:
            self._second, self._second_text = second, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
        return self._second_text

    def admit_new(
        self, kind: Kind, raw: Raw, namespace: str, manager: str | None, like: Likeness | None = None
    ) -> tuple[Admitted, PodTemplate | ClaimTemplate | None]:
        """Admit an object to be created, and return its template if it has one. `raw` is modified. Raises ApiError.

        Without a manager the document has its managedFields already, as after server-side apply. `like` is what
        decoding recognised the document by.
        """
        suffix = "" if raw["metadata"].get("name") else self.new_suffix()
        labels = self.directory.namespace_labels
        request = Request(namespace or "default", suffix, self.new_uid(), self.now_text(), namespace_labels=labels)
        if kind is POD and manager is not None:
            return self.templates.admit(raw, request, manager, like)
        if kind is CLAIM and manager is not None:
            return self.claim_templates.admit(raw, request, manager)
        return self._admit_first(kind, raw, request, manager), None

    def admit_alone(self, kind: Kind, raw: Raw, namespace: str, manager: str | None) -> Admitted:
        """Admit an object to be created, in the thread for long work: templates belong to the event loop."""
        suffix = "" if raw["metadata"].get("name") else self.new_suffix()
        labels = self.directory.namespace_labels
        request = Request(namespace or "default", suffix, self.new_uid(), self.now_text(), namespace_labels=labels)
        return self._admit_first(kind, raw, request, manager)

    def _admit_pod(self, raw: Raw, request: Request, manager: str) -> Admitted:
        return self._admit_first(POD, raw, request, manager)

    def _admit_claim(self, raw: Raw, request: Request, manager: str) -> Admitted:
        return self._admit_first(CLAIM, raw, request, manager)

    def _admit_first(self, kind: Kind, raw: Raw, request: Request, manager: str | None) -> Admitted:
        own = None if manager is None else lambda new: on_create(new, kind, manager, request.timestamp)
        # The caller tries again with the same document if a generated name is taken.
        copies = not raw["metadata"].get("name")
        raw = {**raw, "metadata": dict(raw["metadata"])}
        result = admit_own(kind, raw, None, self.gates, plugins=self.plugins, request=request, own=own, copies=copies)
        return admitted(result)

    def admit_changed(
        self, kind: Kind, new: Raw, old: Raw, manager: str | None, subresource: str = "", old_view: Any = None
    ) -> Admitted:
        """Admit an object that replaces another, whose view may be in memory, or its status. Raises ApiError."""
        if subresource == "status":
            return self._admit_status(kind, new, old, manager, old_view)
        now = self.now_text()
        own = None if manager is None else lambda new: on_update(new, old, kind, manager, subresource, now)
        request = Request(old["metadata"].get("namespace") or "default", timestamp=now)
        if kind.view is not type(old_view):
            old_view = None
        return admitted(
            admit_own(kind, new, old, self.gates, plugins=self.plugins, request=request, own=own, old_view=old_view)
        )

    def _admit_status(self, kind: Kind, new: Raw, old: Raw, manager: str | None, old_view: Any) -> Admitted:
        """Admit a status update, the most frequent of all changes. The spec stays as it is, and is not read."""
        if kind.view is not type(old_view):
            old_view = None
        check_types({name: value for name, value in new.items() if name != "spec"}, kind)
        if manager is not None:
            on_update(new, old, kind, manager, "status", self.now_text())
        labels = self.directory.namespace_labels
        return admitted(
            admit_status(new, old, self.gates, now=self.now_text(), old_view=old_view, namespace_labels=labels)
        )


def check_types(raw: Raw, kind: Kind) -> None:
    """Raise ApiError if a field is not of the type that its kind has: defaulting relies on the types."""
    try:
        convert_view(raw, kind.view)
    except ConversionError as error:
        name = raw["metadata"].get("name")
        raise ApiError(Rejected(kind, str(name or ""), problems=error.problems).status) from None


def admitted(result: Admitted | Rejected) -> Admitted:
    if isinstance(result, Admitted):
        return result
    raise ApiError(result.status)


#: Seeded by the system, which is not asked again: a system call for each name would cost more than all the rest of it.
_random = Random(secrets.randbits(256))


def _random_uid() -> str:
    digits = f"{_random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _random_suffix() -> str:
    return "".join(_random.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))
