"""Run the cluster under test: etcd members, API servers, schedulers, controller managers and kubelets as processes.

Members reach each other through links, and API servers reach each member through a link of their own, so that each way
can be disturbed by itself. Components reach the API servers through the balancer of `moorage up --ha`. Every process
has a log, and is started again when it ends.
"""

import asyncio
import json
import shutil
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.etcd_process import BINARIES, free_ports
from tests.faults.rig.child import Child, keep_running
from tests.faults.rig.link import Link
from tests.faults.rig.machine import HUB, Clock, Machine

from moorage.client.kubeconfig.access import Access, tls_context
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.ha.balancer import Backend, Balancer, HealthCheck

LOCAL = "127.0.0.1"
START_SECONDS = 120.0


class Shape(NamedTuple):
    """How many of each; no etcd member: one API server on SQLite."""

    members: int = 3
    api_servers: int = 2
    schedulers: int = 2
    controller_managers: int = 2
    nodes: int = 4
    #: Arguments of leader election.
    election: tuple[str, ...] = ()
    #: What is run as an API server: the real one, or a twin that is broken on purpose.
    server_module: tuple[str, ...] = ("moorage",)


class Member(NamedTuple):
    """An etcd member: its process, the way other members reach it, its own address, and its disk if it has one."""

    number: int
    child: Child
    peer_link: Link
    address: tuple[str, int]
    disk: Path | None

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}"


class Server(NamedTuple):
    """An API server: its process, its port, its links to the members, and its clock and disk if they can be set."""

    child: Child
    port: int
    links: tuple[Link, ...]
    clock: Clock | None
    disk: Path | None
    data: Path
    backend: Backend

    @property
    def name(self) -> str:
        return self.child.name


class Cluster:
    """All of it. Made by `running_cluster`."""

    def __init__(self, directory: Path, machine: Machine, shape: Shape) -> None:
        self.directory, self.machine, self.shape = directory, machine, shape
        self.members: list[Member] = []
        self.servers: list[Server] = []
        self.components: list[Child] = []
        self.clocks: dict[str, Clock] = {}
        self.links: list[Link] = []
        self.balancer = Balancer([])
        self.accesses: dict[str, Access] = {}
        self._kubeconfig = directory / "kubeconfig"

    @property
    def children(self) -> list[Child]:
        members = [member.child for member in self.members]
        return [*members, *(server.child for server in self.servers), *self.components]

    def access(self, server: str) -> Access:
        return self.accesses[server]

    # Starting.

    async def start(self) -> None:
        if self.shape.members:
            await self._start_members()
        for number in range(self.shape.api_servers if self.shape.members else 1):
            await self._start_server(number)
        await self._start_balancer()
        for number in range(self.shape.schedulers):
            self._start_component("scheduler", number, *self.shape.election)
        for number in range(self.shape.controller_managers):
            self._start_component("controller-manager", number, *self.shape.election)
        self._start_component("kubelet", 0, "--nodes", str(self.shape.nodes))

    async def _start_members(self) -> None:
        count = self.shape.members
        ports = free_ports(2 * count)
        has_networks = not self.machine.why_no_network
        places: list[tuple[str, list[str]]] = [(LOCAL, [])] * count
        if has_networks:
            places = [self.machine.make_network(number) for number in range(count)]
        links = []
        for number, (address, _) in enumerate(places):
            link = Link(f"peers→etcd-{number}", (address, ports[count + number]), HUB if has_networks else LOCAL)
            await link.start()
            links.append(link)
        self.links += links
        everyone = ",".join(f"etcd-{number}={link.url}" for number, link in enumerate(links))
        for number, (address, inside) in enumerate(places):
            disk = None if self.machine.why_no_disk else self.directory / f"disk-{number}"
            if disk is not None:
                self.machine.mount_disk(disk)
            url, peer_url = f"http://{address}:{ports[number]}", f"http://{address}:{ports[count + number]}"
            command = [*inside, str(BINARIES / "etcd"), "--name", f"etcd-{number}"]
            command += ["--data-dir", str((disk or self.directory) / f"data-{number}")]
            command += ["--listen-client-urls", url, "--advertise-client-urls", url]
            command += ["--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", links[number].url]
            command += ["--initial-cluster", everyone, "--max-wals", "2", "--log-level", "warn"]
            child = Child(f"etcd-{number}", command, self.directory / f"etcd-{number}.log")
            child.start()
            self.members.append(Member(number, child, links[number], (address, ports[number]), disk))
        for member in self.members:
            await self._until(partial(_healthy, member.url), member.child)

    async def _start_server(self, number: int) -> None:
        name, data = f"apiserver-{number}", self.directory / f"apiserver-{number}"
        disk = None
        if not self.members and not self.machine.why_no_disk:
            self.machine.mount_disk(data)
            disk = data
        data.mkdir(exist_ok=True)
        if number:  # one authority for all
            shutil.copytree(self.directory / "apiserver-0" / "pki", data / "pki")
        (port,) = free_ports(1)
        kubeconfig = self.directory / f"{name}.kubeconfig"
        command = [sys.executable, "-m", *self.shape.server_module, "apiserver"]
        command += ["--data-dir", str(data), "--port", str(port)]
        command += ["--write-kubeconfig", str(kubeconfig), "--force"]
        links = []
        for member in self.members:
            link = Link(f"{name}→{member.child.name}", member.address)
            await link.start()
            links.append(link)
        self.links += links
        if links:
            command += ["--etcd-servers", ",".join(link.url for link in links)]
        clock = self._clock(name)
        child = Child(name, command, self.directory / f"{name}.log", clock.environment if clock else None)
        child.start()
        self.servers.append(Server(child, port, tuple(links), clock, disk, data, Backend(name, LOCAL, port)))
        await self._until(kubeconfig.exists, child)
        self.accesses[name] = load_access(str(kubeconfig))

    def _clock(self, name: str) -> Clock | None:
        if self.machine.why_no_clock:
            return None
        self.clocks[name] = Clock(self.machine.clock_library, self.directory / f"{name}.clock")
        return self.clocks[name]

    async def _start_balancer(self) -> None:
        self.balancer = Balancer([server.backend for server in self.servers])
        await self.balancer.start(LOCAL, 0)
        text = (self.directory / "apiserver-0.kubeconfig").read_text()
        first = self.servers[0].port
        self._kubeconfig.write_text(text.replace(f":{first}", f":{self.balancer.port}"))

    def _start_component(self, kind: str, number: int, *arguments: str) -> None:
        name = f"{kind}-{number}"
        command = [sys.executable, "-m", "moorage", kind, "--kubeconfig", str(self._kubeconfig), "--metrics-port", "-1"]
        clock = self._clock(name)
        environment = clock.environment if clock else None
        child = Child(name, [*command, *arguments], self.directory / f"{name}.log", environment)
        child.start()
        self.components.append(child)

    async def _until(self, holds: Callable[[], object], child: Child) -> None:
        """Wait until something holds, for which a process must run."""
        async with asyncio.timeout(START_SECONDS):
            while not await asyncio.to_thread(holds):
                if not child.is_running:
                    raise CannotRun(f"{child.name} has ended:\n{child.said()}")
                await asyncio.sleep(0.1)

    # Watching over it.

    def health_checks(self) -> list[HealthCheck]:
        """Return what tells the balancer which API servers are ready."""
        context = tls_context(self.accesses[self.servers[0].name])
        return [HealthCheck(self.balancer, server.backend, context) for server in self.servers]

    def mend(self) -> None:
        """Undo whatever is still being done to links, and let everything run."""
        for link in self.links:
            link.mend()

    def are_members_healthy(self) -> bool:
        return all(member.child.is_running and _healthy(member.url) for member in self.members)

    def leader(self) -> int | None:
        """Return the number of the member that leads; None if it cannot be found out."""
        for member in self.members:
            status = gateway(member.url, "maintenance/status", {})
            if status and (leader := status.get("leader")):
                names = gateway(member.url, "cluster/member/list", {}) or {}
                for one in names.get("members", ()):
                    if one.get("ID") == leader and str(one.get("name", "")).startswith("etcd-"):
                        return int(one["name"].rpartition("-")[2])
        return None

    async def stop(self) -> dict[str, int]:
        """Stop all, components first, and return exit statuses."""
        found: dict[str, int] = {}
        for group in (self.components, [server.child for server in self.servers], [one.child for one in self.members]):
            statuses = await asyncio.gather(*(child.stop() for child in group))
            found |= dict(zip((child.name for child in group), statuses, strict=True))
        return found


class CannotRun(Exception):
    """The cluster cannot be started; the text has the end of a log."""


def gateway(url: str, call: str, body: dict[str, Any], seconds: float = 2.0) -> dict[str, Any] | None:
    """Call etcd's JSON gateway; None if it does not answer."""
    request = urllib.request.Request(f"{url}/v3/{call}", json.dumps(body).encode())
    with suppress(OSError, ValueError), urllib.request.urlopen(request, timeout=seconds) as answer:
        found: dict[str, Any] = json.load(answer)
        return found
    return None


def _healthy(url: str) -> bool:
    with suppress(OSError, ValueError), urllib.request.urlopen(f"{url}/health", timeout=2.0) as answer:
        return bool(json.load(answer).get("health") == "true")
    return False


@asynccontextmanager
async def running_cluster(directory: Path, machine: Machine, shape: Shape) -> AsyncIterator[Cluster]:
    """Run a cluster; at the end of the block everything is stopped."""
    cluster = Cluster(directory, machine, shape)
    tasks: list[asyncio.Task[None]] = []
    try:
        await cluster.start()
        parts = [keep_running(cluster.children), *(check.run() for check in cluster.health_checks())]
        tasks = [asyncio.create_task(part) for part in parts]
        yield cluster
    finally:
        await _cancel(tasks)
        for child in cluster.children:
            child.kill()
        await cluster.balancer.stop()
        for link in cluster.links:
            await link.stop()


async def _cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
