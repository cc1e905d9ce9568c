"""A gate on or off in each of the four components: all sixteen, and for each the outcome that follows from them.

KEP-5500, "Version Skew Strategy" and "Can the feature be disabled". A cluster in which everything is on is prepared
once and copied; each combination starts on a copy, in this process, and then gets one more node.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.e2e.gates.features import EXPRESSIONS, FEATURES, FIVE, STRICT, Feature, on, workload
from tests.e2e.stories.stage import Raw, node

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.model.api_error import ApiError
from moorage.model.gates import Component, component_gates
from moorage.model.kinds import KINDS, Kind
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION

DAEMONS, SECONDS = "agents", 60
SIX = node("six", "version=6:NoExecute", pool="six", version="6")


class Skew(NamedTuple):
    """In which components the gate is on."""

    api_server: bool
    scheduler: bool
    manager: bool
    kubelet: bool

    def __str__(self) -> str:
        return "".join(letter if is_on else "-" for letter, is_on in zip("asck", self, strict=True))


class Cluster:
    """A running cluster, as a client sees it."""

    def __init__(self, client: HttpClient) -> None:
        self.client = client

    async def create(self, document: Raw) -> None:
        kind = KINDS[document["apiVersion"], document["kind"]]
        await self.client.create(kind, document, "default" if kind.namespaced else "")

    async def all(self, kind: Kind) -> dict[str, Any]:
        """The views of all objects of a kind, by name."""
        return {found.name: found.view for found in (await self.client.list_all(kind)).items}

    async def until(self, kind: Kind, holds: Callable[[dict[str, Any]], bool]) -> None:
        """Until something holds of all objects of a kind; looked at whenever one changes."""
        async with asyncio.timeout(SECONDS):
            while True:
                listed = await self.client.list_all(kind)
                if holds({found.name: found.view for found in listed.items}):
                    return
                async for _ in self.client.watch(kind, listed.revision):
                    break


@asynccontextmanager
async def started(directory: Path, skew: Skew, gate: str) -> AsyncIterator[Cluster]:
    only = {component: (f"{gate}={str(is_on).lower()}",) for component, is_on in zip(Component, skew, strict=True)}
    settings = Settings(
        gates=component_gates((), only),
        configuration=DEFAULT_CONFIGURATION,
        nodes=0,
        simulates=True,
        data_dir=directory,
        bind_address="127.0.0.1",
        port=0,
        kubeconfig=None,
        manifests=(),
    )
    plane = ControlPlane(settings)
    await plane.start()
    try:
        client = HttpClient(load_access(str(plane.kubeconfig_path)))
        try:
            yield Cluster(client)
        finally:
            await client.close()
    finally:
        await plane.stop()


async def prepare(directory: Path, feature: Feature) -> None:
    """Pods that run with the gate on, and one for which there is no node yet."""
    async with started(directory, Skew(True, True, True, True), feature.gate) as cluster:
        for document in (FIVE, STRICT, workload("DaemonSet", DAEMONS, feature)):
            await cluster.create(document)
        for name, pool in (("runs", "five"), ("leaves", "strict"), ("waits", "six")):
            await cluster.create(feature.pod(name, nodeSelector=on(pool), terminationGracePeriodSeconds=0))
        await cluster.until(KINDS.POD, lambda pods: [pod.status.phase for pod in pods.values()].count("Running") == 4)
        await cluster.until(KINDS.POD, lambda pods: bool(message_of(pods["waits"])))


def message_of(pod: Any) -> str:
    return next((one.message for one in pod.status.conditions if one.type == "PodScheduled"), "") or ""


async def play(directory: Path, feature: Feature, skew: Skew) -> None:
    async with started(directory, skew, feature.gate) as cluster:
        await cluster.create(SIX)
        await new_pods(cluster, feature, skew)
        await the_one_that_waits(cluster, skew)
        await daemons(cluster, skew)
        if not skew.manager:
            await cluster.until(KINDS.POD, lambda pods: "leaves" not in pods)
        pods = await cluster.all(KINDS.POD)
        assert (pods["runs"].status.phase, pods["runs"].spec.nodeName) == ("Running", "five")
        assert ("leaves" in pods) == skew.manager


async def new_pods(cluster: Cluster, feature: Feature, skew: Skew) -> None:
    wanted = feature.pod("new", nodeSelector=on("nowhere"))
    if skew.api_server:
        await cluster.create(wanted)
        return
    with pytest.raises(ApiError) as refused:
        await cluster.create(wanted)
    assert refused.value.message == f'Pod "new" is invalid: spec.tolerations[0]{feature.complaint}'


async def the_one_that_waits(cluster: Cluster, skew: Skew) -> None:
    """Scheduled if the scheduler understands it; then evicted, turned away or welcome."""
    if not skew.scheduler:
        await cluster.until(KINDS.POD, lambda pods: "untolerated taint {version: " in message_of(pods["waits"]))
        assert not (await cluster.all(KINDS.POD))["waits"].spec.nodeName
    elif not skew.manager:
        await cluster.until(KINDS.POD, lambda pods: "waits" not in pods)
    else:
        ends = "Running" if skew.kubelet else "Failed"
        await cluster.until(KINDS.POD, lambda pods: pods["waits"].status.phase == ends)
        reason = (await cluster.all(KINDS.POD))["waits"].status.reason
        assert reason == ("" if skew.kubelet else "TaintToleration")


async def daemons(cluster: Cluster, skew: Skew) -> None:
    """On the node that is new, and on those that have one already."""

    def on_nodes(pods: dict[str, Any]) -> dict[str, str]:
        found = [pod for pod in pods.values() if pod.metadata.labels.get("app") == DAEMONS]
        pinned = "requiredDuringSchedulingIgnoredDuringExecution"
        return {
            getattr(pod.spec.affinity.nodeAffinity, pinned).nodeSelectorTerms[0].matchFields[0].values[0]: (
                pod.status.phase
            )
            for pod in found
        }

    def told(reason: str) -> Callable[[dict[str, Any]], bool]:
        return lambda events: any(event.reason == reason for event in events.values())

    if not skew.manager:
        # Not wanted anywhere; left alone where nothing drives it out.
        await cluster.until(KINDS.DAEMON_SET, lambda sets: sets[DAEMONS].status.desiredNumberScheduled == 0)
        await cluster.until(KINDS.POD, lambda pods: set(on_nodes(pods)) == {"five"})
        return
    await cluster.until(KINDS.DAEMON_SET, lambda sets: sets[DAEMONS].status.desiredNumberScheduled == 3)
    if not skew.api_server:
        await cluster.until(KINDS.EVENT, told("FailedCreate"))
        assert set(on_nodes(await cluster.all(KINDS.POD))) == {"five", "strict"}
    elif not skew.scheduler:
        await cluster.until(KINDS.POD, lambda pods: on_nodes(pods).get("six") == "Pending")
    elif not skew.kubelet:
        await cluster.until(KINDS.EVENT, told("FailedDaemonPod"))
    else:
        await cluster.until(KINDS.POD, lambda pods: on_nodes(pods).get("six") == "Running")
    phases = on_nodes(await cluster.all(KINDS.POD))
    assert (phases["five"], phases["strict"]) == ("Running", "Running")


#: All of them with the long runs; the gates are read in the same places.
CHOSEN = [pytest.param(one, marks=[] if one is EXPRESSIONS else [pytest.mark.slow], id=one.gate) for one in FEATURES]


@pytest.mark.parametrize("feature", CHOSEN)
def test_all_sixteen(feature: Feature, tmp_path: Path) -> None:
    asyncio.run(prepare(tmp_path / "prepared", feature))
    for skew in (Skew(*values) for values in product((True, False), repeat=4)):
        directory = tmp_path / str(skew)
        shutil.copytree(tmp_path / "prepared", directory)
        try:
            asyncio.run(play(directory, feature, skew))
        except BaseException as error:
            error.add_note(f"gate on in: {skew}")
            raise
