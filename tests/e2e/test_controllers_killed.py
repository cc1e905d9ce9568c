"""kill -9 of components while a Deployment and a DaemonSet are rolled: it goes on, or another one does, by the laws."""

import asyncio
import json
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.e2e.component_processes import Components, Process, components, until
from tests.e2e.rollout_laws import (
    DAEMON_SET,
    DEPLOYMENT,
    REPLICAS,
    SURGE,
    UNAVAILABLE,
    VERSION,
    RolloutWatcher,
    check_owners,
)
from tests.e2e.wire_client import Access, WireClient

Raw = dict[str, Any]

_NODES = [f"node-{number}" for number in range(1, 5)]
_PATIENCE = 240.0  # seconds: for a test that fails instead of hanging
_ELECTION = (
    *("--leader-elect-lease-duration", "6s"),
    *("--leader-elect-renew-deadline", "5s"),
    *("--leader-elect-retry-period", "200ms"),
)
_JSON = {"Content-Type": "application/json"}
_MERGE = {"Content-Type": "application/merge-patch+json"}
_WORKLOADS = "/apis/apps/v1/namespaces/default"


class _Cluster:
    """Four processes, one of each kind, and the watcher of what they do. `election` is the controller manager's."""

    def __init__(self, made: Components, election: tuple[str, ...] = ("--no-leader-elect",)) -> None:
        self._made = made
        self.watcher = RolloutWatcher()
        self.kills = 0
        server = made.api_server()
        # It stays valid for as long as the data is there; the server's own is away while the server is.
        kubeconfig = made.directory / "first-kubeconfig"
        shutil.copy(made.kubeconfig, kubeconfig)
        reached = ("--kubeconfig", str(kubeconfig), "--metrics-port", "-1")
        self._start: dict[str, Callable[[], Process]] = {
            "scheduler": lambda: made.start("scheduler", *reached, "--no-leader-elect"),
            "controller-manager": lambda: made.start("controller-manager", *reached, *election),
            "kubelet": lambda: made.start("kubelet", *reached, "--nodes", str(len(_NODES))),
        }
        self._running = {"apiserver": server, **{name: start() for name, start in self._start.items()}}
        self._start["apiserver"] = made.api_server
        self._access = Access(kubeconfig)
        self._following: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Both workloads are there, with all their pods."""
        async with WireClient(self._access) as client:
            for kind, plural, spec in (("Deployment", "deployments", _deployment()), ("DaemonSet", "daemonsets", {})):
                document = _workload(kind, DEPLOYMENT if spec else DAEMON_SET, spec)
                answer = await client.ask("POST", f"{_WORKLOADS}/{plural}", json.dumps(document).encode(), _JSON)
                assert answer.status == 201, answer
        self._following = asyncio.create_task(self.watcher.follow(self._access))
        await self.until(lambda: self.watcher.ready("1") == REPLICAS and self.watcher.on_nodes() == _NODES)
        self.watcher.begins()

    async def roll(self, version: str) -> None:
        template = {"metadata": {"labels": {VERSION: version}}}
        async with WireClient(self._access) as client:
            for target in (f"deployments/{DEPLOYMENT}", f"daemonsets/{DAEMON_SET}"):
                patch = json.dumps({"spec": {"template": template}}).encode()
                answer = await client.ask("PATCH", f"{_WORKLOADS}/{target}", patch, _MERGE)
                assert answer.status == 200, answer

    async def kill_and_restart(self, name: str, meanwhile: Awaitable[None] | None = None) -> None:
        await self.kill(name)
        if meanwhile is not None:
            await meanwhile
        self._running[name] = await asyncio.to_thread(self._start[name])

    def start_another(self, name: str) -> Process:
        """One more of a kind, which waits until the first, which leads, is gone."""
        leader = self._running[name]
        until(lambda: "Successfully acquired lease" in self._made.log_of(leader).read_text())
        other = self._start[name]()
        until(lambda: "New leader elected" in self._made.log_of(other).read_text())
        return other

    async def kill(self, name: str) -> None:
        self.kills += 1
        await asyncio.to_thread(self._made.kill, self._running[name])

    async def is_rolled(self, version: str) -> None:
        """Waits until nothing is left to do, and looks at what there is."""
        await self.until(lambda: self.watcher.ready(version) == REPLICAS and self.watcher.on_nodes(version) == _NODES)
        end = time.monotonic() + _PATIENCE
        while not await self._is_complete():
            assert time.monotonic() < end, f"{self._how_far()}\n{self._made.said()}"
            await asyncio.sleep(0.1)
        assert len(self.watcher.pods) == REPLICAS + len(_NODES)
        async with WireClient(self._access) as client:
            await check_owners(client)

    async def _is_complete(self) -> bool:
        async with WireClient(self._access) as client:
            deployment = (await client.ask("GET", f"{_WORKLOADS}/deployments/{DEPLOYMENT}")).json
            daemon_set = (await client.ask("GET", f"{_WORKLOADS}/daemonsets/{DAEMON_SET}")).json
        for found in (deployment, daemon_set):
            if found["status"].get("observedGeneration") != found["metadata"]["generation"]:
                return False
        counts = [deployment["status"].get(name) for name in ("replicas", "updatedReplicas", "availableReplicas")]
        told = ("currentNumberScheduled", "desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable")
        on_nodes = [daemon_set["status"].get(name) for name in told]
        are_gone = len(self.watcher.pods) == REPLICAS + len(_NODES)
        return counts == [REPLICAS] * 3 and on_nodes == [len(_NODES)] * 4 and are_gone

    async def until(self, holds: Callable[[], bool]) -> None:
        """Until what the watcher knows is so, or it has a complaint."""
        assert self._following is not None
        end = time.monotonic() + _PATIENCE
        while not holds():
            assert time.monotonic() < end, f"{self._how_far()}\n{self._made.said()}"
            await asyncio.sleep(0.02)
            if self._following.done():
                self._following.result()

    def _how_far(self) -> str:
        """For whoever wonders why it does not go on."""
        pods = [
            (pod["metadata"]["name"], pod["spec"].get("nodeName"), pod["status"]) for pod in self.watcher.pods.values()
        ]
        return f"after {self.kills} kills at revision {self.watcher.last}: " + "\n".join(map(str, sorted(pods)))

    async def end(self) -> None:
        if self._following is not None:
            if self._following.done():
                self._following.result()
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)


def _deployment() -> Raw:
    bounds = {"maxSurge": SURGE, "maxUnavailable": UNAVAILABLE}
    return {"replicas": REPLICAS, "strategy": {"type": "RollingUpdate", "rollingUpdate": bounds}}


def _workload(kind: str, app: str, spec: Raw) -> Raw:
    container = {"name": "main", "image": "web", "resources": {"requests": {"cpu": "100m"}}}
    metadata = {"labels": {"app": app, VERSION: "1"}, "annotations": {"simulate.moorage.dev/start-delay": "300ms"}}
    template = {"metadata": metadata, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": app}}
    wanted = {**spec, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app}, "spec": wanted}


async def _in_turn(made: Components) -> None:
    cluster = _Cluster(made)
    try:
        await cluster.begin()
        await cluster.roll("2")
        for part, name in enumerate(("controller-manager", "scheduler", "apiserver"), start=1):
            await cluster.until(lambda part=part: cluster.watcher.ready("2") >= part * REPLICAS // 5)  # type: ignore[misc]
            assert cluster.watcher.ready("2") < REPLICAS, "the rollout was over before all were killed"
            await cluster.kill_and_restart(name)
        await cluster.is_rolled("2")
        assert cluster.watcher.most > REPLICAS
    finally:
        await cluster.end()


async def _by_another(made: Components) -> None:
    cluster = _Cluster(made, _ELECTION)
    try:
        await cluster.begin()
        other = await asyncio.to_thread(cluster.start_another, "controller-manager")
        assert "Successfully acquired lease" not in made.log_of(other).read_text()
        await cluster.roll("2")
        await cluster.until(lambda: cluster.watcher.ready("2") >= REPLICAS // 5)
        await cluster.kill("controller-manager")
        assert cluster.watcher.ready("2") < REPLICAS, "the rollout was over before the leader was killed"
        await cluster.is_rolled("2")
        assert "Successfully acquired lease" in made.log_of(other).read_text()
    finally:
        await cluster.end()


async def _at_random(made: Components, seed: int, rollouts: int) -> None:
    random = Random(seed)
    cluster = _Cluster(made)
    names = ("controller-manager", "scheduler", "apiserver", "kubelet")
    try:
        await cluster.begin()
        for version in map(str, range(2, 2 + rollouts)):
            await cluster.roll(version)
            for _ in range(random.randrange(1, 6)):
                await asyncio.sleep(random.random())
                victim, other = random.sample(names, 2)
                also = cluster.kill_and_restart(other) if random.random() < 0.3 and other != "apiserver" else None
                await cluster.kill_and_restart(victim, also)
            await cluster.is_rolled(version)
        assert cluster.kills >= rollouts
    finally:
        await cluster.end()


def test_a_rollout_survives_kill_9_of_each_component(tmp_path: Path) -> None:
    with components(tmp_path) as made:
        asyncio.run(asyncio.wait_for(_in_turn(made), 5 * _PATIENCE))


@pytest.mark.slow  # `test_ha` has leaders killed during a rollout, too
def test_a_rollout_is_finished_by_the_next_leader(tmp_path: Path) -> None:
    with components(tmp_path) as made:
        asyncio.run(asyncio.wait_for(_by_another(made), 5 * _PATIENCE))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_rollouts_survive_kill_9_of_anybody_at_any_time(tmp_path: Path, seed: int) -> None:
    with components(tmp_path) as made:
        asyncio.run(asyncio.wait_for(_at_random(made, seed, rollouts=6), 30 * _PATIENCE))
