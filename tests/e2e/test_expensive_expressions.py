"""Pods with tolerations as expensive as the API server allows: everything else goes on, and no process is left."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.up_process import UpProcess
from tests.e2e.wire_client import Access, WireClient

pytestmark = [pytest.mark.real_time, pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")]

Raw = dict[str, Any]
PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
PATIENCE = 60.0
_JSON = {"Content-Type": "application/json"}


def expression(number: int, key: str = "zz") -> str:
    return f"lists.range({140_000 - number}).all(x, x >= 0) && taint.key == '{key}'"


def pod(name: str, *expressions: str, **spec: Any) -> Raw:
    tolerations = [{"expression": text} for text in expressions]
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": tolerations, **spec}
    return {"metadata": {"name": name}, "spec": spec}


class Hostile:
    """A running cluster with tainted nodes, and its worker."""

    def __init__(self, up: UpProcess, client: WireClient) -> None:
        self.up, self.client = up, client

    async def create(self, path: str, document: Raw) -> None:
        answer = await self.client.ask("POST", path, json.dumps(document).encode(), _JSON)
        assert answer.status == 201, answer.body

    async def taint(self, count: int) -> None:
        for number in range(count):
            taints = [{"key": f"k{number}", "value": "v", "effect": "NoSchedule"}]
            status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}
            metadata = {"name": f"t{number}", "labels": {"kubernetes.io/hostname": f"t{number}"}}
            await self.create(NODES, {"metadata": metadata, "spec": {"taints": taints}, "status": status})

    async def until(self, name: str, phase: str = "Running") -> Raw:
        until = time.monotonic() + PATIENCE
        while True:
            found: Raw = (await self.client.ask("GET", f"{PODS}/{name}")).json
            if found["status"].get("phase") == phase:
                return found
            assert time.monotonic() < until, found
            await asyncio.sleep(0.1)

    async def worker(self) -> int:
        """The worker's pid, once it runs."""
        until = time.monotonic() + PATIENCE
        while True:
            children = Path(f"/proc/{self.up.pid}/task/{self.up.pid}/children").read_text().split()
            if children:
                return int(children[0])
            assert time.monotonic() < until
            await asyncio.sleep(0.05)


@asynccontextmanager
async def hostile(directory: Path, pods: int, taints: int, each: int) -> AsyncIterator[Hostile]:
    with UpProcess(directory, "--ephemeral", "--nodes", "2", "--feature-gates", "AllAlpha=true") as up:
        async with WireClient(Access(up.kubeconfig)) as client:
            found = Hostile(up, client)
            await found.taint(taints)
            for number in range(pods):
                texts = [expression(number * each + index) for index in range(each)]
                await found.create(PODS, pod(f"hostile-{number}", *texts, nodeSelector={"nowhere": "at-all"}))
            yield found
        assert "Traceback" not in up.output


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def gone(pid: int) -> None:
    until = time.monotonic() + PATIENCE
    while not is_gone(pid):
        assert time.monotonic() < until, "the worker outlived its parent"
        await asyncio.sleep(0.05)


async def test_other_pods_run_a_killed_worker_is_replaced_and_sigterm_ends_all(tmp_path: Path) -> None:
    async with hostile(tmp_path, pods=2, taints=4, each=1) as cluster:
        first = await cluster.worker()
        await cluster.create(PODS, pod("plain"))
        await cluster.until("plain")
        assert (await cluster.client.ask("GET", "/readyz")).status == 200
        os.kill(first, signal.SIGKILL)
        await cluster.create(PODS, pod("wise", expression(1, "k3"), nodeSelector={"kubernetes.io/hostname": "t3"}))
        assert (await cluster.until("wise"))["spec"]["nodeName"] == "t3"
        second = await cluster.worker()
        assert second != first
        assert cluster.up.terminate() == 0
        await gone(second)


async def test_the_worker_ends_when_the_cluster_is_killed(tmp_path: Path) -> None:
    async with hostile(tmp_path, pods=1, taints=4, each=1) as cluster:
        worker = await cluster.worker()
        cluster.up.kill()
        await gone(worker)


@pytest.mark.slow
async def test_a_thousand_pods_over_two_hundred_taints(tmp_path: Path) -> None:
    async with hostile(tmp_path, pods=1000, taints=200, each=1) as cluster:
        waited: list[float] = []
        for number in range(200):
            began = time.monotonic()
            assert (await cluster.client.ask("GET", "/readyz")).status == 200
            waited.append(time.monotonic() - began)
            if number % 20 == 0:
                await cluster.create(PODS, pod(f"plain-{number}"))
                await cluster.until(f"plain-{number}")
            await asyncio.sleep(0.02)
        print(f"readyz: p50 {sorted(waited)[100] * 1e3:.0f} ms, p99 {sorted(waited)[198] * 1e3:.0f} ms")
        worker = await cluster.worker()
        assert cluster.up.terminate() == 0
        await gone(worker)
