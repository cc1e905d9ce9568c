"""Whole rollouts in virtual time: what people do with Deployments, and what they see."""

from typing import Any

from tests.unit.control.workloads import both, deployment, rolling, template
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet

from moorage.client.protocol import Object
from moorage.control.deployment.rollout import REVISION_HISTORY
from moorage.control.framework.workloads import template_hash
from moorage.model.kinds import KINDS
from moorage.model.well_known.annotations import DEPLOYMENT_REVISION
from moorage.model.well_known.labels import POD_TEMPLATE_HASH

Raw = dict[str, Any]


def _starts(pod: Object) -> float:
    return float("inf") if pod.view.spec.containers[0].image == "bad" else 1.0


async def _get(cluster: VirtualCluster) -> Raw:
    return (await cluster.client.get(KINDS.DEPLOYMENT, "web", "default")).raw


async def _condition(cluster: VirtualCluster, kind: str) -> tuple[str, str, str]:
    found = next(one for one in (await _get(cluster))["status"]["conditions"] if one["type"] == kind)
    return found["status"], found["reason"], found["message"]


async def _change(cluster: VirtualCluster, image: str = "", **spec: Any) -> None:
    if image:
        spec["template"] = {"spec": {"containers": [{"name": "c", "image": image}]}}
    await cluster.client.patch(KINDS.DEPLOYMENT, "web", "default", {"spec": spec})


async def _sets(cluster: VirtualCluster) -> dict[str, Raw]:
    """ReplicaSets by image."""
    sets = await cluster.all(KINDS.REPLICA_SET)
    return {found.view.spec.template.spec.containers[0].image: found.raw for found in sets}


def _scalings(cluster: VirtualCluster) -> list[str]:
    return [event.message for event in cluster.events if event.reason == "ScalingReplicaSet"]


async def test_a_deployment_makes_a_replica_set_named_after_its_template() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        wanted = deployment("web", 3, minReadySeconds=2)
        wanted["metadata"]["annotations"] = {"note": "n"}
        made = await cluster.client.create(KINDS.DEPLOYMENT, wanted)
        await cluster.settle(30)
        short = template_hash(made.raw["spec"]["template"], None)
        found = (await _sets(cluster))["one"]
        name = f"web-{short}"
        assert found["metadata"]["name"] == name
        assert found["metadata"]["labels"] == {"app": "web", POD_TEMPLATE_HASH: short}
        assert found["metadata"]["annotations"] == {
            "note": "n",
            DEPLOYMENT_REVISION: "1",
            "deployment.kubernetes.io/desired-replicas": "3",
            "deployment.kubernetes.io/max-replicas": "4",
        }
        assert found["metadata"]["ownerReferences"][0]["uid"] == made.uid
        assert found["spec"]["selector"] == {"matchLabels": {"app": "web", POD_TEMPLATE_HASH: short}}
        assert found["spec"]["minReadySeconds"] == 2
        assert all(pod.view.metadata.labels[POD_TEMPLATE_HASH] == short for pod in await cluster.all(KINDS.POD))
        result = await _get(cluster)
        assert result["metadata"]["annotations"][DEPLOYMENT_REVISION] == "1"
        status = {field: count for field, count in result["status"].items() if field != "conditions"}
        assert status == {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "terminatingReplicas": 0,
        }
        text = f'ReplicaSet "{name}" has successfully progressed.'
        assert await _condition(cluster, "Progressing") == ("True", "NewReplicaSetAvailable", text)
        available = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        assert await _condition(cluster, "Available") == available
        assert _scalings(cluster) == [f"Scaled up replica set {name} from 0 to 3"]


async def test_a_new_template_rolls_and_an_old_one_comes_back_under_a_new_revision() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.DEPLOYMENT, deployment("web", 2, strategy=rolling(1, 0)))
        await cluster.settle(10)
        await _change(cluster, "two")
        await cluster.settle(60)
        sets = await _sets(cluster)
        old, new = sets["one"]["metadata"]["name"], sets["two"]["metadata"]["name"]
        assert _scalings(cluster)[1:] == [
            f"Scaled up replica set {new} from 0 to 1",
            f"Scaled down replica set {old} from 2 to 1",
            f"Scaled up replica set {new} from 1 to 2",
            f"Scaled down replica set {old} from 1 to 0",
        ]
        assert sets["two"]["metadata"]["annotations"][DEPLOYMENT_REVISION] == "2"
        await _change(cluster, "one")
        await cluster.settle(60)
        sets = await _sets(cluster)
        assert len(sets) == 2
        annotations = sets["one"]["metadata"]["annotations"]
        assert (annotations[DEPLOYMENT_REVISION], annotations[REVISION_HISTORY]) == ("3", "1")
        assert (await _get(cluster))["metadata"]["annotations"][DEPLOYMENT_REVISION] == "3"


async def test_old_revisions_are_forgotten_beyond_the_limit() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.DEPLOYMENT, deployment("web", 1, "i0", revisionHistoryLimit=2))
        for number in range(1, 6):
            await _change(cluster, f"i{number}")
            await cluster.settle(60)
        assert sorted(await _sets(cluster)) == ["i3", "i4", "i5"]
        await _change(cluster, revisionHistoryLimit=0)
        await cluster.settle(60)
        assert sorted(await _sets(cluster)) == ["i5"]


async def test_recreate_starts_nothing_new_before_everything_old_is_gone() -> None:
    async with (
        VirtualCluster.running(both) as cluster,
        VirtualKubelet.running(cluster, seconds_to_stop=20) as kubelet,
    ):
        await cluster.client.create(KINDS.DEPLOYMENT, deployment("web", 3, strategy={"type": "Recreate"}))
        await cluster.settle(30)
        await kubelet.fail((await cluster.all(KINDS.POD))[0])
        await cluster.settle(10)
        await _change(cluster, "two")
        await cluster.settle(15)
        assert list(await _sets(cluster)) == ["one"]
        assert (await _get(cluster))["status"]["terminatingReplicas"] == 3
        await cluster.settle(30)
        running = [pod for pod in await cluster.all(KINDS.POD) if pod.view.status.phase == "Running"]
        assert [pod.view.spec.containers[0].image for pod in running] == ["two"] * 3
        assert await _condition(cluster, "Available") == (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )


async def test_while_paused_nothing_rolls_but_sizes_follow() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.DEPLOYMENT, deployment("web", 2))
        await cluster.settle(10)
        await _change(cluster, "two", paused=True, replicas=5)
        await cluster.settle(30)
        assert list(await _sets(cluster)) == ["one"]
        assert (await _sets(cluster))["one"]["spec"]["replicas"] == 5
        paused = ("Unknown", "DeploymentPaused", "Deployment is paused")
        assert await _condition(cluster, "Progressing") == paused
        await _change(cluster, paused=False)
        await cluster.settle(60)
        assert (await _sets(cluster))["two"]["spec"]["replicas"] == 5
        assert (await _condition(cluster, "Progressing"))[1] == "NewReplicaSetAvailable"


async def test_a_rollout_that_gets_stuck_says_so_after_its_deadline_and_recovers() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster, _starts):
        wanted = deployment("web", 4, strategy=rolling(1, 1), progressDeadlineSeconds=60)
        await cluster.client.create(KINDS.DEPLOYMENT, wanted)
        await cluster.settle(10)
        await _change(cluster, "bad")
        await cluster.settle(50)
        assert await _condition(cluster, "Progressing") == (
            "True",
            "ReplicaSetUpdated",
            f'ReplicaSet "{(await _sets(cluster))["bad"]["metadata"]["name"]}" is progressing.',
        )
        await cluster.settle(20)
        name = (await _sets(cluster))["bad"]["metadata"]["name"]
        text = f'ReplicaSet "{name}" has timed out progressing.'
        assert await _condition(cluster, "Progressing") == ("False", "ProgressDeadlineExceeded", text)
        assert (await _get(cluster))["status"]["availableReplicas"] == 3
        assert (await _get(cluster))["status"]["unavailableReplicas"] == 2
        await _change(cluster, "one")
        await cluster.settle(60)
        assert (await _condition(cluster, "Progressing"))[:2] == ("True", "NewReplicaSetAvailable")


async def test_without_a_deadline_nobody_speaks_of_progress() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        wanted = deployment("web", 1, progressDeadlineSeconds=2**31 - 1)
        await cluster.client.create(KINDS.DEPLOYMENT, wanted)
        await cluster.settle(10)
        kinds = [one["type"] for one in (await _get(cluster))["status"]["conditions"]]
        assert kinds == ["Available"]


async def test_a_replica_set_that_was_there_before_is_adopted() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.DEPLOYMENT, deployment("web", 2))
        await cluster.settle(10)
        await cluster.client.delete(KINDS.DEPLOYMENT, "web", "default", propagation="Orphan")
        for found in await cluster.all(KINDS.REPLICA_SET):
            orphan = {"metadata": {"ownerReferences": None}}
            await cluster.client.patch(KINDS.REPLICA_SET, found.name, "default", orphan)
        before = {pod.name for pod in await cluster.all(KINDS.POD)}
        made = await cluster.client.create(KINDS.DEPLOYMENT, deployment("web", 2))
        await cluster.settle(10)
        sets = await cluster.all(KINDS.REPLICA_SET)
        assert [found.view.metadata.ownerReferences[0].uid for found in sets] == [made.uid]
        assert {pod.name for pod in await cluster.all(KINDS.POD)} == before
        assert (await _condition(cluster, "Progressing"))[1] == "NewReplicaSetAvailable"
        assert (await _get(cluster))["status"]["updatedReplicas"] == 2


async def test_a_name_that_is_taken_is_a_collision_and_another_one_is_found() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        paused = await cluster.client.create(KINDS.DEPLOYMENT, deployment("web", 1, paused=True))
        short = template_hash(paused.raw["spec"]["template"], None)
        squatter = deployment(f"web-{short}", 0)
        squatter |= {"kind": "ReplicaSet"}
        await cluster.client.create(KINDS.REPLICA_SET, squatter)
        await _change(cluster, paused=False)
        await cluster.settle(30)
        result = await _get(cluster)
        assert result["status"]["collisionCount"] == 1
        assert result["status"]["availableReplicas"] == 1
        name = f"web-{template_hash(result['spec']['template'], 1)}"
        assert name in [found.name for found in await cluster.all(KINDS.REPLICA_SET)]


async def test_pods_that_are_refused_show_in_the_deployment() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        wanted = deployment("web", 2)
        wanted["spec"]["template"]["spec"]["priorityClassName"] = "missing"
        await cluster.client.create(KINDS.DEPLOYMENT, wanted)
        await cluster.settle(10)
        text = "no PriorityClass with name missing was found"
        status, reason, message = await _condition(cluster, "ReplicaFailure")
        assert (status, reason) == ("True", "FailedCreate")
        assert message.endswith(text)
        assert (await _condition(cluster, "Available"))[:2] == ("False", "MinimumReplicasUnavailable")
        await cluster.client.patch(
            KINDS.DEPLOYMENT, "web", "default", {"spec": {"template": {"spec": {"priorityClassName": None}}}}
        )
        await cluster.settle(100)
        kinds = {one["type"] for one in (await _get(cluster))["status"]["conditions"]}
        assert kinds == {"Available", "Progressing"}


async def test_a_long_name_leaves_room_for_the_hash() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        wanted = deployment("web", 1)
        wanted["metadata"]["name"] = "x" * 250
        await cluster.client.create(KINDS.DEPLOYMENT, wanted)
        await cluster.settle(10)
        names = [found.name for found in await cluster.all(KINDS.REPLICA_SET)]
        assert len(names) == 1
        assert len(names[0]) <= 253
        assert len(await cluster.all(KINDS.POD)) == 1


async def test_a_deployment_that_is_being_deleted_changes_nothing() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        wanted = deployment("web", 2)
        wanted["metadata"]["finalizers"] = ["example.com/f"]
        await cluster.client.create(KINDS.DEPLOYMENT, wanted)
        await cluster.settle(10)
        await cluster.client.delete(KINDS.DEPLOYMENT, "web", "default")
        await _change(cluster, "two", replicas=5)
        await cluster.settle(30)
        sets = await _sets(cluster)
        assert list(sets) == ["one"]
        assert sets["one"]["spec"]["replicas"] == 2
        assert (await _get(cluster))["status"]["observedGeneration"] > 1


async def test_a_crash_between_two_steps_costs_nothing() -> None:
    async with VirtualCluster.running(both) as cluster, VirtualKubelet.running(cluster):
        await cluster.client.create(KINDS.DEPLOYMENT, deployment("web", 5))
        await cluster.settle(10)
        await _change(cluster, template={**template("web", "two")})
        for _ in range(20):
            await cluster.settle(0.7)
            await cluster.restart()
        await cluster.settle(60)
        assert (await _sets(cluster))["two"]["status"]["availableReplicas"] == 5
        assert len(await cluster.all(KINDS.POD)) == 5
        before = cluster.store.revision
        await cluster.restart()
        await cluster.settle(2000)
        assert cluster.store.revision == before
