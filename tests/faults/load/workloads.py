"""Keep a cluster busy: rollouts, evictions under a budget, pods for the scheduler, and pods that two clients bind.

Each part runs until it is cancelled, sends its requests through any of the API servers, and takes every refusal as it
comes. What must hold is checked on the store's history, by `check/cluster_rules`.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Any

from tests.faults.check.cluster_rules import Workload
from tests.faults.check.history import Fate, Violation
from tests.faults.load.wire import MERGE_PATCH, Wire

NAMESPACE = "apps"
REPLICAS, SURGE, LEAST_HEALTHY = 4, 1, 3
#: What is allowed, by the label `app`.
RULES = {
    "rolling": Workload(most=REPLICAS + SURGE),
    "guarded": Workload(most=REPLICAS + SURGE, least_healthy=LEAST_HEALTHY),
}
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


class Workloads:
    """The parts; `violations` is what clients themselves could see to be wrong."""

    def __init__(self, wires: Sequence[Wire], nodes: int, seed: int) -> None:
        self._wires, self._nodes = list(wires), nodes
        self._random = random.Random(seed)
        self.violations: list[Violation] = []
        self.scheduled_after: list[tuple[float, float]] = []
        self.rollouts = self.evicted = self.refused_evictions = self.bindings = 0
        #: Bindings that were acknowledged: by UID of the pod.
        self.acknowledged: dict[str, str] = {}

    @property
    def _wire(self) -> Wire:
        return self._random.choice(self._wires)

    async def set_up(self) -> None:
        """Create what is worked on; tried until it exists."""
        await self._make(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        )
        for app in RULES:
            await self._make(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments", _deployment(app))
        budget: dict[str, Any] = {"minAvailable": LEAST_HEALTHY, "selector": {"matchLabels": {"app": "guarded"}}}
        document = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guarded"}}
        await self._make(f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets", {**document, "spec": budget})

    async def _make(self, path: str, document: Any) -> None:
        async with asyncio.timeout(60):
            while (reply := await self._wire.send("POST", path, document)).code not in (201, 409):
                if reply.code in (400, 422):
                    raise AssertionError(f"{path}: {reply.body}")
                await asyncio.sleep(0.2)

    async def roll(self, every: float = 5.0) -> None:
        """Change the template of a Deployment again and again, also while the last change is being rolled out."""
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/rolling"
        while True:
            await asyncio.sleep(every * (0.5 + self._random.random()))
            mark = {"annotations": {"version": str(self._random.randrange(6))}}
            change = {"spec": {"template": {"metadata": mark}}}
            reply = await self._wire.send("PATCH", path, change, MERGE_PATCH)
            self.rollouts += reply.fate is Fate.DONE

    async def evict(self, every: float = 0.4) -> None:
        """Evict pods that a PodDisruptionBudget guards."""
        while True:
            await asyncio.sleep(every * (0.5 + self._random.random()))
            listed = await self._wire.send("GET", f"{_PODS}?labelSelector=app%3Dguarded")
            if listed.fate is not Fate.DONE or not listed.body.get("items"):
                continue
            pod = self._random.choice(listed.body["items"])["metadata"]
            metadata = {"name": pod["name"], "namespace": NAMESPACE}
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
            reply = await self._wire.send("POST", f"{_PODS}/{pod['name']}/eviction", eviction)
            self.evicted += reply.fate is Fate.DONE
            self.refused_evictions += reply.code == 429

    async def schedule(self, every: float = 1.0) -> None:
        """Create pods for the scheduler, one after the other, and note how long each waits for its node."""
        clock = time.monotonic
        count = 0
        while True:
            count += 1
            name = f"scheduled-{count}"
            begun = clock()
            await self._wire.send("POST", _PODS, _pod(name, "default-scheduler"))
            while clock() - begun < 60:
                reply = await self._wire.send("GET", f"{_PODS}/{name}")
                if reply.code == 404 or (reply.fate is Fate.DONE and reply.body["spec"].get("nodeName")):
                    break
                await asyncio.sleep(0.1)
            self.scheduled_after.append((begun, clock() - begun))
            await self._remove(name)
            await asyncio.sleep(every * (0.5 + self._random.random()))

    async def bind(self, every: float = 0.6) -> None:
        """Create pods that two clients bind at once, to different nodes, through different API servers."""
        count = 0
        while True:
            count += 1
            name = f"bound-{count}"
            made = await self._wire.send("POST", _PODS, _pod(name, "two-binders"))
            if made.fate is Fate.DONE:
                uid = made.body["metadata"]["uid"]
                chosen = self._random.sample(range(self._nodes), 2)
                replies = await asyncio.gather(*(self._bind(name, uid, f"node-{node}") for node in chosen))
                done = [node for node, reply in zip(chosen, replies, strict=True) if reply.fate is Fate.DONE]
                self.bindings += len(done)
                if len(done) > 1:
                    self.violations.append(Violation("pod bound twice", f"{name} {uid}: both bindings acknowledged"))
                elif done:
                    self.acknowledged[uid] = f"node-{done[0]}"
            await asyncio.sleep(every * (0.5 + self._random.random()))
            await self._remove(name)

    async def _bind(self, name: str, uid: str, node: str) -> Any:
        metadata = {"name": name, "namespace": NAMESPACE, "uid": uid}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"kind": "Node", "name": node},
        }
        return await self._wire.send("POST", f"{_PODS}/{name}/binding", binding)

    async def _remove(self, name: str) -> None:
        """Delete a pod, trying a few times: what is left over is in no one's way."""
        for _ in range(5):
            reply = await self._wire.send("DELETE", f"{_PODS}/{name}?gracePeriodSeconds=0")
            if reply.fate is Fate.DONE or reply.code == 404:
                return
            await asyncio.sleep(0.2)


def _spec(**more: Any) -> dict[str, Any]:
    tolerations = [{"operator": "Exists"}]
    return {"terminationGracePeriodSeconds": 1, "tolerations": tolerations, "containers": [_CONTAINER], **more}


_CONTAINER = {"name": "main", "image": "example.com/app:1", "resources": {"requests": {"cpu": "10m"}}}


def _pod(name: str, scheduler: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _spec(schedulerName=scheduler)}


def _deployment(app: str) -> dict[str, Any]:
    labels = {"app": app}
    template = {"metadata": {"labels": labels}, "spec": _spec()}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": SURGE, "maxUnavailable": 1}}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template, "strategy": strategy}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app}, "spec": spec}
