"""Names of generated claims in pods of one template are written at once, as if each went the usual way."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.control.devices.claimed import Raw, pod
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import BASE, time_of_day

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.templates import claim_names
from moorage.serve.verbs import patching

PODS = 5


def naming(uid: str, **names: str) -> Raw:
    statuses = [{"name": entry, "resourceClaimName": name} for entry, name in names.items()]
    return {"metadata": {"uid": uid}, "status": {"resourceClaimStatuses": statuses}}


def clock() -> Callable[[], float]:
    """The time of day, beginning with the same."""
    began = time_of_day()
    return lambda: BASE + time_of_day() - began


async def written(cluster: VirtualCluster, manager_name: str = "controller", waits: float = 0.0) -> list[Raw]:
    """Create pods, name their claims, and return the pods without what differs in any case."""
    manager = LoopbackClient(cluster.api, manager_name)
    found = []
    for number in range(PODS):
        name = f"p{number}"
        made = await cluster.client.create(KINDS.POD, pod(name, a="of:t", b="of:t"), "default")
        await cluster.settle(waits)
        patch = naming(made.uid, a=f"{name}-a-x", b=f"{name}-b-y")
        await manager.patch(KINDS.POD, name, "default", patch, subresource="status")
        raw = (await cluster.client.get(KINDS.POD, name, "default")).raw
        view = (await cluster.client.get(KINDS.POD, name, "default")).view
        assert [(one.name, one.resourceClaimName) for one in view.status.resourceClaimStatuses] == [
            ("a", f"{name}-a-x"),
            ("b", f"{name}-b-y"),
        ]
        for field in ("uid", "resourceVersion"):
            del raw["metadata"][field]
        found.append(raw)
    return found


@pytest.mark.parametrize("waits", [0.0, 3.0])
@pytest.mark.parametrize("manager", ["controller", "test", "z"])  # the pods are made by "test"
async def test_pods_are_the_same_as_if_they_went_the_usual_way(
    monkeypatch: pytest.MonkeyPatch, waits: float, manager: str
) -> None:
    taken: list[Any] = []

    def counted(*arguments: Any) -> Any:
        taken.append(claim_names.with_names(*arguments))
        return taken[-1]

    monkeypatch.setattr(patching, "with_names", counted)
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        at_once = await written(cluster, manager, waits)
    assert sum(one is not None for one in taken) == PODS - 2  # the first has no template, the second teaches it
    monkeypatch.setattr(patching, "with_names", lambda *arguments: None)
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        assert await written(cluster, manager, waits) == at_once


async def test_what_the_usual_way_refuses_is_refused() -> None:
    async with VirtualCluster.running(list) as cluster:
        await written(cluster)
        made = await cluster.client.create(KINDS.POD, pod("q", a="of:t", b="of:t"), "default")
        other = naming("another", a="x", b="y")
        with pytest.raises(ApiError, match="Precondition failed: UID in precondition: another"):
            await cluster.client.patch(KINDS.POD, "q", "default", other, subresource="status")
        with pytest.raises(ApiError, match="resourceClaimName: Invalid value"):
            await cluster.client.patch(KINDS.POD, "q", "default", naming(made.uid, a="X", b="y"), subresource="status")
        with pytest.raises(ApiError, match="not found"):
            await cluster.client.patch(KINDS.POD, "r", "default", other, subresource="status")


async def test_a_pod_whose_status_has_changed_keeps_the_change() -> None:
    async with VirtualCluster.running(list) as cluster:
        await written(cluster)
        made = await cluster.client.create(KINDS.POD, pod("q", a="of:t", b="of:t"), "default")
        await cluster.client.patch(KINDS.POD, "q", "default", {"status": {"message": "m"}}, subresource="status")
        await cluster.client.patch(KINDS.POD, "q", "default", naming(made.uid, a="x", b="y"), subresource="status")
        status = (await cluster.client.get(KINDS.POD, "q", "default")).view.status
        assert status.message == "m"
        assert len(status.resourceClaimStatuses) == 2
