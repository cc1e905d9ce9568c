"""A Deployment that was stored before the webhook came has one ReplicaSet, which is not lowered; its pods are."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.attach.workloads import toleration
from tests.unit.attached.webhook.attached_cluster import PLACE, Calls
from tests.unit.control.workloads import both, deployment
from tests.virtual_cluster import VirtualCluster

from moorage.attach.objects import lowered, raised
from moorage.attached.webhook.configuration import lowering_configuration
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS

SPOT = toleration("Gt", "950", effect="NoSchedule")


async def at_once(function: Callable[..., Any], *arguments: Any) -> Any:
    """Take the place of threads, for which virtual time does not wait."""
    return function(*arguments)


@pytest.mark.parametrize("has_condition", [True, False])
async def test_replica_sets_of_a_deployment_are_not_lowered(
    has_condition: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubernetes would make one after the other. Without the condition they are sent at least, and answered `same`."""
    async with VirtualCluster.running(both, gates=gates_from({"AllAlpha": True})) as cluster:
        calls = Calls(cluster.api)
        monkeypatch.setattr(cluster.api.long_work, "run", at_once)
        await cluster.stop()
        wanted = deployment("web", 3)
        wanted["spec"]["template"]["spec"]["tolerations"] = [SPOT]
        await cluster.client.create(KINDS.DEPLOYMENT, wanted)
        configuration = lowering_configuration(PLACE)
        if not has_condition:
            del configuration["webhooks"][0]["matchConditions"][0]
        await cluster.client.create(KINDS.MUTATING_WEBHOOK_CONFIGURATION, configuration)
        await cluster.start()
        await cluster.settle(60)
        [found] = await cluster.all(KINDS.REPLICA_SET)
        assert found.raw["spec"]["template"]["spec"]["tolerations"] == [SPOT]
        assert ("ReplicaSet" in {call.kind for call in calls}) is not has_condition
        pods = [each.raw for each in await cluster.all(KINDS.POD)]
        assert len(pods) == 3
        for pod in pods:
            assert lowered(pod) is pod
            assert SPOT in raised(pod)["spec"]["tolerations"]
