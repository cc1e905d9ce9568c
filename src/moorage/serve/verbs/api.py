"""Hold what every verb needs: the store, admission and its lookups, the clock, the pod templates.

Kubernetes: the generic registry's Store with its strategies.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.chain import Admission
from moorage.admit.raw import copy_document
from moorage.admit.request import Request
from moorage.admit.subresources.approval import APPROVAL, admit_approval
from moorage.admit.subresources.pod_parts import POD_PARTS
from moorage.admit.subresources.status_update import admit_status
from moorage.model import generated_names
from moorage.model.api_error import ApiError
from moorage.model.gates import POD_TOPOLOGY_LABELS_ADMISSION, GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.serve.access.authorization import Authorization
from moorage.serve.access.rbac import RBAC_KINDS, RoleIndex
from moorage.serve.admission.lookups import AdmissionLookups
from moorage.serve.admission.quota_ledger import QuotaLedger
from moorage.serve.admission.service_claims import hold_claims
from moorage.serve.apply.managed_fields import on_create, on_update
from moorage.serve.custom.admission import admit_custom, admit_custom_status
from moorage.serve.custom.definitions import Definitions
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.pki.authentication import User
from moorage.serve.pki.authenticator import Authenticator
from moorage.serve.requests.long_work import LongWork
from moorage.serve.resources.served import Resources
from moorage.serve.templates.claims import ClaimTemplate, ClaimTemplates
from moorage.serve.templates.pods import Likeness, PodTemplate, PodTemplates
from moorage.serve.tokens.service_accounts import ServiceAccountTokens, TokenKeys, TokenSettings
from moorage.store.protocol import Store, Stored, Watch
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]


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
        fixed_tokens: Mapping[str, User] | None = None,
        token_settings: TokenSettings | None = None,
        token_keys: TokenKeys | None = None,
    ) -> None:
        """Create an API on a store.

        `collects_garbage` means that a garbage collector removes the finalizers that wait for dependents;
        `taints_new_nodes`, that a controller removes the not-ready taint of new nodes; `protects_storage`, that a
        controller removes the finalizers of volumes and claims. `metrics` count what components in this process ask.
        `fixed_tokens` are those of users; service accounts get tokens as `token_settings` and `token_keys` say.
        """
        self.metrics = ApiServerMetrics(Metrics()) if metrics is None else metrics
        self.store = store
        self.gates = gates
        self.resources = Resources(gates)
        self.definitions = Definitions(self)
        self.clock = clock
        self.collects_garbage = collects_garbage
        self.long_work = LongWork()
        self.quotas = QuotaLedger(store, clock)
        labels_topology = gates.enabled(POD_TOPOLOGY_LABELS_ADMISSION)
        self.directory = AdmissionLookups(store, self.quotas, labels_topology=labels_topology)
        self.admission = Admission(
            self.directory, gates, taints_new_nodes=taints_new_nodes, protects_storage=protects_storage
        )
        self.roles = RoleIndex()
        for kind in RBAC_KINDS:
            self.directory.follow(kind, self.roles)
        self.authorization = Authorization((self.roles,))
        self.new_uid = new_uid or partial(generated_names.new_uid, _random)
        self.new_suffix = new_suffix or partial(generated_names.new_suffix, _random.random)
        self.tokens = ServiceAccountTokens(
            token_settings or TokenSettings(), token_keys or TokenKeys(), store.peek, clock, self.new_uid
        )
        self.authenticator = Authenticator(fixed_tokens or {}, self.tokens, looks_twice=store.is_shared)
        self.open_watches: set[Watch] = set()
        self._second, self._second_text = -1, ""
        self.templates = PodTemplates(self._admit_pod, self.admission.still_admits, lambda: self.directory.generation)
        self.claim_templates = ClaimTemplates(
            self._admit_claim, self.admission.still_admits, lambda: self.directory.generation
        )

    async def start(self) -> None:
        await self.directory.load()
        await hold_claims(self.store)
        await self.definitions.load()

    async def catch_up(self) -> None:
        """Return when all writes are known that any server acknowledged before. Raises StoreFailed."""
        if self.store.is_shared:
            await self.store.catch_up()
            await self.definitions.settled()

    @property
    def knowledge(self) -> tuple[int, int]:
        """Return what tells whether more is known than before: the revision, and how often definitions were read."""
        return self.store.revision, self.definitions.followed

    async def newest(self, stored: Stored) -> Stored | None:
        """Return an object as it is now: what is in memory may be older than what another server wrote."""
        if not self.store.is_shared:
            return stored
        await self.store.catch_up()
        return self.store.peek(stored.key)

    def end_watches(self) -> None:
        """Let every watch end with a bookmark, where its client allows them."""
        for changes in list(self.open_watches):
            changes.close()

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
        if kind is KINDS.POD and manager is not None:
            return self.templates.admit(raw, request, manager, like)
        if kind is KINDS.RESOURCE_CLAIM and manager is not None:
            return self.claim_templates.admit(raw, request, manager)
        return self._admit_first(kind, raw, request, manager), None

    def admit_alone(self, kind: Kind, raw: Raw, namespace: str, manager: str | None) -> Admitted:
        """Admit an object to be created, in the thread for long work: templates belong to the event loop."""
        suffix = "" if raw["metadata"].get("name") else self.new_suffix()
        labels = self.directory.namespace_labels
        request = Request(namespace or "default", suffix, self.new_uid(), self.now_text(), namespace_labels=labels)
        return self._admit_first(kind, raw, request, manager)

    def _admit_pod(self, raw: Raw, request: Request, manager: str) -> Admitted:
        return self._admit_first(KINDS.POD, raw, request, manager)

    def _admit_claim(self, raw: Raw, request: Request, manager: str) -> Admitted:
        return self._admit_first(KINDS.RESOURCE_CLAIM, raw, request, manager)

    def _admit_first(self, kind: Kind, raw: Raw, request: Request, manager: str | None) -> Admitted:
        own = None if manager is None else lambda new: on_create(new, kind, manager, request.timestamp)
        # The caller tries again with the same document if a generated name, or an address, is taken.
        copies = kind is KINDS.SERVICE or not raw["metadata"].get("name")
        raw = {**raw, "metadata": dict(raw["metadata"])}
        if type(kind) is ServedKind:
            raw = copy_document(raw) if copies else raw
            return admitted(admit_custom(kind, raw, None, self.admission, request, own))
        return admitted(self.admission.create(kind, raw, request, own, copies=copies))

    def admit_changed(
        self, kind: Kind, new: Raw, old: Raw, manager: str | None, subresource: str = "", old_view: Any = None
    ) -> Admitted:
        """Admit an object that replaces another, whose view may be in memory, or its status. Raises ApiError."""
        if type(kind) is ServedKind:
            return self._admit_custom_change(kind, new, old, manager, subresource)
        if subresource == "status":
            return self._admit_status(kind, new, old, manager, old_view)
        now = self.now_text()
        own = None if manager is None else lambda new: on_update(new, old, kind, manager, subresource, now)
        if subresource == APPROVAL:
            return admitted(admit_approval(new, old, now, own))
        if subresource in POD_PARTS:
            return admitted(self.admission.update_part(subresource, new, old, own))
        request = Request(old["metadata"].get("namespace") or "default", timestamp=now)
        if kind.view is not type(old_view):
            old_view = None
        return admitted(self.admission.update(kind, new, old, request, own, old_view=old_view))

    def _admit_custom_change(
        self, kind: ServedKind, new: Raw, old: Raw, manager: str | None, subresource: str
    ) -> Admitted:
        now = self.now_text()
        own = None if manager is None else lambda new: on_update(new, old, kind, manager, subresource, now)
        if subresource == "status":
            return admitted(admit_custom_status(kind, copy_document(new), old, own))
        request = Request(old["metadata"].get("namespace") or "default", timestamp=now)
        return admitted(admit_custom(kind, new, old, self.admission, request, own))

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
    raise ApiError(result.status).warned(result.told)


#: Seeded by the system, which is not asked again: a system call for each name would cost more than all the rest of it.
_random = Random(secrets.randbits(256))
