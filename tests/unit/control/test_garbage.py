"""Whose owners are gone goes; in the foreground first, in the background later, orphans stay."""

from collections.abc import Iterable
from typing import Any

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.client.informer import Delta
from moorage.client.protocol import Object, PatchType
from moorage.control.framework.actions import NOTHING
from moorage.control.framework.world import World
from moorage.control.garbage import GarbageCollector
from moorage.model.kinds import KINDS, Kind

Raw = dict[str, Any]


def owner(of: Object, *, blocks: bool = False, **other: Any) -> Raw:
    kind = of.kind
    named = {"apiVersion": kind.api_version, "kind": kind.name, "name": of.name, "uid": of.uid}
    return {**named, **({"blockOwnerDeletion": True} if blocks else {}), **other}


class Family:
    """ConfigMaps that own each other."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster, self.client = cluster, cluster.client

    async def make(self, name: str, *owners: Raw, namespace: str = "default", **metadata: Any) -> Object:
        document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": list(owners), **metadata},
        }
        return await self.client.create(KINDS.CONFIG_MAP, document, namespace)

    async def delete(self, name: str, policy: str = "", namespace: str = "default") -> None:
        await self.client.delete(KINDS.CONFIG_MAP, name, namespace, propagation=policy)

    async def names(self, namespace: str = "default") -> set[str]:
        return {item.name for item in await self.cluster.all(KINDS.CONFIG_MAP, namespace)}

    async def get(self, name: str) -> Any:
        return (await self.client.get(KINDS.CONFIG_MAP, name, "default")).view.metadata

    async def release(self, name: str) -> None:
        await self.client.patch(
            KINDS.CONFIG_MAP, name, "default", {"metadata": {"finalizers": None}}, patch_type=PatchType.MERGE
        )


def collecting() -> Any:
    return VirtualCluster.running(lambda: [GarbageCollector(controller_context())], collects_garbage=True)


async def test_in_the_background_dependents_follow() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        top = await family.make("top")
        middle = await family.make("middle", owner(top))
        await family.make("leaf", owner(middle))
        await family.make("other")
        await family.delete("top", "Background")
        await cluster.settle()
        assert await family.names() == {"other"}


async def test_in_the_foreground_blocking_dependents_go_first() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        top = await family.make("top")
        await family.make("slow", owner(top, blocks=True), finalizers=["example.com/hold"])
        await family.make("quick", owner(top, blocks=True))
        await family.make("unasked", owner(top), finalizers=["example.com/hold"])
        await family.delete("top", "Foreground")
        await cluster.settle(30)
        assert await family.names() == {"top", "slow", "unasked"}
        assert (await family.get("top")).finalizers == ("foregroundDeletion",)
        await family.release("slow")
        await cluster.settle()
        assert await family.names() == {"unasked"}, "what does not block is not waited for"


async def test_in_the_foreground_a_tree_goes_from_its_leaves() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        top = await family.make("top")
        middle = await family.make("middle", owner(top, blocks=True))
        await family.make("leaf", owner(middle, blocks=True), finalizers=["example.com/hold"])
        await family.delete("top", "Foreground")
        await cluster.settle(10)
        assert await family.names() == {"top", "middle", "leaf"}
        assert (await family.get("middle")).finalizers == ("foregroundDeletion",)
        await family.release("leaf")
        await cluster.settle()
        assert await family.names() == set()


async def test_orphans_stay_and_forget() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        top, other = await family.make("top"), await family.make("other")
        await family.make("one", owner(top))
        await family.make("two", owner(top), owner(other))
        await cluster.settle()
        await family.delete("top", "Orphan")
        await cluster.settle()
        assert await family.names() == {"other", "one", "two"}
        assert (await family.get("one")).ownerReferences == ()
        assert [left.uid for left in (await family.get("two")).ownerReferences] == [other.uid]


async def test_one_owner_is_enough_and_references_to_the_others_go() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        one, two = await family.make("one"), await family.make("two")
        await family.make("child", owner(one, blocks=True), owner(two, blocks=True))
        await family.delete("one", "Foreground")
        await cluster.settle()
        assert await family.names() == {"two", "child"}
        assert [left.name for left in (await family.get("child")).ownerReferences] == ["two"]
        await family.delete("two")
        await cluster.settle()
        assert await family.names() == set()


async def test_circles_do_not_wait_for_each_other() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        one = await family.make("one")
        two = await family.make("two", owner(one, blocks=True))
        three = await family.make("three", owner(two, blocks=True))
        patch = {"metadata": {"ownerReferences": [owner(three, blocks=True)]}}
        await family.client.patch(KINDS.CONFIG_MAP, "one", "default", patch)
        await cluster.settle()
        await family.delete("one", "Foreground")
        await cluster.settle(5)
        assert await family.names() == set()


async def test_what_owns_itself_can_be_deleted() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        one = await family.make("one")
        await family.client.patch(
            KINDS.CONFIG_MAP, "one", "default", {"metadata": {"ownerReferences": [owner(one, blocks=True)]}}
        )
        await cluster.settle()
        assert await family.names() == {"one"}
        await family.delete("one", "Foreground")
        await cluster.settle()
        assert await family.names() == set()


async def test_an_owner_that_never_was_or_is_another() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        real = await family.make("real")
        never = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "no-such-uid"}
        await family.make("of-nobody", never)
        await family.make("of-another", owner(real, uid="another-uid"))
        await family.make("by-another-name", owner(real, name="unreal"))
        await family.make("child", owner(real))
        await family.make("both", never, owner(real))
        await cluster.settle()
        assert await family.names() == {"real", "child", "both"}
        assert [left.name for left in (await family.get("both")).ownerReferences] == ["real"]


async def test_kinds_that_do_not_exist_keep_what_they_own() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        unknown = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "w-uid"}
        never = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "no-such-uid"}
        await family.make("child", unknown, never)
        await cluster.settle(10)
        assert await family.names() == {"child"}


async def test_an_owner_in_another_namespace_is_none() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        here = await family.make("here")
        await family.make("there", owner(here), namespace="kube-public")
        await cluster.settle()
        assert await family.names("kube-public") == set()
        (event,) = [event for event in cluster.events if event.reason == "OwnerRefInvalidNamespace"]
        assert event.message == (
            f"ownerRef [v1/ConfigMap, namespace: kube-public, name: here, uid: {here.uid}] "
            'does not exist in namespace "kube-public"'
        )
        assert event.involved["name"] == "there"


async def test_owners_without_a_namespace_own_everywhere_but_not_the_other_way_round() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        document = {"apiVersion": KINDS.PRIORITY_CLASS.api_version, "kind": KINDS.PRIORITY_CLASS.name, "value": 1}
        top = await family.client.create(KINDS.PRIORITY_CLASS, {**document, "metadata": {"name": "top"}})
        child = await family.make("child", owner(top))
        upside_down = {"name": "upside-down", "ownerReferences": [owner(child)]}
        await family.client.create(KINDS.PRIORITY_CLASS, {**document, "metadata": upside_down})
        await family.client.delete(KINDS.PRIORITY_CLASS, "top")
        await cluster.settle()
        assert await family.names() == set()
        assert "upside-down" in {item.name for item in await cluster.all(KINDS.PRIORITY_CLASS)}


async def test_after_a_restart_everything_follows_from_what_is_there() -> None:
    async with collecting() as cluster:
        family = Family(cluster)
        tops = [await family.make(f"top-{policy.lower()}") for policy in ("Background", "Foreground", "Orphan")]
        for top in tops:
            await family.make(f"of-{top.name}", owner(top, blocks=True))
        await cluster.stop()
        for policy in ("Background", "Foreground", "Orphan"):
            await family.delete(f"top-{policy.lower()}", policy)
        await cluster.start()
        await cluster.settle()
        assert await family.names() == {"of-top-orphan"}


def test_nothing_is_asked_while_all_owners_are_known() -> None:
    world, collector = World(), GarbageCollector(controller_context())

    def see(kind: Kind, name: str, references: Iterable[Raw] = ()) -> Object:
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "ownerReferences": list(references)}
        raw = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        found = Object(kind, f"default/{name}", 1, raw=raw)
        world.apply(kind, Delta(None, found))
        keys.extend(collector.concerns(kind, None, found, world))
        return found

    keys: list[str] = []
    top = see(KINDS.CONFIG_MAP, "top")
    see(KINDS.POD, "child", [owner(top)])
    assert keys == []
    orphan = see(KINDS.POD, "early", [owner(top, uid="uid-late", name="late")])
    assert keys == [orphan.uid]
    assert [question.name for question in collector.questions(orphan.uid, world, 0.0)] == ["late"]
    see(KINDS.CONFIG_MAP, "late")
    assert collector.questions(orphan.uid, world, 0.0) == []
    assert collector.reconcile(orphan.uid, world, 0.0) == NOTHING
