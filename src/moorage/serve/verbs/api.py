"""Hold the state of an API server: its registry, definitions and served kinds, users, roles, tokens and watches."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moorage.admit.chain import Admission
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.registered import REGISTERED_KINDS, RegisteredExtensions
from moorage.admit.extension.steps import Answer, Call, ConversionCall, WebhookCall
from moorage.model.gates import POD_TOPOLOGY_LABELS_ADMISSION, GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.serve.access.authorization import Authorization
from moorage.serve.access.rbac import RBAC_KINDS, RoleIndex
from moorage.serve.admission.extension_lookups import DocumentLookups, StoredDocuments
from moorage.serve.admission.lookups import AdmissionLookups
from moorage.serve.admission.observed import forget_deleted_policies, observe
from moorage.serve.admission.quota_ledger import QuotaLedger
from moorage.serve.admission.service_claims import hold_claims
from moorage.serve.audit.annotations import annotate, log_failures
from moorage.serve.audit.audit_log import AuditLog
from moorage.serve.custom.definitions import Definitions
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.pki.authentication import User
from moorage.serve.pki.authenticator import Authenticator
from moorage.serve.resources.served import Resources
from moorage.serve.resources.usage import METRICS_GROUPS
from moorage.serve.tokens.service_accounts import ServiceAccountTokens, TokenKeys, TokenSettings
from moorage.serve.verbs.page_ages import PageAges
from moorage.serve.verbs.registry import Registry
from moorage.serve.webhooks.client import WebhookClient
from moorage.serve.webhooks.connections import HostPort
from moorage.serve.webhooks.converter import Converter
from moorage.serve.webhooks.request_time import OUT_OF_TIME, answered, cut_short, seconds_left
from moorage.serve.webhooks.services import WebhookServices
from moorage.store.protocol import Store, Stored, Watch
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
        webhook_services: Mapping[tuple[str, str], HostPort] | None = None,
    ) -> None:
        """Create an API on a store.

        `collects_garbage` means that a garbage collector removes the finalizers that wait for dependents;
        `taints_new_nodes`, that a controller removes the not-ready taint of new nodes; `protects_storage`, that a
        controller removes the finalizers of volumes and claims; `mounts_tokens`, that pods get the token of their
        service account, which must exist. `metrics` count what components in this process ask.
        `fixed_tokens` are those of users; service accounts get tokens as `token_settings` and `token_keys` say.
        `webhook_services` says where the webhooks of services are.
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
        forget_deleted_policies(self.metrics.admission, store)
        self.webhooks = WebhookClient(WebhookServices(store, webhook_services).locate, self.long_work)
        self.converter = Converter(self.webhooks, self.long_work, self.metrics.admission)
        self.resources = Resources(gates, METRICS_GROUPS)
        self._served: frozenset[tuple[str, str, str]] = frozenset(self.resources.table)
        self.resources.when_changed(self._served_others)
        self.definitions = Definitions(self)
        self.roles = RoleIndex()
        for kind in RBAC_KINDS:
            directory.follow(kind, self.roles)
        self.authorization = Authorization((self.roles,))
        self.extensions = RegisteredExtensions(
            DocumentLookups(
                StoredDocuments(store, self.values),
                self.resources,
                lambda user, attributes: self.authorization.authorize(user, attributes),  # which modes may replace
                lambda: self.roles.generation,
            )
        )
        for kind in REGISTERED_KINDS:
            directory.follow(kind, self.extensions)
        self.admission.extensions = self.extensions
        self.tokens = ServiceAccountTokens(
            token_settings or TokenSettings(), token_keys or TokenKeys(), store.peek, clock, self.new_uid
        )
        self.authenticator = Authenticator(fixed_tokens or {}, self.tokens, looks_twice=store.is_shared)
        #: Where requests of components in this process are audited, too.
        self.audit: AuditLog | None = None
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

    async def answer(self, calls: Sequence[Call]) -> Sequence[Answer]:
        """Call webhooks, for as long as the request that they are about may take."""
        left = seconds_left()
        conversions = [call for call in calls if isinstance(call, ConversionCall)]
        if conversions:
            return await self.converter.answer(conversions, left)
        reviews = [call for call in calls if isinstance(call, WebhookCall)]
        if left <= 0:
            return [OUT_OF_TIME] * len(reviews)
        answers = await self.webhooks.answer([cut_short(call, left) for call in reviews])
        return [answered(call, answer, left) for call, answer in zip(reviews, answers, strict=True)]

    def note(self, extended: ExtendedRequest) -> None:
        observe(self.metrics.admission, extended.remarks)
        if extended.remarks.audit:
            annotate(extended.remarks.audit)
            if self.audit is None:
                log_failures(extended)

    async def catch_up(self) -> None:
        """Return when all writes are known that any server acknowledged before. Raises StoreFailed."""
        if self.store.is_shared:
            await self.store.catch_up()
            await self.definitions.settled()

    @property
    def knowledge(self) -> tuple[int, int]:
        """Return what tells whether more is known than before: the revision, and how often definitions were read."""
        return self.store.revision, self.definitions.followed

    async def in_version(self, kind: Kind, items: Sequence[Stored]) -> Sequence[Stored]:
        if type(kind) is ServedKind and kind.is_converted:
            return await self.converter.read(kind, items)
        return items

    async def in_stored_version(self, kind: Kind, value: Any) -> Any:
        if type(kind) is ServedKind and kind.is_converted:
            return await self.converter.stored(kind, value)
        return value

    async def wrote(self, kind: Kind) -> None:
        if kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
            await self.definitions.settled()

    def marked_for_deletion(self, kind: Kind, document: Raw) -> Raw:
        return self.definitions.marked(document) if kind is KINDS.CUSTOM_RESOURCE_DEFINITION else document

    def end_watches(self) -> None:
        """Let every watch end with a bookmark, where its client allows them."""
        for changes in list(self.open_watches):
            changes.close()
