"""Claims and volumes that come and go in any order, while the binder is killed and started over a slow network.

At no time are two claims bound to one volume, or two volumes to one claim. When everything has settled, both sides of
each binding agree, no claim waits that a free volume would do for, and nothing that is to go is left.
"""

from asyncio import create_task
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.slow_client import SlowClient
from tests.unit.control.volumes.stored import claim, storage_class, volume
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import run_virtual

from moorage.client.informer import Delta, Informer
from moorage.client.protocol import Object
from moorage.control.framework.actions import Answers, Plan, Update
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.world import World
from moorage.control.volumes.controller import PersistentVolumeBinder
from moorage.control.volumes.protection import ClaimProtection, VolumeProtection
from moorage.match.volumes.claims import BIND_COMPLETED
from moorage.match.volumes.volume_matching import ClaimMatcher
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

SIZES = ("1Gi", "2Gi", "3Gi")
CLASSES = ("manual", "manual", "manual", "made", "lazy")
Make = Callable[[ControllerContext], PersistentVolumeBinder]


class NewVolume(NamedTuple):
    """Perhaps one that names a claim, which may be there or not."""

    size: int
    of_class: int
    deletes: bool
    named: int


class NewClaim(NamedTuple):
    """Perhaps one that names a volume. Names come again when a claim was deleted."""

    which: int
    size: int
    of_class: int
    named: int


class GoneClaim(NamedTuple):
    which: int


class GoneVolume(NamedTuple):
    which: int


class Freed(NamedTuple):
    """Somebody has looked after a released volume and gives it to whoever wants it."""

    which: int


class Scheduled(NamedTuple):
    """The scheduler takes a volume for a claim that waits for its pod."""

    which: int


class Killed(NamedTuple):
    """The controllers start anew."""


Step = NewVolume | NewClaim | GoneClaim | GoneVolume | Freed | Scheduled | Killed
_PAUSES = (0.0, 0.0, 0.0, 0.001, 0.3, 5.0)


def random_story(chance: Random) -> list[tuple[Step, float]]:
    """More comes than goes, and most of it could be bound to most of the rest."""

    def number() -> int:
        return chance.randrange(6)

    def named() -> int:
        return number() if chance.random() < 0.2 else -1

    def new_volume() -> Step:
        return NewVolume(chance.randrange(3), chance.randrange(len(CLASSES)), chance.random() < 0.5, named())

    def new_claim() -> Step:
        return NewClaim(number(), chance.randrange(3), chance.randrange(len(CLASSES)), named())

    others: tuple[Callable[[], Step], ...] = (
        lambda: GoneClaim(number()),
        lambda: GoneVolume(number()),
        lambda: Freed(number()),
        lambda: Scheduled(number()),
        Killed,
    )
    choices = (*[new_volume] * 4, *[new_claim] * 5, *others)
    return [(chance.choice(choices)(), chance.choice(_PAUSES)) for _ in range(chance.randrange(5, 40))]


SETTINGS = settings(LAW_SETTINGS, max_examples=60, phases=(Phase.generate,))


class Witness:
    """Sees every change, in the order in which it happened."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.claims: dict[str, Object] = {}
        self.volumes: dict[str, Object] = {}
        self.complaints: list[str] = []
        self.informers = (
            Informer(cluster.client, KINDS.PERSISTENT_VOLUME_CLAIM, lambda changes: self._saw(self.claims, changes)),
            Informer(cluster.client, KINDS.PERSISTENT_VOLUME, lambda changes: self._saw(self.volumes, changes)),
        )

    def _saw(self, known: dict[str, Object], changes: list[Delta]) -> None:
        for old, new in changes:
            if new is not None:
                known[new.key] = new
            elif old is not None:
                known.pop(old.key, None)
        held = [one.view for one in self.claims.values() if BIND_COMPLETED in one.view.metadata.annotations]
        self._look("volume", [view.spec.volumeName for view in held])
        owners = [one.view.spec.claimRef.uid for one in self.volumes.values() if _is_bound(one)]
        self._look("claim", owners)

    def _look(self, what: str, named: list[str]) -> None:
        for one in {one for one in named if named.count(one) > 1}:
            self.complaints.append(f"{what} {one} is bound twice")


def _is_bound(found: Object) -> bool:
    return bool(found.view.status.phase == "Bound")


class Story:
    """Plays steps. Volumes are numbered and never come again; claims have one of a few names."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster, self.client = cluster, cluster.client
        self.made = 0

    async def play(self, step: Step) -> None:
        with suppress(ApiError):  # there is no such object, or there is one already, or somebody was faster
            await self._play(step)

    async def _play(self, step: Step) -> None:
        match step:
            case NewVolume(size, of_class, deletes, named):
                more: dict[str, Any] = {"storageClassName": CLASSES[of_class]}
                if named >= 0:
                    more["claimRef"] = {"namespace": "default", "name": f"c{named}"}
                more["persistentVolumeReclaimPolicy"] = "Delete" if deletes else "Retain"
                self.made += 1
                await self.client.create(KINDS.PERSISTENT_VOLUME, volume(f"v{self.made - 1}", SIZES[size], **more))
            case NewClaim(which, size, of_class, named):
                more = {"storageClassName": CLASSES[of_class]}
                if named >= 0:
                    more["volumeName"] = f"v{named}"
                await self.client.create(
                    KINDS.PERSISTENT_VOLUME_CLAIM, claim(f"c{which}", SIZES[size], **more), "default"
                )
            case GoneClaim(which):
                await self.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, f"c{which}", "default")
            case GoneVolume(which):
                await self.client.delete(KINDS.PERSISTENT_VOLUME, f"v{which}")
            case Freed(which):
                found = await self.client.get(KINDS.PERSISTENT_VOLUME, f"v{which}")
                if found.view.status.phase == "Released":
                    await self._point(found, None)
            case Scheduled(which):
                await self._schedule(await self.client.get(KINDS.PERSISTENT_VOLUME_CLAIM, f"c{which}", "default"))
            case Killed():
                await self.cluster.restart()

    async def _schedule(self, found: Object) -> None:
        if found.view.spec.volumeName or found.view.spec.storageClassName != "lazy":
            return
        matcher = ClaimMatcher(found.view)
        fitting = [
            one
            for one in await self.cluster.all(KINDS.PERSISTENT_VOLUME)
            if matcher.free(one.view) or matcher.reserved(one.view)
        ]
        for one in fitting[:1]:
            await self._point(one, {"namespace": "default", "name": found.name, "uid": found.uid})

    async def _point(self, found: Object, reference: dict[str, str] | None) -> None:
        metadata = {"resourceVersion": str(found.revision)}
        await self.client.patch(
            KINDS.PERSISTENT_VOLUME, found.name, "", {"metadata": metadata, "spec": {"claimRef": reference}}
        )


async def check_settled(cluster: VirtualCluster) -> None:
    claims = {one.uid: one for one in await cluster.all(KINDS.PERSISTENT_VOLUME_CLAIM)}
    volumes = {one.name: one for one in await cluster.all(KINDS.PERSISTENT_VOLUME)}
    for one in (*claims.values(), *volumes.values()):
        if one.view.metadata.deletionTimestamp is not None:
            assert _is_bound(one), f"{one.key} is to go, and stays"
    for found in claims.values():
        view = found.view
        if _is_bound(found):
            held = volumes[view.spec.volumeName]
            assert held.view.spec.claimRef.uid == found.uid, f"{found.key} and {held.key} do not agree"
            assert _is_bound(held), f"{held.key} does not say that it is bound"
        elif not view.spec.volumeName and view.spec.storageClassName != "lazy":
            matcher = ClaimMatcher(view)
            fitting = [one.key for one in volumes.values() if matcher.free(one.view) or matcher.promised(one.view)]
            assert not fitting, f"{found.key} waits, and could have {fitting}"
            assert view.spec.storageClassName != "made", f"nobody has made a volume for {found.key}"
    for held in volumes.values():
        if _is_bound(held):
            uid = held.view.spec.claimRef.uid
            assert claims[uid].view.spec.volumeName == held.name, f"{held.key} is bound to somebody who is not"
        assert held.view.status.phase != "Released" or held.view.spec.persistentVolumeReclaimPolicy == "Retain"


def law_for(make: Make) -> Callable[[], None]:
    @SETTINGS
    @given(st.integers(0, 1 << 32))
    def law(seed: int) -> None:
        chance = Random(seed)
        story = random_story(chance)

        def controllers() -> Iterable[Controller]:
            yield make(controller_context(simulates_storage=True))
            yield ClaimProtection(controller_context())
            yield VolumeProtection(controller_context())

        async def main() -> None:
            async with VirtualCluster.running(
                controllers, connect=lambda client: SlowClient(client, lambda: 2.0 * chance.random() ** 3)
            ) as cluster:
                for name, provisioner in (("made", "moorage.dev/simulated"), ("lazy", "kubernetes.io/no-provisioner")):
                    mode = "Immediate" if name == "made" else "WaitForFirstConsumer"
                    document = storage_class(name, provisioner, volumeBindingMode=mode)
                    await cluster.client.create(KINDS.STORAGE_CLASS, document)
                witness, played = Witness(cluster), Story(cluster)
                tasks = [create_task(informer.run()) for informer in witness.informers]
                for step, pause in story:
                    await played.play(step)
                    await cluster.settle(pause)
                await cluster.settle(120)
                for task in tasks:
                    task.cancel()
                assert not witness.complaints, witness.complaints
                await check_settled(cluster)

        run_virtual(main())

    return law


test_volumes_and_claims_are_bound_one_to_one = law_for(PersistentVolumeBinder)


class Careless(PersistentVolumeBinder):
    """Writes whatever others have written meanwhile, and lets several claims want the same volume."""

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        plan = super().decide(key, world, answers, now)
        for action in plan.actions:
            if isinstance(action, Update):
                action.document["metadata"].pop("resourceVersion")
        self._shelf._chosen.clear()
        return plan


class Forgetful(PersistentVolumeBinder):
    """Does not look which volumes name a claim: not those that it chose before it was killed, either."""

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        self._shelf._naming_claim.clear()
        return super().decide(key, world, answers, now)


def test_a_binder_that_overwrites_what_others_wrote_is_noticed() -> None:
    assert_notices(law_for(Careless))


def test_a_binder_that_forgets_its_choice_is_noticed() -> None:
    assert_notices(law_for(Forgetful))
