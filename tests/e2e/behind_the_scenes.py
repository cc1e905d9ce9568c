"""What tests need but do not test: clusters that many of them share, namespaces, and empty stages.

In: options of `moorage up`, or a running cluster. Out: the cluster, changed. These are plain requests: a kubectl costs
a tenth of a second each time.
"""

import asyncio
import json
from contextlib import ExitStack
from typing import Any

import pytest
from tests.e2e.running_cluster import Cluster, moorage_up
from tests.e2e.wire_client import Access, WireClient

_AT_ONCE = json.dumps({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}).encode()
_VOLUMES = "/api/v1/persistentvolumes"
_OF_THE_CLUSTER = (
    "/api/v1/nodes",
    _VOLUMES,
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/resource.k8s.io/v1/deviceclasses",
)
_JSON = {"Content-Type": "application/json"}
_MERGE, _FREE = {"Content-Type": "application/merge-patch+json"}, b'{"metadata":{"finalizers":null}}'


class SharedClusters:
    """One cluster for all tests that want the same options, started for the first of them."""

    def __init__(self, directories: pytest.TempPathFactory, until: ExitStack) -> None:
        self._directories, self._until = directories, until
        self._running: dict[tuple[str, ...], Cluster] = {}

    def with_options(self, *options: str) -> Cluster:
        if options not in self._running:
            started = moorage_up(self._directories.mktemp("cluster"), *options)
            self._running[options] = self._until.enter_context(started)
        return self._running[options]


def make_namespace(cluster: Cluster, name: str) -> None:
    document: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    _ask(cluster, ("POST", "/api/v1/namespaces", json.dumps(document).encode()))


def empty_the_stage(cluster: Cluster, namespace: str) -> None:
    """No pods and claims in the namespace, and no nodes and no others that belong to no namespace."""
    pods, claims = (f"/api/v1/namespaces/{namespace}/{plural}" for plural in ("pods", "persistentvolumeclaims"))
    devices = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
    _ask(cluster, *(("DELETE", target, _AT_ONCE) for target in (pods, claims, devices, *_OF_THE_CLUSTER)))
    asyncio.run(_let_go(cluster, claims, _VOLUMES))


async def _let_go(cluster: Cluster, *places: str) -> None:
    """What is kept while in use need not wait for those who look whether it is; they may be faster, too."""
    async with WireClient(Access(cluster.kubeconfig)) as client:
        for place in places:
            for found in (await client.ask("GET", place)).json["items"]:
                target = f"{place}/{found['metadata']['name']}"
                answer = await client.ask("PATCH", target, _FREE, _MERGE)
                assert answer.status in (200, 404), (target, answer)


def _ask(cluster: Cluster, *requests: tuple[str, str, bytes]) -> None:
    async def ask() -> None:
        async with WireClient(Access(cluster.kubeconfig)) as client:
            for method, target, body in requests:
                answer = await client.ask(method, target, body, _JSON)
                assert answer.status in (200, 201), (method, target, answer)

    asyncio.run(ask())
