"""Run a cluster of several processes on this machine: what `moorage up --ha N` starts, keeps running and stops.

N etcd members, N API servers, N schedulers and N controller managers, of which one each leads, and one process of
simulated kubelets. Clients and components use one address, which `balancer` serves. The kubeconfig is written last.
Kubernetes: kubeadm's stacked topology, on one machine.
"""

import asyncio
import datetime
import shutil
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import Access
from moorage.client.kubeconfig.private_file import write_private
from moorage.client.protocol import Unreachable
from moorage.cluster.api_server import ApiServerSettings, start_api_server
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.control_plane import DEFAULT_NODES, Settings, ensure_default_class
from moorage.cluster.event_loop import first_failure
from moorage.cluster.ha.balancer import Backend, Balancer, HealthCheck
from moorage.cluster.ha.certificates import CLIENT, make_etcd_certificates, write_component_kubeconfigs
from moorage.cluster.ha.commands import Commands, child_environment
from moorage.cluster.ha.layout import COMPONENTS, ETCD, LOGS, Members, find_etcd, free_port, is_free, open_members
from moorage.cluster.ha.supervised import SupervisedProcess
from moorage.cluster.kubeconfig_files import KubeconfigPlace
from moorage.cluster.settling import settled
from moorage.cluster.transfer.importing import import_objects, refuse_if_filled
from moorage.cluster.transfer.manifests import load_manifests
from moorage.cluster.transfer.other_cluster import read_other_cluster
from moorage.control.framework.workloads import is_ready
from moorage.model.api_error import ApiError
from moorage.model.gate_skew import Skew, known_values, skews
from moorage.model.gates import Component
from moorage.model.kinds import KINDS
from moorage.serve.access.bootstrap.policy import CONTROLLER_MANAGER, KUBELETS, SCHEDULER, component_policy
from moorage.serve.pki.certificates import CertificateError
from moorage.serve.pki.credentials import Credentials, open_credentials, outward_address, server_names, server_url
from moorage.serve.tokens.keys import TokenKeyError, open_token_keys
from moorage.store.data_directory import DataDirectory, StoreUnusable
from moorage.store.etcd.settings import EtcdSettings
from moorage.telemetry.metrics import Metrics
from moorage.telemetry.watchdog import Watchdog

_START_SECONDS = 120.0
_LOOK_EVERY = 0.05
_ETCD_SECONDS = 2.0
#: A process that has ended so often before the cluster is ready will not become ready.
_MOST_ENDS = 4
_STOP_COMPONENTS, _STOP_SERVERS = 6.0, 10.0
#: The last etcd member looks for one to lead in its place for seven seconds. What it has acknowledged is on disk.
_STOP_ETCD = 1.0
_LOCAL = ("127.0.0.1", "localhost", "::1")


class HaPlane:
    """Start it, stop it. `processes` are all that it keeps running, in the order in which they were started."""

    def __init__(self, settings: Settings) -> None:
        assert settings.ha is not None, "a cluster of several processes"
        self.settings, self._ha = settings, settings.ha
        self._kubeconfig = KubeconfigPlace(
            settings.kubeconfig, settings.directory or settings.data_dir, settings.context, force=settings.force
        )
        self.watchdog = Watchdog(Metrics())
        self.notes: list[str] = []
        self.node_count = 0
        self.processes: list[SupervisedProcess] = []
        self.url = ""
        self._balancer = Balancer([])
        self._tasks: set[asyncio.Task[None]] = set()
        self._directory = settings.data_dir or settings.directory
        self._lock: DataDirectory | None = None
        self._temporary: Path | None = None
        self._client: HttpClient | None = None
        self._is_ready = False

    @property
    def kubeconfig_path(self) -> Path:
        return self._kubeconfig.path

    @property
    def skews(self) -> list[Skew]:
        """The gates that are on in some of its components only, where that does harm."""
        return skews(known_values(self.settings.gates))

    async def start(self) -> None:
        """Raises CannotStart."""
        try:
            async with asyncio.timeout(_START_SECONDS + self.settings.wait_seconds):
                await self._start()
        except TimeoutError:
            raise CannotStart(
                f"the cluster is not ready after {_START_SECONDS:g} seconds: the logs are in {self.logs}"
            ) from None
        except (Unreachable, ApiError) as error:
            raise CannotStart(f"the cluster cannot be filled: {error}; the logs are in {self.logs}") from None
        except (CertificateError, TokenKeyError) as error:
            raise CannotStart(f"certificates cannot be made: {error}") from None
        except OSError as error:
            raise CannotStart(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from None

    async def _start(self) -> None:
        settings = self.settings
        etcd = find_etcd(self._ha.etcd_binary)
        await self._kubeconfig.check()
        directory = self._open_directory()
        members = open_members(directory, self._ha.members)
        await self._kubeconfig.clear_before_start()
        credentials = await asyncio.to_thread(self._make_certificates, directory)
        commands = Commands(settings, self._ha, members, directory, etcd)
        await self._listen()
        self.url = server_url(settings.bind_address, self._balancer.port)
        self._start_etcd(commands, members)
        await self._etcd_is_healthy(directory, members)
        self._start_api_servers(commands, credentials)
        login = credentials.login(self.url)
        access = Access(self.url, certificate_authority=login.authority, token=login.token)
        client = self._client = HttpClient(access, "up")
        await self._until(self._a_server_is_ready)
        await self._bring_in(client, directory, members)
        await self._start_components(client, commands, credentials, directory)
        await self._until(self._all_servers_are_ready)
        if settings.wait_seconds and (note := await settled(client, settings.wait_seconds)):
            self.notes.append(note)
        await self._kubeconfig.write(login)
        if before := self._kubeconfig.replaced_context:
            self.notes.append(
                f"the current context of {self.kubeconfig_path} is now {settings.context}; it was {before}"
            )
        self._is_ready = True

    # ── before anything runs

    def _open_directory(self) -> Path:
        """Return the directory of the cluster, locked if this process is the one to lock it. Raises CannotStart."""
        if self._directory is None:
            self._directory = self._temporary = Path(tempfile.mkdtemp(prefix="moorage-"))
        elif self.settings.data_dir is not None:
            try:
                self._lock = DataDirectory(self._directory)
            except StoreUnusable as error:
                raise CannotStart(str(error)) from None
        for name in (ETCD, LOGS, COMPONENTS):
            (self._directory / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._directory

    @property
    def logs(self) -> Path:
        return (self._directory or Path()) / LOGS

    @property
    def _advertised(self) -> str:
        """The address that other machines see, where they may connect."""
        return "" if self.settings.bind_address in _LOCAL else outward_address()

    def _make_certificates(self, directory: Path) -> Credentials:
        now, pki = datetime.datetime.now(datetime.UTC), directory / "pki"
        names = server_names(self.settings.bind_address, self._advertised)
        credentials = open_credentials(pki, names, now, is_shared=True)
        open_token_keys(pki, None, (), is_shared=True)
        make_etcd_certificates(pki / ETCD, self._ha.members, now)
        if self._ha.scheduler_config:
            write_private(directory / COMPONENTS / "scheduler.yaml", self._ha.scheduler_config.encode())
        for place, value in enumerate(self._ha.devices):
            if value in self._ha.device_files:
                write_private(directory / COMPONENTS / f"devices-{place}.yaml", self._ha.device_files[value].encode())
        return credentials

    async def _listen(self) -> None:
        """Listen on the port, or on any if it is taken and only preferred. Raises CannotStart."""
        address, port = self.settings.bind_address, self.settings.port
        try:
            await self._balancer.start(address, port)
        except OSError as error:
            if self.settings.prefers_port:
                await self._balancer.start(address, 0)
                return
            raise CannotStart(f"cannot listen on {address} port {port}: {error.strerror or error}") from None

    # ── processes

    def _keep_running(self, name: str, command: Callable[[], list[str]]) -> None:
        process = SupervisedProcess(name, command, self.logs / f"{name}.log", child_environment())
        self.processes.append(process)
        self._run(process.run())

    def _start_etcd(self, commands: Commands, members: Members) -> None:
        """Raises CannotStart if a port of a member is taken."""
        for number, ports in enumerate(zip(members.clients, members.peers, strict=True), 1):
            for port in ports:
                if not is_free(port):
                    raise CannotStart(f"port {port} of etcd-{number} is used by another program: stop that one first")
        for number in range(1, members.count + 1):
            self._keep_running(f"etcd-{number}", lambda number=number: commands.etcd(number))  # type: ignore[misc]

    async def _etcd_is_healthy(self, directory: Path, members: Members) -> None:
        """Wait until etcd has a leader: API servers would give up soon. Raises CannotStart."""
        pki = directory / "pki" / ETCD
        authority, certificate, key = (
            (pki / name).read_bytes() for name in ("ca.crt", f"{CLIENT}.crt", f"{CLIENT}.key")
        )
        access = Access(members.urls[0], authority, client_certificate=certificate, client_key=key)
        client = HttpClient(access, "up", request_seconds=_ETCD_SECONDS)

        async def answers() -> bool:
            try:
                await client.get_path("/health")
            except (ApiError, Unreachable):
                return False
            return True

        try:
            await self._until(answers)
        finally:
            await client.close()

    def _start_api_servers(self, commands: Commands, credentials: Credentials) -> None:
        context = ssl.create_default_context(cadata=credentials.authority.issued.certificate.decode())
        address = self.settings.bind_address
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(address, address)
        for number in range(1, self._ha.members + 1):
            backend = Backend(f"apiserver-{number}", host, 0)
            self._balancer.backends.append(backend)

            def command(backend: Backend = backend) -> list[str]:
                others = {one.port for one in self._balancer.backends}
                if not backend.port or not is_free(backend.port, host):
                    backend.port = free_port(others, host)
                return commands.api_server(backend.name, backend.port, self._advertised)

            self._keep_running(backend.name, command)
            self._run(HealthCheck(self._balancer, backend, context).run())

    async def _start_components(
        self, client: HttpClient, commands: Commands, credentials: Credentials, directory: Path
    ) -> None:
        write_component_kubeconfigs(directory / COMPONENTS, credentials, self.url)
        settings = self.settings
        existing = len((await client.list_all(KINDS.NODE)).items)
        nodes = (0 if existing else DEFAULT_NODES) if settings.nodes is None else settings.nodes
        if settings.simulates:
            self._keep_running("kubelet", lambda: commands.kubelet(nodes))
        for number in range(1, self._ha.members + 1):
            self._keep_running(f"scheduler-{number}", commands.scheduler)
        if commands.controllers:
            for number in range(1, self._ha.members + 1):
                self._keep_running(f"controller-manager-{number}", commands.controller_manager)
        if settings.simulates:
            await self._until(lambda: self._nodes_are_ready(client, max(nodes, existing)))

    async def _bring_in(self, client: HttpClient, directory: Path, members: Members) -> None:
        """Make what a new cluster has, then bring in what --from and --load say. Raises CannotStart."""
        settings = self.settings
        for document in component_policy({user.name: user.name for user in (SCHEDULER, CONTROLLER_MANAGER, KUBELETS)}):
            if document["kind"] == KINDS.CLUSTER_ROLE_BINDING.name:
                with suppress(ApiError):  # it is there already
                    await client.create(KINDS.CLUSTER_ROLE_BINDING, document)
        if settings.source:
            await self._import(directory, members)
        if settings.manifests:
            skips = settings.skips_unserved
            self.notes += await load_manifests(client, settings.manifests, skips_unserved=skips)
        is_new = (
            not (await client.list_all(KINDS.STORAGE_CLASS)).items and not (await client.list_all(KINDS.NODE)).items
        )
        if is_new and settings.simulates_storage and not settings.source:
            await ensure_default_class(client)

    async def _import(self, directory: Path, members: Members) -> None:
        """Bring in the state of another cluster, by an API server in this process. Raises CannotStart."""
        pki = directory / "pki"
        certificate, key = (str(pki / ETCD / f"{CLIENT}.{end}") for end in ("crt", "key"))
        etcd = EtcdSettings(
            servers=members.urls, ca_file=str(pki / ETCD / "ca.crt"), cert_file=certificate, key_file=key
        )
        gates = self.settings.gates[Component.API_SERVER]
        server = await start_api_server(ApiServerSettings(gates, None, etcd=etcd, cert_dir=pki))
        try:
            await refuse_if_filled(server.api)
            self.notes += await import_objects(server.api, await read_other_cluster(self.settings.source))
        finally:
            await server.stop()

    # ── waiting

    async def _a_server_is_ready(self) -> bool:
        return any(backend.is_ready for backend in self._balancer.backends)

    async def _all_servers_are_ready(self) -> bool:
        return all(backend.is_ready for backend in self._balancer.backends)

    async def _nodes_are_ready(self, client: HttpClient, count: int) -> bool:
        try:
            nodes = (await client.list_all(KINDS.NODE)).items
        except (ApiError, Unreachable):
            return False
        self.node_count = len(nodes)
        return self.node_count >= count and all(is_ready(node.view) for node in nodes)

    async def _until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something holds. Raises CannotStart if a process ends again and again meanwhile."""
        while not await holds():
            for process in self.processes:
                if process.ends >= _MOST_ENDS:
                    last_words = f": {process.last_words}" if process.last_words else ""
                    raise CannotStart(
                        f"{process.name} ends again and again ({process.ending}){last_words} [{process.log}]"
                    )
            await asyncio.sleep(_LOOK_EVERY)

    def _run(self, part: Coroutine[Any, Any, None]) -> None:
        self._tasks.add(asyncio.create_task(part))

    async def failure(self) -> BaseException:
        return await first_failure(self._tasks)

    # ── stopping

    async def stop(self) -> None:
        """Stop components first, which give up their Leases, then API servers, then etcd; each within bounded time."""
        named: dict[str, list[SupervisedProcess]] = {"etcd": [], "apiserver": [], "component": []}
        for process in self.processes:
            kind = process.name.rpartition("-")[0]
            named[kind if kind in named else "component"].append(process)
        await _stop_all(named["component"], _STOP_COMPONENTS)
        if self._client is not None:
            await self._client.close()
        await _stop_all(named["apiserver"], _STOP_SERVERS)
        await self._balancer.stop()
        await asyncio.gather(*(process.stop(_STOP_ETCD, may_be_killed=True) for process in named["etcd"]))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if not self._is_ready:
            await self._kubeconfig.withdraw()
        self._kubeconfig.clear()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()


async def _stop_all(processes: Iterable[SupervisedProcess], seconds: float) -> None:
    await asyncio.gather(*(process.stop(seconds) for process in processes))
