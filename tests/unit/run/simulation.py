"""Simulated kubelets over a real API server in the same process; waiting takes no time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from moorage.client.protocol import Client
from moorage.model.gates import GateSet, default_gates
from moorage.model.kinds import KINDS
from moorage.run.kubelets import Kubelets
from moorage.run.simulated_pod import REFUSAL_DELAY
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
MIDNIGHT = 1_800_000_000.0
SIMULATE = "simulate.moorage.dev/"


class Simulation:
    """A cluster, its kubelets, and what they reported: (pod, type, reason, message)."""

    def __init__(self, gates: GateSet, options: Raw) -> None:
        self.gates, self._options = gates, options
        self._loop = asyncio.get_running_loop()  # threads ask for the time, too
        self.api = Api(MemoryStore(), gates, clock=self.now)
        self.client = LoopbackClient(self.api, "test")
        self.reports: list[tuple[str, str, str, str]] = []
        self.metrics = Metrics()
        self.kubelets: Kubelets | None = None
        self._task: asyncio.Task[None] | None = None

    def now(self) -> float:
        return MIDNIGHT + self._loop.time()

    def report(self, involved: Raw, kind: str, reason: str, message: str, *, host: str = "") -> None:
        self.reports.append((involved["name"], kind, reason, message))

    async def start(self, client: Client | None = None) -> None:
        """Kubelets begin; in a process that ran before, with nothing remembered."""
        self.metrics = Metrics()
        client = client or LoopbackClient(self.api, "kubelet")
        options = {"takes_all": True, **self._options}
        self.kubelets = Kubelets(client, self, self.gates, metrics=self.metrics, clock=self.now, **options)
        self._task = asyncio.create_task(self.kubelets.run())
        await self.kubelets.synced()
        await self.settle()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def settle(self, seconds: float = 0.001) -> None:
        """Let everybody do what they can do within this time."""
        await asyncio.sleep(seconds)

    async def refusals(self) -> None:
        """Wait until kubelets have reported the pods that they refuse."""
        await self.settle(REFUSAL_DELAY + 0.001)

    async def node(self, name: str = "n1", taints: Any = (), labels: Any = None, **allocatable: str) -> None:
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
        metadata = {"name": name, "labels": {"kubernetes.io/os": "linux", **(labels or {})}}
        status = {"capacity": amounts, "allocatable": amounts}
        await self.client.create(KINDS.NODE, {"metadata": metadata, "spec": {"taints": list(taints)}, "status": status})

    async def pod(self, name: str = "p", node: str = "n1", simulate: Any = None, **spec: Any) -> None:
        """A pod that is bound already; `simulate` are annotations."""
        annotations = {SIMULATE + key: value for key, value in (simulate or {}).items()}
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        for field in ("finalizers", "labels", "ownerReferences"):
            if field in spec:
                metadata[field] = spec.pop(field)
        metadata["annotations"] |= spec.pop("annotations", {})
        spec = {"containers": [container()], "nodeName": node, **spec}
        await self.client.create(KINDS.POD, {"metadata": metadata, "spec": spec})
        await self.settle()

    async def status(self, name: str = "p") -> Raw:
        status: Raw = (await self.client.get(KINDS.POD, name, "default")).raw["status"]
        return status

    async def phase(self, name: str = "p") -> str:
        return str((await self.status(name))["phase"])

    async def conditions(self, name: str = "p") -> dict[str, str]:
        return {one["type"]: one["status"] for one in (await self.status(name)).get("conditions", ())}

    async def exists(self, name: str = "p") -> bool:
        return f"default/{name}" in {pod.key for pod in (await self.client.list_all(KINDS.POD)).items}

    def said(self, reason: str) -> list[str]:
        return [message for _, _, why, message in self.reports if why == reason]

    def measured(self, name: str) -> str:
        """The lines of a metric."""
        lines = self.metrics.render()[0].decode().splitlines()
        return "\n".join(line for line in lines if line.startswith(name))


def container(name: str = "c", **more: Any) -> Raw:
    return {"name": name, "image": "web:1", "resources": {"requests": {"cpu": "1"}}, **more}


@asynccontextmanager
async def simulating(gates: GateSet | None = None, *, starts: bool = True, **options: Any) -> AsyncIterator[Simulation]:
    """Run simulated kubelets; `options` are those of `Kubelets`."""
    simulation = Simulation(gates or default_gates(), options)
    await simulation.api.start()
    await bootstrap(simulation.api, 443)
    try:
        if starts:
            await simulation.start()
        yield simulation
    finally:
        await simulation.stop()
        await simulation.api.store.close()
