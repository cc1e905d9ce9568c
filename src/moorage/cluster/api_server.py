"""Start the API server: store, certificates, the listening socket, and the kubeconfig that lets clients in."""

import asyncio
import datetime
import socket
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from moorage.client.kubeconfig.context_file import Login, kubeconfig_of, render_yaml
from moorage.cluster.admission_plugins import MOUNTS_TOKENS, PROTECTS_STORAGE, TAINTS_NODES
from moorage.cluster.automatic_snapshots import AutomaticSnapshots, SnapshotPlan
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.health import Phase, health_checks
from moorage.cluster.kubeconfig_files import KubeconfigPlace
from moorage.cluster.transfer.stored_values import SIBLINGS, stored_problem
from moorage.model.api_error import ApiError
from moorage.model.gates import Component, GateSet
from moorage.model.kinds import KINDS
from moorage.model.signing_terms import SigningTerms
from moorage.serve.access.modes import DEFAULT_MODES, WrongModes, read_modes, use_modes
from moorage.serve.audit.answer_logs import AnswerLogs
from moorage.serve.audit.audit_log import AuditLog
from moorage.serve.cluster.api_configuration import configure_api
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.cluster.event_expiry import EVENT_SECONDS, EventExpiry
from moorage.serve.cluster.server_identity import (
    NO_ADDRESS,
    ServerIdentity,
    endpoint_address,
    publish_authentication,
    publish_endpoints,
)
from moorage.serve.http.messages import AnswerLog
from moorage.serve.http.server import Server
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.pki.certificates import CertificateError, RequestSigner
from moorage.serve.pki.credentials import (
    NO_FILES,
    Credentials,
    GivenFiles,
    open_credentials,
    outward_address,
    server_names,
    server_url,
)
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.request_log import RequestLog
from moorage.serve.requests.web_paths import SnapshotSource, WebPaths
from moorage.serve.resources.kube_apiserver_values import etcd_roots, plain_value
from moorage.serve.resources.objects import prefix_of
from moorage.serve.tokens.keys import TokenKeyError, open_token_keys
from moorage.serve.tokens.service_accounts import TokenKeys, TokenSettings
from moorage.serve.verbs.api import Api
from moorage.serve.webhooks.services import read_webhook_service
from moorage.store.data_directory import StoreUnusable
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.memory import MemoryStore
from moorage.store.protocol import KeyExists, KeyMissing, RevisionMismatch, Store, StoreError
from moorage.store.sqlite import SqliteStore
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.logs import log_loop_error
from moorage.telemetry.metrics import Metrics, add_feature_metrics, add_process_metrics
from moorage.telemetry.watchdog import Watchdog

_GRACE_SECONDS = 5.0
_GOODBYE_SECONDS = 2.0
_TRIES = 10


DEFAULT_MODE = ",".join(DEFAULT_MODES)


class ApiServerSettings(msgspec.Struct, frozen=True):
    """Where to listen and where to keep data; without a directory nothing is kept. The flags are those of `Api`.

    A port that is only preferred may be another one if it is taken.
    """

    gates: GateSet
    data_dir: Path | None
    bind_address: str = "127.0.0.1"
    port: int = 0
    collects_garbage: bool = False
    #: Those of `admission_plugins` that run.
    plugins: frozenset[str] = frozenset()
    prefers_port: bool = False
    tokens: TokenSettings = TokenSettings()
    #: The file with the key that signs tokens, if it is not the cluster's own, and those with keys that verify them.
    signing_key: Path | None = None
    verification_keys: tuple[Path, ...] = ()
    #: What decides what users may do, as `--authorization-mode` has it, and the policies of ABAC.
    authorization_mode: str = DEFAULT_MODE
    policy_file: Path | None = None
    #: The etcd that has the objects, which other API servers may share, in place of a store in `data_dir`.
    etcd: EtcdSettings | None = None
    #: Where certificates and keys are, if not in `data_dir`: API servers of one cluster share it, or copies of it.
    cert_dir: Path | None = None
    files: GivenFiles = NO_FILES
    #: The address at which other members of the cluster find this server, if not `bind_address`.
    advertise_address: str = ""
    #: Seconds for which a server that is told to stop goes on, while /readyz says that it will stop.
    shutdown_delay: float = 0.0
    #: Seconds for which events are kept.
    event_ttl: float = EVENT_SECONDS
    #: Snapshots of a store in `data_dir` that are taken from time to time.
    snapshot_plan: SnapshotPlan | None = None
    #: Where the webhooks of Services are: NAMESPACE/NAME=https://HOST[:PORT].
    webhook_services: tuple[str, ...] = ()
    #: The file that audit events are written to, `-` for standard output; empty for none.
    audit_log_path: str = ""

    @property
    def pki(self) -> Path | None:
        if self.cert_dir is not None:
            return self.cert_dir
        return None if self.data_dir is None else self.data_dir / "pki"

    @property
    def shares_pki(self) -> bool:
        return self.etcd is not None or self.cert_dir is not None


class ApiServer:
    """Made by `start_api_server`. `api` is for components in this process, `url` for all others."""

    def __init__(
        self,
        api: Api,
        server: Server,
        credentials: Credentials,
        url: str,
        metrics: Metrics,
        snapshots: SnapshotSource,
        settings: ApiServerSettings,
        phase: Phase,
        identity: ServerIdentity | None,
        *,
        is_new: bool,
    ) -> None:
        """`is_new`: the store had nothing in it. `identity` is that of a server which shares its store."""
        self.is_new = is_new
        self._settings, self._phase, self._identity = settings, phase, identity
        self.api, self.url, self.metrics, self.snapshots = api, url, metrics, snapshots
        self.watchdog = Watchdog(metrics)
        self._server, self._credentials = server, credentials
        self._tasks = []
        if not api.store.expires(prefix_of(KINDS.EVENT), int(settings.event_ttl)):
            expiry = EventExpiry(api.store, time.monotonic, settings.event_ttl)
            self._tasks.append(asyncio.create_task(expiry.run()))
        if identity is not None:
            self._tasks.append(asyncio.create_task(identity.run()))
        if settings.snapshot_plan is not None and settings.data_dir is not None and settings.etcd is None:
            taking = AutomaticSnapshots(
                api.store, settings.data_dir, settings.snapshot_plan, lambda: snapshots.description
            )
            self._tasks.append(asyncio.create_task(taking.run()))

    @property
    def authority(self) -> str:
        """Return the authority of the server's certificate, in PEM."""
        return self._credentials.authority.issued.certificate.decode()

    def sign_certificate(self, terms: SigningTerms) -> bytes:
        """Sign a certificate request with the cluster's authority, which is never shown."""
        return self._request_signer.sign(terms)

    @cached_property
    def _request_signer(self) -> RequestSigner:
        return RequestSigner(self._credentials.authority.issued)

    def login(self) -> Login:
        return self._credentials.login(self.url)

    def kubeconfig(self) -> str:
        return render_yaml(kubeconfig_of("moorage", self.login()))

    async def stop(self, *, at_once: bool = True) -> None:
        """Say that it stops, wait as long as it was told to, then let requests finish, end watches, close the store.

        With `at_once` it does not wait. Kubernetes: `--shutdown-delay-duration`.
        """
        self._phase.is_stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._identity is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._identity.end()
        if not at_once:
            await asyncio.sleep(self._settings.shutdown_delay)
        await self._server.stop(_GRACE_SECONDS)
        self.api.webhooks.close()
        if self.api.audit is not None:
            self.api.audit.close()
        await self.api.store.close()


class ApiServerProcess:
    """An API server alone, with its kubeconfig: what `moorage apiserver` runs."""

    def __init__(self, settings: ApiServerSettings, kubeconfig: Path | None, *, force: bool = False) -> None:
        self.settings = settings
        self.kubeconfig = KubeconfigPlace(kubeconfig, settings.data_dir, force=force)
        self.url = ""
        self._server: ApiServer | None = None
        self._is_ready = False

    @property
    def watchdog(self) -> Watchdog:
        assert self._server is not None, "started"
        return self._server.watchdog

    async def start(self) -> None:
        """Raises CannotStart."""
        await self.kubeconfig.check()
        self._server = await start_api_server(self.settings)
        await self.kubeconfig.clear_before_start()
        add_feature_metrics(self._server.metrics, {Component.API_SERVER: self.settings.gates})
        self.url = self._server.url
        if not self.settings.files.are_all:
            await self.kubeconfig.write(self._server.login())
        self._is_ready = True

    async def failure(self) -> BaseException:
        """Wait for ever: there is no part that could end by itself."""
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(at_once=not self._is_ready)
        if not self._is_ready:
            await self.kubeconfig.withdraw()
        self.kubeconfig.clear()


async def start_api_server(settings: ApiServerSettings) -> ApiServer:
    """Raises CannotStart."""
    metrics = Metrics()
    add_process_metrics(metrics)
    asyncio.get_running_loop().set_exception_handler(log_loop_error)
    store = await _open_store(settings)
    try:
        credentials = _open_credentials(settings)
        api = Api(
            store,
            settings.gates,
            clock=time.time,
            collects_garbage=settings.collects_garbage,
            taints_new_nodes=TAINTS_NODES in settings.plugins,
            protects_storage=PROTECTS_STORAGE in settings.plugins,
            mounts_tokens=MOUNTS_TOKENS in settings.plugins,
            metrics=ApiServerMetrics(metrics),
            fixed_tokens={credentials.token: ADMIN} if credentials.token else {},
            token_settings=settings.tokens,
            token_keys=_token_keys(settings),
            webhook_services=dict(map(read_webhook_service, settings.webhook_services)),
        )
        logs: list[AnswerLog] = [RequestLog(), *_audit_logs(api, settings.audit_log_path)]
        use_modes(api, read_modes(settings.authorization_mode, settings.policy_file), settings.policy_file)
        await api.start()
        phase = Phase()
        snapshots = SnapshotSource(store, settings.data_dir)
        paths = WebPaths(health_checks(store, phase), metrics.render, api.resources, store, snapshots, api.tokens)
        handler = Handler(api, paths, api.metrics)
        gate = api.authenticator.admit
        server = Server(
            handler,
            gate=gate,
            request_log=AnswerLogs(*logs),
            end_streams=api.end_watches,
            client_gone=api.long_work.abandon,
        )
        await _listen(server, settings, credentials)
        address = settings.advertise_address or settings.bind_address
        address = outward_address() if _is_local(address) else address
        identity = None
        if store.is_shared:
            identity = ServerIdentity(api, socket.gethostname(), address, server.port)
        is_new = await _make_own_objects(api, server.port, address, identity, credentials)
    except WrongModes as error:
        await store.close()
        raise CannotStart(str(error)) from None
    except OSError as error:
        await store.close()
        where = f"{settings.bind_address} port {settings.port}"
        raise CannotStart(f"cannot listen on {where}: {error.strerror or error}") from None
    except BaseException:
        await store.close()
        raise
    url = paths.url = server_url(settings.bind_address, server.port)
    phase.has_started = True
    return ApiServer(api, server, credentials, url, metrics, snapshots, settings, phase, identity, is_new=is_new)


def _audit_logs(api: Api, path: str) -> tuple[AuditLog, ...]:
    """Open the audit log, if there is to be one. Raises CannotStart."""
    if not path:
        return ()
    try:
        api.audit = AuditLog(path, api.clock)
    except OSError as error:
        raise CannotStart(f"cannot write the audit log {path}: {error.strerror or error}") from None
    return (api.audit,)


async def _make_own_objects(
    api: Api, port: int, address: str, identity: ServerIdentity | None, credentials: Credentials
) -> bool:
    """Create what every cluster has, and say where this server is; return whether the cluster is new.

    Servers that start at the same time on one store may be in each other's way: then it is tried again.
    """
    is_new = False
    for attempt in range(_TRIES):
        try:
            await api.store.catch_up()
            is_new = await bootstrap(api, port) or is_new
            await configure_api(api)
            await (publish_endpoints(api, [(address, port)]) if identity is None else identity.begin())
            await publish_authentication(api, credentials.client_authority)
        except (ApiError, StoreError) as error:
            is_conflict = isinstance(error, KeyExists | KeyMissing | RevisionMismatch) or (
                isinstance(error, ApiError) and error.code in (404, 409)
            )
            if not is_conflict or attempt == _TRIES - 1:
                raise CannotStart(f"the cluster's own objects cannot be written: {error}") from None
        else:
            break
    return is_new


def _is_local(address: str) -> bool:
    return endpoint_address(address) == NO_ADDRESS


async def _listen(server: Server, settings: ApiServerSettings, credentials: Credentials) -> None:
    """Listen on the port, or on any if it is taken and only preferred. Raises OSError."""
    try:
        await server.start(settings.bind_address, settings.port, credentials.server_context())
    except OSError:
        if not settings.prefers_port:
            raise
        await server.start(settings.bind_address, 0, credentials.server_context())


async def _open_store(settings: ApiServerSettings) -> Store:
    try:
        if settings.etcd is not None:
            from moorage.store.etcd.store import EtcdStore  # which few need

            return await EtcdStore.open(settings.etcd, etcd_roots(), read_value=plain_value)
        if settings.data_dir is None:
            return MemoryStore()
        siblings = SIBLINGS if settings.cert_dir is None else ()
        return await SqliteStore.open(settings.data_dir, check=stored_problem, siblings=siblings)
    except StoreUnusable as error:
        raise CannotStart(str(error)) from None


def _token_keys(settings: ApiServerSettings) -> TokenKeys:
    shares = settings.shares_pki
    try:
        return open_token_keys(settings.pki, settings.signing_key, settings.verification_keys, is_shared=shares)
    except TokenKeyError as error:
        raise CannotStart(f"service account tokens cannot be signed: {error}") from None
    except OSError as error:
        raise CannotStart(f"service account tokens cannot be signed: {error.filename}: {error.strerror}") from None


def _open_credentials(settings: ApiServerSettings) -> Credentials:
    now, names = datetime.datetime.now(datetime.UTC), server_names(settings.bind_address, settings.advertise_address)
    try:
        return open_credentials(settings.pki, names, now, is_shared=settings.shares_pki, given=settings.files)
    except CertificateError as error:
        raise CannotStart(f"certificates cannot be made: {error}") from None
    except OSError as error:
        raise CannotStart(f"certificates cannot be made: {error.filename}: {error.strerror}") from None
