"""Starts the API server: store, certificates, the listening socket, and the kubeconfig that lets clients in."""

import asyncio
import datetime
import time
from functools import cached_property
from pathlib import Path

import msgspec

from moorage.client.kubeconfig.context_file import Login, kubeconfig_of, render_yaml
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.kubeconfig_place import KubeconfigPlace
from moorage.model.gates import Component, GateSet
from moorage.model.signing_terms import SigningTerms
from moorage.serve.access.modes import DEFAULT_MODES, WrongModes, read_modes, use_modes
from moorage.serve.api import Api
from moorage.serve.cluster.api_configuration import configure_api
from moorage.serve.cluster.api_endpoints import (
    NO_ADDRESS,
    endpoint_address,
    publish_authentication,
    publish_endpoints,
)
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.cluster.event_expiry import EventExpiry
from moorage.serve.handler import Handler
from moorage.serve.http.server import Server
from moorage.serve.observe.request_log import RequestLog
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.pki.certificates import CertificateError
from moorage.serve.pki.credentials import (
    Credentials,
    open_credentials,
    outward_address,
    server_names,
    server_url,
)
from moorage.serve.pki.request_signer import RequestSigner
from moorage.serve.snapshot_path import SnapshotSource
from moorage.serve.tokens.key_files import open_token_keys
from moorage.serve.tokens.keys import TokenKeyError
from moorage.serve.tokens.service_accounts import TokenKeys, TokenSettings
from moorage.serve.web_paths import Check, WebPaths
from moorage.store.log_file import StoreUnusable
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Store
from moorage.store.sqlite import SqliteStore
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.logs import log_loop_error
from moorage.telemetry.metrics import Metrics, add_feature_metrics, add_process_metrics
from moorage.telemetry.watchdog import Watchdog

_GRACE_SECONDS = 5.0


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
    taints_new_nodes: bool = False
    protects_storage: bool = False
    prefers_port: bool = False
    tokens: TokenSettings = TokenSettings()
    #: The file with the key that signs tokens, if it is not the cluster's own, and those with keys that verify them.
    signing_key: Path | None = None
    verification_keys: tuple[Path, ...] = ()
    #: What decides what users may do, as `--authorization-mode` has it, and the policies of ABAC.
    authorization_mode: str = DEFAULT_MODE
    policy_file: Path | None = None


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
        *,
        is_new: bool,
    ) -> None:
        """`is_new`: the store had nothing in it."""
        self.is_new = is_new
        self.api, self.url, self.metrics, self.snapshots = api, url, metrics, snapshots
        self.watchdog = Watchdog(metrics)
        self._server, self._credentials = server, credentials
        self._expiry = asyncio.create_task(EventExpiry(api.store, time.monotonic).run())

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

    async def stop(self) -> None:
        """Requests finish, watches end, accepted writes become durable."""
        self._expiry.cancel()
        await asyncio.gather(self._expiry, return_exceptions=True)
        await self._server.stop(_GRACE_SECONDS)
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
        await self.kubeconfig.write(self._server.login())
        self._is_ready = True

    async def failure(self) -> BaseException:
        """Wait for ever: there is no part that could end by itself."""
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop()
        if not self._is_ready:
            await self.kubeconfig.withdraw()
        self.kubeconfig.clear()


async def start_api_server(settings: ApiServerSettings) -> ApiServer:
    """Raises CannotStart."""
    metrics = Metrics()
    add_process_metrics(metrics)
    asyncio.get_running_loop().set_exception_handler(log_loop_error)
    store = await _open_store(settings.data_dir)
    try:
        credentials = _open_credentials(settings)
        api = Api(
            store,
            settings.gates,
            clock=time.time,
            collects_garbage=settings.collects_garbage,
            taints_new_nodes=settings.taints_new_nodes,
            protects_storage=settings.protects_storage,
            metrics=ApiServerMetrics(metrics),
            fixed_tokens={credentials.token: ADMIN},
            token_settings=settings.tokens,
            token_keys=_token_keys(settings),
        )
        use_modes(api, read_modes(settings.authorization_mode, settings.policy_file), settings.policy_file)
        await api.start()
        checks = Check("ping", lambda: ""), Check("store", lambda: store.complaint)
        snapshots = SnapshotSource(store, settings.data_dir)
        paths = WebPaths(checks, metrics.render, api.resources, store, snapshots, api.tokens)
        handler = Handler(api, paths, api.metrics)
        server = Server(handler, gate=api.authenticator.authenticate, request_log=RequestLog())
        await _listen(server, settings, credentials)
        is_new = await bootstrap(api, server.port)
        await configure_api(api)
        address = settings.bind_address
        await publish_endpoints(api, [(outward_address() if _is_local(address) else address, server.port)])
        await publish_authentication(api, credentials.authority.issued.certificate.decode())
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
    return ApiServer(api, server, credentials, url, metrics, snapshots, is_new=is_new)


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


async def _open_store(data_dir: Path | None) -> Store:
    if data_dir is None:
        return MemoryStore()
    try:
        return await SqliteStore.open(data_dir)
    except StoreUnusable as error:
        raise CannotStart(str(error)) from None


def _token_keys(settings: ApiServerSettings) -> TokenKeys:
    directory = None if settings.data_dir is None else settings.data_dir / "pki"
    try:
        return open_token_keys(directory, settings.signing_key, settings.verification_keys)
    except TokenKeyError as error:
        raise CannotStart(f"service account tokens cannot be signed: {error}") from None
    except OSError as error:
        raise CannotStart(f"service account tokens cannot be signed: {error.filename}: {error.strerror}") from None


def _open_credentials(settings: ApiServerSettings) -> Credentials:
    directory = None if settings.data_dir is None else settings.data_dir / "pki"
    now = datetime.datetime.now(datetime.UTC)
    try:
        return open_credentials(directory, server_names(settings.bind_address), now)
    except CertificateError as error:
        raise CannotStart(f"certificates cannot be made: {error}") from None
    except OSError as error:
        raise CannotStart(f"certificates cannot be made: {error.filename}: {error.strerror}") from None
