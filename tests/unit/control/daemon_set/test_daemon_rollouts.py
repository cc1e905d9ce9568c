"""Changes of a DaemonSet's template: step by step within limits, or when somebody deletes; revisions and going back."""

import asyncio

from tests.unit.control.daemon_set.daemon_sets import ON_DELETE, Daemons, daemon_set, daemons, rolling
from tests.virtual_nodes import change_node

from moorage.client.protocol import PatchType
from moorage.control.framework.workloads import ready_condition
from moorage.model.kinds import KINDS


async def watch_rollout(found: Daemons, seconds: int) -> tuple[int, int]:
    """The fewest pods that were ready at a time, and the most that there were on a node."""
    fewest, most = 99, 0
    for _ in range(seconds * 10):
        pods = await found.pods()
        fewest = min(fewest, sum(ready_condition(pod.view) is not None for pod in pods))
        nodes = [pod.view.spec.nodeName for pod in pods if pod.view.spec.nodeName]
        most = max([most, *(nodes.count(node) for node in nodes)])
        await asyncio.sleep(0.1)
    return fewest, most


async def test_one_after_the_other() -> None:
    async with daemons() as found:
        await found.create(daemon_set(updateStrategy=rolling(1)))
        await found.change_image("two", settle=0)
        assert await watch_rollout(found, 30) == (2, 1)
        assert await found.images() == ["two"] * 3
        assert await found.where() == ["n0", "n1", "n2"]
        status = await found.status()
        assert (status["updatedNumberScheduled"], status["numberAvailable"]) == (3, 3)
        assert status["observedGeneration"] == 2


async def test_a_second_pod_first() -> None:
    async with daemons() as found:
        await found.create(daemon_set(updateStrategy=rolling(0, "34%"), minReadySeconds=3))
        await found.change_image("two", settle=0)
        fewest, most = await watch_rollout(found, 60)
        assert fewest >= 3
        assert most == 2
        assert await found.images() == ["two"] * 3


async def test_new_pods_that_do_not_work_stop_it() -> None:
    def seconds_to_start(pod: object) -> float:
        return float("inf") if pod.view.spec.containers[0].image == "two" else 1.0  # type: ignore[attr-defined]

    async with daemons(5, seconds_to_start=seconds_to_start) as found:
        await found.create(daemon_set(updateStrategy=rolling(2)))
        await found.change_image("two", settle=60)
        assert sorted(await found.images()) == ["one"] * 3 + ["two"] * 2
        await found.change_image("three", settle=60)
        assert await found.images() == ["three"] * 5


async def test_nothing_moves_until_somebody_deletes() -> None:
    async with daemons() as found:
        await found.create(daemon_set(updateStrategy=ON_DELETE))
        await found.change_image("two", settle=30)
        assert await found.images() == ["one"] * 3
        assert "updatedNumberScheduled" not in await found.status()
        await found.cluster.client.delete(KINDS.POD, (await found.pods())[1].name, "default")
        await found.cluster.settle(10)
        assert await found.images() == ["one", "two", "one"]
        assert (await found.status())["updatedNumberScheduled"] == 1


async def test_ready_is_not_yet_available() -> None:
    async with daemons(1) as found:
        await found.create(daemon_set(minReadySeconds=60), settle=20)
        status = await found.status()
        assert (status["numberReady"], status.get("numberAvailable"), status["numberUnavailable"]) == (1, None, 1)
        await found.cluster.settle(60)
        status = await found.status()
        assert (status["numberAvailable"], status.get("numberUnavailable")) == (1, None)


async def test_revisions_are_counted_kept_and_gone_back_to() -> None:
    async with daemons(1) as found:
        await found.create(daemon_set(revisionHistoryLimit=2))
        for image in ("two", "three", "four"):
            await found.change_image(image, settle=20)
        revisions = await found.revisions()
        assert [one.view.revision for one in revisions] == [2, 3, 4]
        back = revisions[0].raw["data"]
        assert back["spec"]["template"]["$patch"] == "replace"
        await found.cluster.client.patch(KINDS.DAEMON_SET, "agent", "default", back, patch_type=PatchType.STRATEGIC)
        await found.cluster.settle(20)
        assert await found.images() == ["two"]
        again = await found.revisions()
        assert [one.view.revision for one in again] == [3, 4, 5]
        assert again[-1].name == revisions[0].name


async def test_a_name_that_is_taken_makes_another() -> None:
    async with daemons(1) as found:
        await found.create(daemon_set())
        (first,) = await found.revisions()
        await found.cluster.client.delete(KINDS.DAEMON_SET, "agent", "default", propagation="Orphan")
        await found.cluster.settle(5)
        (left,) = await found.revisions()
        taken = {**left.raw, "metadata": {"name": first.name, "namespace": "default"}, "data": {"other": 1}}
        await found.cluster.client.delete(left.kind, left.name, "default")
        await found.cluster.client.create(left.kind, taken, "default")
        await found.create(daemon_set())
        assert (await found.status())["collisionCount"] == 1
        names = {one.name for one in await found.revisions()}
        assert first.name in names
        assert len(names) == 2


async def test_equal_revisions_become_one_when_something_else_changes() -> None:
    async with daemons(1) as found:
        await found.create(daemon_set(updateStrategy=ON_DELETE))
        (first,) = await found.revisions()
        labels = {**first.raw["metadata"]["labels"], "controller-revision-hash": "other"}
        metadata = {"name": "agent-other", "namespace": "default", "labels": labels}
        twin = {**first.raw, "metadata": {**metadata, "ownerReferences": first.raw["metadata"]["ownerReferences"]}}
        await found.cluster.client.create(first.kind, {**twin, "revision": 7}, "default")
        await found.cluster.settle(10)
        # As upstream (addHistory), a new revision alone does not wake the controller.
        assert [one.name for one in await found.revisions()] == [first.name, "agent-other"]
        await found.change({"metadata": {"annotations": {"any": "change"}}})
        (left,) = await found.revisions()
        assert left.name == "agent-other"
        assert (await found.pods())[0].view.metadata.labels["controller-revision-hash"] == "other"


async def test_a_restart_in_the_middle_changes_nothing() -> None:
    async with daemons(4) as found:
        await found.create(daemon_set(updateStrategy=rolling(1)))
        await found.change_image("two", settle=3)
        await found.cluster.restart()
        await change_node(found.cluster, "n3", {"metadata": {"labels": {"a": "b"}}})
        await found.cluster.settle(40)
        assert await found.images() == ["two"] * 4


async def test_data_of_a_revision_is_the_text_that_go_writes() -> None:
    async with daemons(1) as found:
        containers = [{"name": "c", "image": "one", "resources": {}, "args": ["a<b && c>d\u2028"]}]
        await found.create(daemon_set(pod_spec={"containers": containers}))
        container = (
            b'{"args":["a\\u003cb \\u0026\\u0026 c\\u003ed\\u2028"],"image":"one","imagePullPolicy":"Always",'
            b'"name":"c","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}'
        )
        wanted = (
            b'"data":{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"agent"}},"spec":{"containers":['
            + container
            + b'],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler",'
            b'"securityContext":{},"terminationGracePeriodSeconds":30}}}},"revision":%d,'
        )
        (revision,) = await found.revisions()
        assert wanted % 1 in revision.source.value
        patched = await found.cluster.client.patch(revision.kind, revision.name, "default", {"revision": 3})
        assert wanted % 3 in patched.source.value
