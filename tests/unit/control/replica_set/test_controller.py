"""ReplicaSets: pods made, deleted, adopted and let go; status and events; templates that are refused."""

from typing import Any

from tests.controller_context import controller_context
from tests.unit.control.workloads import only_replica_sets, pod, replica_set
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet

from moorage.client.protocol import Object
from moorage.control.replica_set import ReplicaSetController
from moorage.model.kinds import KINDS


async def _status(cluster: VirtualCluster, name: str = "web") -> dict[str, Any]:
    status: dict[str, Any] = (await cluster.client.get(KINDS.REPLICA_SET, name, "default")).raw["status"]
    return status


async def _pods(cluster: VirtualCluster) -> list[Object]:
    return [pod for pod in await cluster.all(KINDS.POD) if pod.view.metadata.deletionTimestamp is None]


async def test_pods_are_made_from_the_template_and_belong_to_their_replica_set() -> None:
    async with VirtualCluster.running(only_replica_sets) as cluster, VirtualKubelet.running(cluster):
        wanted = replica_set("web", 3)
        wanted["spec"]["template"]["metadata"] |= {"annotations": {"a": "b"}, "finalizers": ["example.com/f"]}
        made = await cluster.client.create(KINDS.REPLICA_SET, wanted)
        await cluster.settle(5)
        pods = await _pods(cluster)
        assert len(pods) == 3
        metadata = pods[0].raw["metadata"]
        assert metadata["generateName"] == "web-"
        assert metadata["labels"] == {"app": "web"}
        assert metadata["annotations"] == {"a": "b"}
        assert metadata["finalizers"] == ["example.com/f"]
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web",
                "uid": made.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert await _status(cluster) == {
            "replicas": 3,
            "fullyLabeledReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "terminatingReplicas": 0,
            "observedGeneration": 1,
        }
        texts = {event.message for event in cluster.events if event.reason == "SuccessfulCreate"}
        assert texts == {f"Created pod: {pod.name}" for pod in pods}


async def test_surplus_is_deleted_and_what_still_terminates_is_counted_apart() -> None:
    async with (
        VirtualCluster.running(only_replica_sets) as cluster,
        VirtualKubelet.running(cluster, seconds_to_stop=20),
    ):
        await cluster.client.create(KINDS.REPLICA_SET, replica_set("web", 3))
        await cluster.settle(5)
        before = {pod.name for pod in await _pods(cluster)}
        await cluster.client.patch(KINDS.REPLICA_SET, "web", "default", {"spec": {"replicas": 1}}, subresource="scale")
        await cluster.settle(5)
        gone = before - {pod.name for pod in await _pods(cluster)}
        assert len(gone) == 2
        status = await _status(cluster)
        assert (status["replicas"], status["terminatingReplicas"], status["observedGeneration"]) == (1, 2, 2)
        deleted = [event.message for event in cluster.events if event.reason == "SuccessfulDelete"]
        assert sorted(deleted) == sorted(f"Deleted pod: {name}" for name in gone)
        await cluster.settle(60)
        assert (await _status(cluster))["terminatingReplicas"] == 0


async def test_pods_that_failed_are_replaced_and_left_for_people_to_look_at() -> None:
    async with VirtualCluster.running(only_replica_sets) as cluster, VirtualKubelet.running(cluster) as kubelet:
        await cluster.client.create(KINDS.REPLICA_SET, replica_set("web", 2))
        await cluster.settle(5)
        await kubelet.fail((await _pods(cluster))[0])
        await cluster.settle(5)
        phases = sorted(pod.view.status.phase for pod in await _pods(cluster))
        assert phases == ["Failed", "Running", "Running"]
        assert (await _status(cluster))["replicas"] == 2


async def test_orphans_that_match_are_adopted_and_pods_that_do_not_match_any_more_are_let_go() -> None:
    async with VirtualCluster.running(only_replica_sets) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.POD, pod("mine", {"app": "web"}))
        await cluster.client.create(KINDS.POD, pod("other", {"app": "other"}))
        owner = await cluster.client.create(KINDS.REPLICA_SET, replica_set("web", 2))
        await cluster.settle(5)
        mine = await cluster.client.get(KINDS.POD, "mine", "default")
        assert [reference.uid for reference in mine.view.metadata.ownerReferences] == [owner.uid]
        assert not (await cluster.client.get(KINDS.POD, "other", "default")).view.metadata.ownerReferences
        assert len(await _pods(cluster)) == 3
        await cluster.client.patch(KINDS.POD, "mine", "default", {"metadata": {"labels": {"app": "else"}}})
        await cluster.settle(5)
        mine = await cluster.client.get(KINDS.POD, "mine", "default")
        assert not mine.view.metadata.ownerReferences
        assert len(await _pods(cluster)) == 4
        assert (await _status(cluster))["replicas"] == 2
        await cluster.client.patch(KINDS.POD, "other", "default", {"metadata": {"labels": {"app": "web"}}})
        await cluster.settle(5)
        assert len([one for one in await _pods(cluster) if one.view.metadata.labels["app"] == "web"]) == 2


async def test_a_pod_is_available_once_it_was_ready_for_long_enough() -> None:
    async with VirtualCluster.running(only_replica_sets) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.REPLICA_SET, replica_set("web", 1, minReadySeconds=30))
        await cluster.settle(20)
        status = await _status(cluster)
        assert status["readyReplicas"] == 1
        assert "availableReplicas" not in status
        await cluster.settle(20)
        assert (await _status(cluster))["availableReplicas"] == 1


async def test_a_template_that_is_refused_is_tried_less_and_less_and_the_refusal_is_told() -> None:
    async with VirtualCluster.running(only_replica_sets) as cluster, VirtualKubelet.running(cluster):
        wanted = replica_set("web", 20)
        wanted["spec"]["template"]["spec"]["priorityClassName"] = "missing"
        await cluster.client.create(KINDS.REPLICA_SET, wanted)
        await cluster.settle(600)
        text = 'pods "web-" is forbidden: no PriorityClass with name missing was found'
        tries = [event for event in cluster.events if event.reason == "FailedCreate"]
        assert {event.message for event in tries} == {f"Error creating: {text}"}
        assert len(tries) < 25
        condition = (await _status(cluster))["conditions"][0]
        assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
        assert condition["message"] == text
        refused = cluster.metrics.render()[0].decode()
        line = f'moorage_controller_refused_requests_total{{name="replicaset-controller"}} {len(tries)}'
        assert line in refused
        priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5}
        await cluster.client.create(KINDS.PRIORITY_CLASS, {**priority, "metadata": {"name": "missing"}})
        await cluster.settle(2000)
        status = await _status(cluster)
        assert "conditions" not in status
        assert status["availableReplicas"] == 20


async def test_a_replica_set_that_is_being_deleted_makes_no_pods() -> None:
    async with VirtualCluster.running(only_replica_sets) as cluster, VirtualKubelet.running(cluster):
        wanted = replica_set("web", 1)
        wanted["metadata"]["finalizers"] = ["example.com/f"]
        await cluster.client.create(KINDS.REPLICA_SET, wanted)
        await cluster.settle(5)
        await cluster.client.delete(KINDS.REPLICA_SET, "web", "default")
        for found in await _pods(cluster):
            await cluster.client.delete(KINDS.POD, found.name, "default")
        await cluster.settle(30)
        assert not await cluster.all(KINDS.POD)
        assert (await _status(cluster))["replicas"] == 0


async def test_nothing_happens_when_nothing_changes_and_a_restart_changes_nothing() -> None:
    async with VirtualCluster.running(only_replica_sets) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.REPLICA_SET, replica_set("web", 5))
        await cluster.settle(30)
        before = cluster.store.revision
        await cluster.restart()
        await cluster.settle(3000)
        assert cluster.store.revision == before


async def test_many_pods_are_deleted_in_pieces_and_their_ages_are_observed() -> None:
    controller = ReplicaSetController(controller_context())
    async with VirtualCluster.running(lambda: (controller,)) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.REPLICA_SET, replica_set("web", 620))
        await cluster.settle(10)
        assert (await _status(cluster))["availableReplicas"] == 620
        await cluster.client.patch(KINDS.REPLICA_SET, "web", "default", {"spec": {"replicas": 20}})
        await cluster.settle(30)
        assert len(await cluster.all(KINDS.POD)) == 20
        assert controller._age_ratio is not None
        assert controller._age_ratio.labels().count == 600


async def test_in_a_namespace_that_goes_away_nobody_complains() -> None:
    async with VirtualCluster.running(only_replica_sets) as cluster, VirtualKubelet.running(cluster):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}}
        await cluster.client.create(KINDS.NAMESPACE, namespace)
        wanted = replica_set("web", 2)
        wanted["metadata"]["namespace"] = "going"
        await cluster.client.create(KINDS.REPLICA_SET, wanted)
        await cluster.settle(5)
        await cluster.client.delete(KINDS.NAMESPACE, "going")
        for found in await cluster.all(KINDS.POD, "going"):
            await cluster.client.delete(KINDS.POD, found.name, "going")
        await cluster.settle(100)
        assert "FailedCreate" not in cluster.reasons()
        assert not await cluster.all(KINDS.POD, "going")
