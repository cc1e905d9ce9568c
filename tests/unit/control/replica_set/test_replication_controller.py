"""ReplicationControllers: the ReplicaSet controller's work for another kind, whose selector is a map of labels."""

from collections.abc import Iterable
from typing import Any

from tests.controller_context import controller_context
from tests.unit.control.workloads import pod, template
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet

from moorage.control.framework.controller import Controller
from moorage.control.garbage import GarbageCollector
from moorage.control.replica_set import ReplicationControllerController
from moorage.model.kinds import KINDS


def _controllers() -> Iterable[Controller]:
    context = controller_context()
    return ReplicationControllerController(context), GarbageCollector(context)


def _replication_controller(replicas: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "template": template("web")},
    }


async def test_pods_are_made_adopted_scaled_and_orphaned() -> None:
    running = VirtualCluster.running(_controllers, collects_garbage=True)
    async with running as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.POD, pod("found", {"app": "web"}))
        made = await cluster.client.create(KINDS.REPLICATION_CONTROLLER, _replication_controller(3))
        assert made.raw["spec"]["selector"] == made.raw["metadata"]["labels"] == {"app": "web"}
        assert made.raw["status"] == {"replicas": 0}
        await cluster.settle(10)
        pods = await cluster.all(KINDS.POD)
        assert len(pods) == 3
        assert {pod.view.metadata.ownerReferences[0].kind for pod in pods} == {"ReplicationController"}
        found = await cluster.client.get(KINDS.REPLICATION_CONTROLLER, "web", "default")
        counts = dict.fromkeys(("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"), 3)
        assert found.raw["status"] == {**counts, "observedGeneration": 1}
        await cluster.client.patch(KINDS.REPLICATION_CONTROLLER, "web", "default", {"spec": {"replicas": 1}})
        await cluster.settle(40)
        assert len(await cluster.all(KINDS.POD)) == 1
        labels = {"metadata": {"labels": {"app": "other"}}}
        await cluster.client.patch(KINDS.POD, (await cluster.all(KINDS.POD))[0].name, "default", labels)
        await cluster.settle(10)
        owners = {
            pod.view.metadata.labels["app"]: len(pod.view.metadata.ownerReferences)
            for pod in await cluster.all(KINDS.POD)
        }
        assert owners == {"other": 0, "web": 1}
        await cluster.client.delete(KINDS.REPLICATION_CONTROLLER, "web", "default")  # orphans by default
        await cluster.settle(10)
        assert [pod.view.metadata.ownerReferences for pod in await cluster.all(KINDS.POD)] == [(), ()]
        assert {event.reason for event in cluster.events} >= {"SuccessfulCreate", "SuccessfulDelete"}
