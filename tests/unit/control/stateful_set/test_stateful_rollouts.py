"""Changes of a StatefulSet's template: from the highest number down, to the partition, or when somebody deletes."""

from typing import Any

import pytest
from tests.unit.control.stateful_set.stateful_sets import numbered, stateful_set
from tests.unit.control.workloads import pod, ready, seen
from tests.virtual_time import BASE

from moorage.client.protocol import PatchType
from moorage.control.stateful_set.members import pods_to_replace
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.workload import StatefulSet


async def test_from_the_highest_number_down() -> None:
    async with numbered(seconds_to_start=lambda pod: 5, seconds_to_stop=5) as found:
        await found.create(stateful_set())
        old = (await found.status())["currentRevision"]
        await found.change_image("two", settle=8)
        assert await found.images() == ["one", "one", "two"]
        status = await found.status()
        assert (status["currentRevision"], status["updatedReplicas"], status["currentReplicas"]) == (old, 1, 2)
        assert status["updateRevision"] != old
        await found.cluster.settle(60)
        assert await found.images() == ["two"] * 3
        status = await found.status()
        assert status["currentRevision"] == status["updateRevision"] != old
        assert (status["updatedReplicas"], status["currentReplicas"]) == (3, 3)


async def test_below_the_partition_pods_stay_old_even_if_they_are_made_anew() -> None:
    async with numbered() as found:
        await found.create(stateful_set(updateStrategy={"rollingUpdate": {"partition": 2}}))
        await found.change_image("two", settle=60)
        assert await found.images() == ["one", "one", "two"]
        await found.cluster.client.delete(KINDS.POD, "web-0", "default")
        await found.cluster.settle(20)
        assert await found.images() == ["one", "one", "two"]
        await found.change({"updateStrategy": {"rollingUpdate": {"partition": 0}}}, settle=60)
        assert await found.images() == ["two"] * 3


async def test_nothing_moves_until_somebody_deletes() -> None:
    async with numbered() as found:
        await found.create(stateful_set(updateStrategy={"type": "OnDelete"}))
        await found.change_image("two", settle=60)
        assert await found.images() == ["one"] * 3
        await found.cluster.client.delete(KINDS.POD, "web-1", "default")
        await found.cluster.settle(20)
        assert await found.images() == ["one", "two", "one"]


async def test_the_same_template_written_in_another_way_is_no_new_revision() -> None:
    """As clients do that send back what they have read: nulls, empty objects, another way to write a quantity."""
    async with numbered() as found:
        await found.create(stateful_set(replicas=2))
        before = [pod.uid for pod in await found.pods()]
        again: list[dict[str, Any]] = [
            {"op": "add", "path": "/spec/template/metadata/creationTimestamp", "value": None},
            {"op": "add", "path": "/spec/template/spec/containers/0/resources", "value": {}},
            {"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {}},
        ]
        await found.cluster.client.patch(KINDS.STATEFUL_SET, "web", "default", again, patch_type=PatchType.JSON)
        await found.cluster.settle(30)
        assert [pod.uid for pod in await found.pods()] == before
        assert [one.view.revision for one in await found.revisions()] == [1]
        await found.change_image("two")
        assert await found.images() == ["two", "two"]
        assert [one.view.revision for one in await found.revisions()] == [1, 2]


async def test_back_to_an_earlier_revision() -> None:
    async with numbered() as found:
        await found.create(stateful_set(replicas=1, revisionHistoryLimit=1))
        for image in ("two", "three", "four"):
            await found.change_image(image)
        revisions = await found.revisions()
        assert [one.view.revision for one in revisions] == [3, 4]
        back = revisions[0].raw["data"]
        await found.cluster.client.patch(KINDS.STATEFUL_SET, "web", "default", back, patch_type=PatchType.STRATEGIC)
        await found.cluster.settle(30)
        assert await found.images() == ["three"]
        assert [one.view.revision for one in await found.revisions()] == [4, 5]


async def test_a_restart_in_the_middle_changes_nothing() -> None:
    async with numbered() as found:
        await found.create(stateful_set())
        await found.change_image("two", settle=3)
        await found.cluster.restart()
        await found.cluster.settle(60)
        assert await found.images() == ["two"] * 3


@pytest.mark.parametrize(
    ("most", "old", "waiting", "replaced"),
    [
        (None, {0, 1, 2, 3}, set(), [3]),
        (2, {0, 1, 2, 3}, set(), [3, 2]),
        ("50%", {0, 1, 2}, set(), [2, 1]),
        (2, {0, 1, 2}, {3}, [2]),
        (None, {0, 1, 2}, {3}, []),
        (2, {0, 1}, {2, 3}, []),
        ("1%", {0}, set(), [0]),
    ],
)
def test_as_many_as_may_be_missing(most: Any, old: set[int], waiting: set[int], replaced: list[int]) -> None:
    update = {"partition": 0} if most is None else {"partition": 0, "maxUnavailable": most}
    wanted = stateful_set(replicas=4, updateStrategy={"type": "RollingUpdate", "rollingUpdate": update})
    pods = [
        seen(
            pod(
                f"web-{number}",
                {"controller-revision-hash": "old" if number in old else "new"},
                status={"phase": "Pending"} if number in waiting else ready(),
            )
        )
        for number in range(4)
    ]
    chosen = pods_to_replace(convert_view(wanted, StatefulSet), pods, "new", BASE)
    assert [one.name for one in chosen] == [f"web-{number}" for number in replaced]
