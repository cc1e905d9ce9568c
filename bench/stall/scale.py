"""Loads of one large workload: a Deployment with two budgets of the whole namespace, and Tables of its pods."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench.stall.hostile import encoded
from bench.stall.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.stall.loads import Context

NODES = "/api/v1/nodes"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "application/merge-patch+json"
PODS_OF_A_NODE = 500
_PATIENCE_SECONDS, _POLL_SECONDS = 900.0, 0.5
Raw = dict[str, Any]
Answers = Counter[str]


def _budgets() -> list[Raw]:
    """Return two budgets that select every pod of their namespace."""
    bounds: list[Raw] = [{"minAvailable": "50%"}, {"maxUnavailable": "10%"}]
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"all-{number}"},
            "spec": {"selector": {}, **bound},
        }
        for number, bound in enumerate(bounds)
    ]


def _deployment(name: str, replicas: int) -> Raw:
    labels = {"app": name}
    container = {"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def large_deployment(replicas: int, *, tables: bool = False) -> Callable[[Context], Awaitable[Answers]]:
    """Bring a Deployment up on nodes of its own, delete some pods, and scale it down to nothing.

    `tables`: meanwhile a client lists all pods as a Table, again and again, as `kubectl get pods` does.
    """

    async def load(context: Context) -> Answers:
        run = _Run(context, context.count(replicas), tables=tables)
        try:
            await run.play()
        finally:
            run.close()
        return run.answers

    return load


class _Run:
    """One Deployment from its creation until its pods are gone."""

    def __init__(self, context: Context, replicas: int, *, tables: bool) -> None:
        self._replicas, self._tables = replicas, tables
        self._wire, self._lister = Wire(context.access, kept=2**20), Wire(context.access)
        self.answers: Answers = Counter()
        self._namespace = f"scale-{replicas}{'-tables' if tables else ''}"
        self._pods = f"/api/v1/namespaces/{self._namespace}/pods"
        self._set = f"/apis/apps/v1/namespaces/{self._namespace}/deployments"

    def close(self) -> None:
        self._wire.close()
        self._lister.close()

    async def play(self) -> None:
        nodes = [f"{self._namespace}-{number}" for number in range(-(-self._replicas // PODS_OF_A_NODE) + 1)]
        for name in nodes:
            status = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": str(PODS_OF_A_NODE)}}
            await self._make(NODES, {"metadata": {"name": name}, "spec": {}, "status": status})
        await self._make("/api/v1/namespaces", {"metadata": {"name": self._namespace}})
        for budget in _budgets():
            await self._make(f"/apis/policy/v1/namespaces/{self._namespace}/poddisruptionbudgets", budget)
        started = time.perf_counter()
        await self._make(self._set, _deployment("large", self._replicas))
        listing = asyncio.create_task(self._list()) if self._tables else None
        await self._until(lambda status: status.get("availableReplicas", 0) == self._replicas)
        self.answers["seconds until available"] = int(time.perf_counter() - started)
        if listing is not None:
            listing.cancel()
        await self._delete_some(20)
        started = time.perf_counter()
        await self._wire.ask("PATCH", f"{self._set}/large", encoded({"spec": {"replicas": 0}}), MERGE)
        await self._until(lambda status: not status.get("replicas") and not status.get("terminatingReplicas"))
        self.answers["seconds until gone"] = int(time.perf_counter() - started)
        await self._wire.ask("DELETE", f"/api/v1/namespaces/{self._namespace}")
        for name in nodes:
            await self._wire.ask("DELETE", f"{NODES}/{name}")

    async def _make(self, path: str, document: Raw) -> None:
        reply = await self._wire.ask("POST", path, encoded(document))
        if reply.status != 201:
            self.answers[f"{path.rpartition('/')[2]} {reply.status}"] += 1

    async def _until(self, is_reached: Callable[[Raw], bool]) -> None:
        """Wait until the Deployment's status is as wanted, but not for ever."""
        until = time.perf_counter() + _PATIENCE_SECONDS
        while time.perf_counter() < until:
            reply = await self._wire.ask("GET", f"{self._set}/large")
            if reply.status == 200 and is_reached(json.loads(reply.start).get("status") or {}):
                return
            await asyncio.sleep(_POLL_SECONDS)
        self.answers["gave up waiting"] += 1

    async def _delete_some(self, count: int) -> None:
        reply = await self._wire.ask("GET", f"{self._pods}?limit={count}")
        for pod in json.loads(reply.start)["items"]:
            await self._wire.ask("DELETE", f"{self._pods}/{pod['metadata']['name']}")
            await asyncio.sleep(_POLL_SECONDS)

    async def _list(self) -> None:
        while True:
            reply = await self._lister.ask("GET", self._pods, Accept=TABLE)
            self.answers[f"tables {reply.status}"] += 1
            longest = self.answers["ms of the slowest table"]
            self.answers["ms of the slowest table"] = max(longest, int(reply.seconds * 1e3))
            await asyncio.sleep(0.1)
