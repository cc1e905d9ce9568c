"""Hold the state of an API server: its registry, definitions and served kinds, users, roles, tokens and watches."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from moorage.admit.chain import Admission
from moorage.model.gates import POD_TOPOLOGY_LABELS_ADMISSION, GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.serve.access.authorization import Authorization
from moorage.serve.access.rbac import RBAC_KINDS, RoleIndex
from moorage.serve.admission.lookups import AdmissionLookups
from moorage.serve.admission.quota_ledger import QuotaLedger
from moorage.serve.admission.service_claims import hold_claims
from moorage.serve.custom.definitions import Definitions
from moorage.serve.pki.authentication import User
from moorage.serve.pki.authenticator import Authenticator
from moorage.serve.resources.served import Resources
from moorage.serve.tokens.service_accounts import ServiceAccountTokens, TokenKeys, TokenSettings
from moorage.serve.verbs.page_ages import PageAges
from moorage.serve.verbs.registry import Registry
from moorage.store.protocol import Store, Watch
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]


class Api(Registry):
    """The API server without HTTP: what verbs need, what it serves and to whom."""

    store: Store
    directory: AdmissionLookups
    quotas: QuotaLedger

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
        mounts_tokens: bool = False,
        metrics: ApiServerMetrics | None = None,
        fixed_tokens: Mapping[str, User] | None = None,
        token_settings: TokenSettings | None = None,
        token_keys: TokenKeys | None = None,
    ) -> None:
        """Create an API on a store.

        `collects_garbage` means that a garbage collector removes the finalizers that wait for dependents;
        `taints_new_nodes`, that a controller removes the not-ready taint of new nodes; `protects_storage`, that a
        controller removes the finalizers of volumes and claims; `mounts_tokens`, that pods get the token of their
        service account, which must exist. `metrics` count what components in this process ask.
        `fixed_tokens` are those of users; service accounts get tokens as `token_settings` and `token_keys` say.
        """
        self.metrics = ApiServerMetrics(Metrics()) if metrics is None else metrics
        quotas = QuotaLedger(store, clock)
        directory = AdmissionLookups(store, quotas, labels_topology=gates.enabled(POD_TOPOLOGY_LABELS_ADMISSION))
        super().__init__(
            store,
            Admission(
                directory,
                gates,
                taints_new_nodes=taints_new_nodes,
                protects_storage=protects_storage,
                mounts_tokens=mounts_tokens,
            ),
            directory,
            quotas,
            clock=clock,
            new_uid=new_uid,
            new_suffix=new_suffix,
            collects_garbage=collects_garbage,
        )
        self.store, self.directory, self.quotas = store, directory, quotas
        self.resources = Resources(gates)
        self._served: frozenset[tuple[str, str, str]] = frozenset(self.resources.table)
        self.resources.when_changed(self._served_others)
        self.definitions = Definitions(self)
        self.roles = RoleIndex()
        for kind in RBAC_KINDS:
            directory.follow(kind, self.roles)
        self.authorization = Authorization((self.roles,))
        self.tokens = ServiceAccountTokens(
            token_settings or TokenSettings(), token_keys or TokenKeys(), store.peek, clock, self.new_uid
        )
        self.authenticator = Authenticator(fixed_tokens or {}, self.tokens, looks_twice=store.is_shared)
        self.open_watches: set[Watch] = set()
        self.pages = PageAges()

    def _served_others(self) -> None:
        """Forget the metrics of custom kinds that are not served any more."""
        before, self._served = self._served, frozenset(self.resources.table)
        if not before <= self._served:
            self.metrics.keep_resources(self._served)

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

    async def wrote(self, kind: Kind) -> None:
        if kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
            await self.definitions.settled()

    def marked_for_deletion(self, kind: Kind, document: Raw) -> Raw:
        return self.definitions.marked(document) if kind is KINDS.CUSTOM_RESOURCE_DEFINITION else document

    def end_watches(self) -> None:
        """Let every watch end with a bookmark, where its client allows them."""
        for changes in list(self.open_watches):
            changes.close()
