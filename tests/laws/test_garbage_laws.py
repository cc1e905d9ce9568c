"""Random families of objects that own each other, deleted in every way while the collector is killed and started.

What holds when everything has settled: nothing outlives the last of its owners, nothing waits for ever, and nothing
else is gone: with time between the steps exactly what a collector without any concurrency leaves, and without such time
at least everything that kept an owner, or never had one.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples
from tests.slow_client import SlowClient
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import run_virtual

from moorage.client.protocol import Object
from moorage.control.framework.actions import Answers, Plan, Question
from moorage.control.framework.world import World
from moorage.control.garbage import GarbageCollector, OwnerState, States
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

POLICIES = ("Background", "Foreground", "Orphan")
Make = type[GarbageCollector]


class Born(NamedTuple):
    """A new object; `owners` are chosen among those that there were, and may be gone."""

    is_pod: bool
    owners: tuple[tuple[int, bool], ...]


class Adopted(NamedTuple):
    """An object gets one more owner, perhaps one of its own dependents."""

    child: int
    owner: int
    blocks: bool


class Deleted(NamedTuple):
    which: int
    policy: str


class Killed(NamedTuple):
    """The collector starts anew."""


Step = Born | Adopted | Deleted | Killed
numbers = st.integers(0, 7)
steps = st.one_of(
    st.builds(Born, st.booleans(), st.lists(st.tuples(numbers, st.booleans()), max_size=3).map(tuple)),
    st.builds(Adopted, numbers, numbers, st.booleans()),
    *[st.builds(Deleted, numbers, st.just(policy)) for policy in POLICIES],
    st.just(Killed()),
)
born = st.builds(Born, st.booleans(), st.lists(st.tuples(numbers, st.booleans()), max_size=2).map(tuple))
stories = st.tuples(st.lists(born, min_size=2, max_size=6), st.lists(steps, max_size=8)).map(
    lambda two: two[0] + two[1]
)


#: Two that own each other: whoever goes first waits for the other.
CIRCLE: list[Step] = [Born(False, ()), Born(True, ((0, True),)), Adopted(0, 1, True), Deleted(0, "Foreground")]
#: One child of two owners, of whom one goes.
HALF_ORPHAN: list[Step] = [
    Born(False, ()),
    Born(False, ()),
    Born(True, ((0, True), (1, True))),
    Deleted(0, "Background"),
]
SETTINGS = settings(LAW_SETTINGS, max_examples=examples(100))


class Reference:
    """The same without concurrency: who owns whom, and what is left."""

    def __init__(self) -> None:
        self.owners: dict[int, set[int]] = {}

    def born(self, child: int, owners: set[int]) -> None:
        self.owners[child] = owners
        self._collect()

    def adopted(self, child: int, owner: int) -> None:
        self.owners[child].add(owner)
        self._collect()

    def deleted(self, which: int, policy: str) -> None:
        del self.owners[which]
        if policy == "Orphan":
            for owners in self.owners.values():
                owners.discard(which)
        self._collect()

    def _collect(self) -> None:
        while gone := [one for one, owners in self.owners.items() if owners and not owners & set(self.owners)]:
            for one in gone:
                del self.owners[one]
        for owners in self.owners.values():
            owners &= set(self.owners)


class Story:
    """One history in a cluster of its own. Objects are numbered as they are born."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster, self.client = cluster, cluster.client
        self.objects: list[Object] = []
        self.reference = Reference()
        self.deleted: set[int] = set()
        self.adopted: set[int] = set()

    async def play(self, step: Step) -> None:
        if isinstance(step, Born):
            await self._born(step)
        elif isinstance(step, Killed):
            await self.cluster.restart()
        elif self.objects:
            try:
                await (self._adopted(step) if isinstance(step, Adopted) else self._deleted(step))
            except ApiError as error:
                if error.code != 404:  # it may be gone already
                    raise

    def _number(self, number: int) -> int:
        return number % len(self.objects)

    async def _born(self, step: Born) -> None:
        child = len(self.objects)
        owners = {self._number(owner): blocks for owner, blocks in step.owners} if self.objects else {}
        kind = KINDS.POD if step.is_pod else KINDS.CONFIG_MAP
        metadata = {
            "name": f"o{child}",
            "ownerReferences": [self._owner(one, blocks) for one, blocks in owners.items()],
        }
        document = {"apiVersion": "v1", "kind": kind.name, "metadata": metadata}
        if step.is_pod:
            document["spec"] = {"containers": [{"name": "main", "image": "example.com/app"}]}
        self.objects.append(await self.client.create(kind, document, "default"))
        self.reference.born(child, set(owners))

    async def _adopted(self, step: Adopted) -> None:
        child, owner = self._number(step.child), self._number(step.owner)
        found = self.objects[child]
        if child == owner:
            return
        patch = {"metadata": {"ownerReferences": [self._owner(owner, step.blocks)]}}
        await self.client.patch(found.kind, found.name, "default", patch)
        self.adopted.add(child)
        if child in self.reference.owners:
            self.reference.adopted(child, owner)

    async def _deleted(self, step: Deleted) -> None:
        which = self._number(step.which)
        found = self.objects[which]
        self.deleted.add(which)
        await self.client.delete(found.kind, found.name, "default", propagation=step.policy)
        if which in self.reference.owners:
            self.reference.deleted(which, step.policy)

    def _owner(self, number: int, blocks: bool) -> dict[str, object]:
        owner = self.objects[number]
        named = {"apiVersion": "v1", "kind": owner.kind.name, "name": owner.name, "uid": owner.uid}
        return {**named, "blockOwnerDeletion": blocks}

    async def left(self) -> dict[int, Object]:
        found = [*await self.cluster.all(KINDS.CONFIG_MAP, "default"), *await self.cluster.all(KINDS.POD, "default")]
        return {int(item.name[1:]): item for item in found}

    async def check_nobody_is_left_behind(self) -> dict[int, Object]:
        left = await self.left()
        uids = {item.uid for item in left.values()}
        for item in left.values():
            owners = item.view.metadata.ownerReferences
            assert not owners or any(owner.uid in uids for owner in owners), f"{item.name} outlives its owners"
            assert item.view.metadata.deletionTimestamp is None, f"{item.name} waits for ever"
        return left


def settled_law(make: Make, often: settings = SETTINGS) -> Callable[[], None]:
    """With time between the steps."""

    @often
    @given(stories)
    @example(CIRCLE)
    @example(HALF_ORPHAN)
    def law(story: list[Step]) -> None:
        async def main() -> None:
            async with VirtualCluster.running(lambda: [make(controller_context())], collects_garbage=True) as cluster:
                played = Story(cluster)
                for step in story:
                    await played.play(step)
                    await cluster.settle(2)
                left = await played.check_nobody_is_left_behind()
                assert set(left) == set(played.reference.owners)

        run_virtual(main())

    return law


def hurried_law(make: Make, often: settings = SETTINGS) -> Callable[[], None]:
    """With little time or none, over a network that is slow now and then, and the collector killed anywhere."""

    @often
    @given(
        st.lists(st.tuples(steps, st.sampled_from((0.0, 0.0, 0.001, 0.02, 1.0))), min_size=1, max_size=14),
        st.integers(0, 1000),
    )
    @example([(step, 0.0) for step in (*CIRCLE, Deleted(1, "Foreground"))], 0)
    # Here the circle is known to the collector before anybody goes, however slow the network is.
    @example([(step, 10.0) for step in (*CIRCLE, Deleted(1, "Foreground"))], 0)
    @example([(step, 0.0) for step in HALF_ORPHAN], 0)
    def law(story: list[tuple[Step, float]], seed: int) -> None:
        chance = Random(seed)

        async def main() -> None:
            async with VirtualCluster.running(
                lambda: [make(controller_context())],
                collects_garbage=True,
                connect=lambda client: SlowClient(client, lambda: 2.0 * chance.random() ** 8),
            ) as cluster:
                played = Story(cluster)
                for step, pause in story:
                    await played.play(step)
                    await cluster.settle(pause)
                await cluster.settle(60)
                left = await played.check_nobody_is_left_behind()
                for number, born in enumerate(played.objects):
                    if number in played.deleted or number in played.adopted:
                        continue
                    owners = [int(owner["name"][1:]) for owner in born.raw["metadata"].get("ownerReferences") or []]
                    kept = not owners or any(owner in left for owner in owners)
                    assert not kept or number in left, f"o{number} is gone without a reason"

        run_virtual(main())

    return law


class Forgetful(GarbageCollector):
    """Takes every owner that it has not seen for one that is there."""

    def questions(self, key: str, world: World, now: float) -> list[Question]:
        return []

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        plan = super().decide(key, world, answers, now)
        return plan if plan.actions else Plan()


class Hasty(GarbageCollector):
    """Does not wait for the last owner to go."""

    def _collect(self, item: Object, states: States, world: World) -> Plan:
        if OwnerState.ABSENT in states.values():
            states = dict.fromkeys(states, OwnerState.ABSENT)
        return super()._collect(item, states, world)


class Patient(GarbageCollector):
    """Waits for those that wait for it."""

    def _waits_for_itself(self, uid: str, world: World) -> bool:
        return False


def test_with_time_between_the_steps_exactly_the_right_ones_are_left() -> None:
    settled_law(GarbageCollector)()


def test_without_time_nobody_outlives_its_owners_and_nobody_waits_for_ever() -> None:
    hurried_law(GarbageCollector)()


def test_the_laws_notice_a_collector_that_believes_in_owners() -> None:
    assert_notices(settled_law(Forgetful, UNTIL_NOTICED))
    assert_notices(hurried_law(Forgetful, UNTIL_NOTICED))


def test_the_laws_notice_a_collector_that_is_hasty() -> None:
    assert_notices(settled_law(Hasty, UNTIL_NOTICED))
    assert_notices(hurried_law(Hasty, UNTIL_NOTICED))


def test_the_laws_notice_a_collector_that_waits_for_itself() -> None:
    assert_notices(settled_law(Patient, UNTIL_NOTICED))
    assert_notices(hurried_law(Patient, UNTIL_NOTICED))
