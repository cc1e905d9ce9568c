"""What kubelets write is repeated for pods and Leases that are alike, as if each write went the usual way."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import BASE, time_of_day

from moorage.client.protocol import Object, PatchType
from moorage.model.api_error import ApiError
from moorage.model.go.times import micro_time_text
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.run.node_objects import LEASE_NAMESPACE, new_lease
from moorage.run.pod_status import Doing, exited, pod_status, running
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.templates import repeated_writes

Raw = dict[str, Any]
SEEDS = range(6)


def clock() -> Callable[[], float]:
    """The time of day, beginning with the same."""
    began = time_of_day()
    return lambda: BASE + time_of_day() - began


def uids() -> Callable[[], str]:
    numbers = iter(range(10**6))
    return lambda: f"0000aaaa-1111-4222-8333-{next(numbers):012d}"


def mostly(words: random.Random, usual: Any, *others: Any) -> Any:
    return usual if words.random() < 0.9 else words.choice(others)


def pod(name: str, words: random.Random) -> Raw:
    """A pod whose name, node or addresses may be words that occur elsewhere in it, too."""
    container = {"name": mostly(words, "main", name), "image": mostly(words, "web:1", name)}
    metadata: Raw = {"name": name, "labels": {"app": mostly(words, "web", name, "10.0.0.1")}}
    note = mostly(words, "", "10.0.0.1", "2026-01-01T00:00:00Z", "node-1", name)
    if note:
        metadata["annotations"] = {"note": note}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


async def live(cluster: VirtualCluster, seed: int) -> list[Object]:
    """Let pods live as kubelets tell it, with or without pauses, and return all that was written of them."""
    words = random.Random(seed)
    pause = words.choice((0, 2))
    kubelet, scheduler = LoopbackClient(cluster.api, words.choice(("kubelet", "a", "z"))), LoopbackClient(cluster.api)
    found: list[Object] = []
    names = ["node-1", "main", "web", "pod", *(f"p-{number}" for number in range(24))]
    for number, name in enumerate(names):
        seen = await cluster.client.create(KINDS.POD, pod(name, words), "default")
        node = mostly(words, words.choice(("node-1", "node-2")), name)
        await cluster.settle(mostly(words, 0, 3))
        await scheduler.bind("default", name, seen.uid, node)
        address = mostly(words, f"10.0.1.{number}", "10.0.0.1", "")
        host = mostly(words, "172.16.0.1", "10.0.0.1", address)
        began = cluster.api.clock()
        for phase, is_ready in (("Running", False), ("Running", True), ("Succeeded", False)):
            await cluster.settle(mostly(words, pause, 0, 1))
            now = cluster.api.clock()
            state = running(began) if phase == "Running" else {"terminated": exited(began, now, 0)}
            view = (await cluster.client.get(KINDS.POD, name, "default")).view
            status = pod_status(view, Doing(phase, state, began, is_ready), host, address, now)
            patch = {"metadata": {"uid": seen.uid}, "status": status}
            written = await kubelet.patch(KINDS.POD, name, "default", patch, subresource="status")
            found.append(written)
    return found


async def lives(seed: int, repeats: bool) -> tuple[list[tuple[Raw, Any]], int]:
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        cluster.api.new_uid = uids()
        if not repeats:
            cluster.api.repeated_writes.at_once = lambda write: None  # type: ignore[method-assign]
        found = [(one.raw, without_revision(one.view)) for one in await live(cluster, seed)]
        return found, cluster.api.repeated_writes.repeated


def without_revision(view: Any) -> Any:
    return repeated_writes._without_revision(view)


@pytest.mark.parametrize("seed", SEEDS)
async def test_statuses_are_the_same_as_if_they_went_the_usual_way(seed: int) -> None:
    found, repeated = await lives(seed, repeats=True)
    expected, none = await lives(seed, repeats=False)
    assert found == expected
    assert not none
    assert repeated


async def test_a_form_without_the_order_of_times_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    form = repeated_writes._form
    monkeypatch.setattr(repeated_writes, "_form", lambda texts, times, in_order: form(texts, (), ()))
    monkeypatch.setattr(repeated_writes, "_predicts", lambda *arguments: True)
    broken = False
    for seed in SEEDS:
        try:
            broken = broken or (await lives(seed, repeats=True))[0] != (await lives(seed, repeats=False))[0]
        except IndexError:  # fewer times than the form has
            broken = True
    assert broken


async def running_pods(cluster: VirtualCluster, count: int) -> tuple[LoopbackClient, list[Object]]:
    kubelet, words = LoopbackClient(cluster.api, "kubelet"), random.Random(1)
    document = pod("p", words)
    pods = []
    for number in range(count):
        document = {**document, "metadata": {"name": f"p-{number}"}}
        pods.append(await cluster.client.create(KINDS.POD, document, "default"))
        await kubelet.bind("default", f"p-{number}", pods[-1].uid, "node-1")
    return kubelet, pods


def ready(seen: Object, address: str, now: float) -> Raw:
    status = pod_status(seen.view, Doing("Running", running(now), now, True), "172.16.0.1", address, now)
    return {"metadata": {"uid": seen.uid}, "status": status}


async def test_two_of_many_writes_go_the_usual_way() -> None:
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        kubelet, pods = await running_pods(cluster, 20)
        for number, seen in enumerate(pods):
            patch = ready(seen, f"10.0.0.{number}", cluster.api.clock())
            await kubelet.patch(KINDS.POD, seen.name, "default", patch, subresource="status")
        assert cluster.api.repeated_writes.repeated == len(pods) - 2


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"podIP": "10.0.0.300", "podIPs": [{"ip": "10.0.0.300"}]}, "must be a valid IP address"),
        ({"startTime": "2026-13-01T00:00:00Z"}, "month out of range"),
        ({"phase": 5}, "cannot unmarshal"),
    ],
)
async def test_what_the_usual_way_refuses_is_refused(change: Raw, why: str) -> None:
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        kubelet, pods = await running_pods(cluster, 4)
        for seen in pods[:3]:
            patch = ready(seen, "10.0.0.1", cluster.api.clock())
            await kubelet.patch(KINDS.POD, seen.name, "default", patch, subresource="status")
        assert cluster.api.repeated_writes.repeated == 1
        patch = ready(pods[3], "10.0.0.1", cluster.api.clock())
        patch["status"] |= change
        with pytest.raises(ApiError, match=why):
            await kubelet.patch(KINDS.POD, pods[3].name, "default", patch, subresource="status")
        patch = ready(pods[3], "10.0.0.1", cluster.api.clock())
        patch["metadata"]["uid"] = pods[0].uid
        with pytest.raises(ApiError, match="Precondition failed"):
            await kubelet.patch(KINDS.POD, pods[3].name, "default", patch, subresource="status")


async def test_a_status_that_changes_nothing_is_not_written() -> None:
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        kubelet, pods = await running_pods(cluster, 4)
        now = cluster.api.clock()
        for seen in pods:
            patch = ready(seen, "10.0.0.1", now)
            first = await kubelet.patch(KINDS.POD, seen.name, "default", patch, subresource="status")
            second = await kubelet.patch(KINDS.POD, seen.name, "default", patch, subresource="status")
            assert first.revision == second.revision


async def test_leases_are_renewed_as_if_each_went_the_usual_way() -> None:
    async def renewed(repeats: bool) -> tuple[list[Raw], int]:
        async with VirtualCluster.running(list, clock=clock()) as cluster:
            cluster.api.new_uid = uids()
            if not repeats:
                cluster.api.repeated_writes.at_once = lambda write: None  # type: ignore[method-assign]
            kubelet = LoopbackClient(cluster.api, "kubelet")
            found = []
            for number in range(4):
                document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}}
                node = (await cluster.client.create(KINDS.NODE, document)).view
                assert isinstance(node, Node)
                await kubelet.create(KINDS.LEASE, new_lease(node, cluster.api.clock()), LEASE_NAMESPACE)
            for _ in range(3):
                await cluster.settle(10.0)
                for number in range(4):
                    renew = {"spec": {"renewTime": micro_time_text(int(cluster.api.clock() * 1e6) + number)}}
                    name = f"node-{number}"
                    found.append(
                        await kubelet.patch(KINDS.LEASE, name, LEASE_NAMESPACE, renew, patch_type=PatchType.MERGE)
                    )
            return [one.raw for one in found], cluster.api.repeated_writes.repeated

    found, repeated = await renewed(repeats=True)
    assert (found, 0) == await renewed(repeats=False)
    assert repeated >= 8


async def test_forms_are_forgotten_when_there_are_too_many() -> None:
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        cluster.api.repeated_writes = repeated_writes.RepeatedWrites(limit=3)
        kubelet, pods = await running_pods(cluster, 10)
        for number, seen in enumerate(pods):
            patch = ready(seen, "10.0.0.1", cluster.api.clock())
            patch["status"]["message"] = f"m{number}"
            await kubelet.patch(KINDS.POD, seen.name, "default", patch, subresource="status")
        assert len(cluster.api.repeated_writes) == 3
