"""kill -9 while claims are made, allocated and given up: no device is allocated twice, and none stays allocated."""

import asyncio
import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.e2e.up_process import UpProcess
from tests.e2e.wire_client import Access, WireClient

pytestmark = pytest.mark.real_time

Raw = dict[str, Any]

NODES, EACH = 3, 4
OPTIONS = ("--nodes", str(NODES), "--devices", f"gpu.example.com={EACH}")
PATIENCE = 180.0  # seconds: for a test that fails instead of hanging
_JSON = {"Content-Type": "application/json"}
_MERGE = {"Content-Type": "application/merge-patch+json"}
_CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_REQUESTS = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
_SELECTOR = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}


def deployment(name: str, claim: Raw) -> Raw:
    container = {"name": "c", "image": "c:1", "resources": {"claims": [{"name": "gpu"}]}}
    spec = {"resourceClaims": [{"name": "gpu", **claim}], "containers": [container], "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    selector = {"matchLabels": {"app": name}}
    return {"metadata": {"name": name}, "spec": {"replicas": 0, "selector": selector, "template": template}}


MADE = (
    ("/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {"selectors": [_SELECTOR]}}),
    (
        "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
        {"metadata": {"name": "own"}, "spec": {"spec": _REQUESTS}},
    ),
    (_CLAIMS, {"metadata": {"name": "shared"}, "spec": _REQUESTS}),
    (_DEPLOYMENTS, deployment("train", {"resourceClaimTemplateName": "own"})),
    (_DEPLOYMENTS, deployment("serve", {"resourceClaimName": "shared"})),
)


class Cluster:
    """What is asked of a server, which may have been killed since."""

    def __init__(self, client: WireClient) -> None:
        self.client = client

    async def items(self, path: str) -> list[Raw]:
        found: list[Raw] = (await self.client.ask("GET", path)).json["items"]
        return found

    async def scale(self, name: str, replicas: int) -> None:
        patch = json.dumps({"spec": {"replicas": replicas}}).encode()
        answer = await self.client.ask("PATCH", f"{_DEPLOYMENTS}/{name}", patch, _MERGE)
        assert answer.status == 200, answer

    async def check_devices(self) -> None:
        """No two claims have the same device, and no claim is reserved without one."""
        used: list[tuple[str, str]] = []
        for claim in await self.items(_CLAIMS):
            status = claim.get("status", {})
            results = status.get("allocation", {}).get("devices", {}).get("results", [])
            assert results or not status.get("reservedFor"), claim
            used += [(one["pool"], one["device"]) for one in results]
        assert len(used) == len(set(used)), used

    async def until_running(self, **wanted: int) -> None:
        async def running() -> dict[str, int]:
            counts = dict.fromkeys(wanted, 0)
            for pod in await self.items("/api/v1/namespaces/default/pods"):
                counts[pod["metadata"]["labels"]["app"]] += pod["status"]["phase"] == "Running"
            return counts

        end = time.monotonic() + PATIENCE
        while (found := await running()) != wanted:
            assert time.monotonic() < end, found
            await self.check_devices()
            await asyncio.sleep(0.2)

    async def until_free(self) -> None:
        """Wait until only the shared claim is left, as it was made."""
        end = time.monotonic() + PATIENCE
        while True:
            claims = await self.items(_CLAIMS)
            statuses = {one["metadata"]["name"]: one.get("status", {}) for one in claims}
            if statuses == {"shared": {}} and not claims[0]["metadata"].get("finalizers"):
                return
            assert time.monotonic() < end, statuses
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
async def test_devices_are_not_leaked(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    options = ("--data-dir", str(tmp_path / "data"), *OPTIONS)
    with UpProcess(tmp_path, *options) as server:
        async with WireClient(Access(server.kubeconfig)) as client:
            for path, document in MADE:
                answer = await client.ask("POST", path, json.dumps(document).encode(), _JSON)
                assert answer.status == 201, answer
    for _ in range(5):
        with UpProcess(tmp_path, *options) as server:
            async with WireClient(Access(server.kubeconfig)) as client:
                cluster = Cluster(client)
                await cluster.check_devices()
                for _ in range(random.randint(1, 3)):
                    await cluster.scale("train", random.randint(0, NODES * EACH - 1))
                    await cluster.scale("serve", random.randint(0, 4))
                    await asyncio.sleep(random.uniform(0, 0.4))
            server.kill()
    with UpProcess(tmp_path, *options) as server:
        async with WireClient(Access(server.kubeconfig)) as client:
            cluster = Cluster(client)
            await cluster.scale("train", NODES * EACH - 1)
            await cluster.scale("serve", 3)
            await cluster.until_running(train=NODES * EACH - 1, serve=3)
            for name in ("train", "serve"):
                await cluster.scale(name, 0)
            await cluster.until_free()
            slices = await cluster.items("/apis/resource.k8s.io/v1/resourceslices")
        assert [len(one["spec"]["devices"]) for one in slices] == [EACH] * NODES
