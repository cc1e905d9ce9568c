"""How objects are found again: by owner, by node, by label; and that nothing is left of what is gone."""

import msgspec
from tests.unit.control.workloads import pod, replica_set, seen

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS
from moorage.model.types.meta import LabelSelector, LabelSelectorRequirement


def _pod(name: str, owner: str = "", node: str = "", **labels: str) -> Object:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
    metadata = {"ownerReferences": [reference]} if owner else {}
    return seen(pod(name, labels, metadata=metadata, spec={"nodeName": node} if node else {}))


def _names(found: list[Object]) -> list[str]:
    return sorted(one.name for one in found)


def test_objects_are_found_by_what_they_are() -> None:
    world = World()
    for found in (_pod("a", "x", "n1", app="a"), _pod("b", "", "n1", app="a", tier="t"), _pod("c", app="c")):
        world.apply(KINDS.POD, Delta(None, found))
    assert _names(world.owned(KINDS.POD, "x")) == ["a"]
    assert _names(world.pods_on("n1")) == ["a", "b"]
    assert _names(world.orphans(KINDS.POD, "default")) == ["b", "c"]
    assert _names(world.orphans_for(KINDS.POD, "default", LabelSelector({"app": "a"}))) == ["b"]
    assert _names(world.orphans_for(KINDS.POD, "default", LabelSelector({"app": "c", "tier": "t"}))) == ["b"]
    expression = LabelSelector(matchExpressions=(LabelSelectorRequirement("app", "Exists"),))
    assert _names(world.orphans_for(KINDS.POD, "default", expression)) == ["b", "c"]
    assert world.count(KINDS.POD) == 3
    assert world.has_any(KINDS.POD, "default")


def test_an_object_that_changes_is_found_where_it_is_now() -> None:
    world = World()
    before, after = _pod("a", "x", app="a"), _pod("a", "", "n1", app="b")
    world.apply(KINDS.POD, Delta(None, before))
    world.apply(KINDS.POD, Delta(before, after))
    assert not world.owned(KINDS.POD, "x")
    assert _names(world.orphans_for(KINDS.POD, "default", LabelSelector({"app": "b"}))) == ["a"]
    world.apply(KINDS.POD, Delta(after, None))
    assert not world.orphans(KINDS.POD, "default")
    assert not world.pods_on("n1")
    assert not world.has_any(KINDS.POD, "default")
    indices = [index for name, index in vars(world).items() if name != "_objects"]
    assert all(not index for index in indices)


def test_workloads_are_found_by_the_labels_they_want() -> None:
    world = World()
    by_expression = replica_set("any", 1)
    by_expression["spec"]["selector"] = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    for raw in (replica_set("a", 1), replica_set("b", 1), by_expression):
        world.apply(KINDS.REPLICA_SET, Delta(None, seen(raw)))
    assert _names(world.selecting(KINDS.REPLICA_SET, "default", {"app": "a", "x": "y"})) == ["a", "any"]
    assert _names(world.selecting(KINDS.REPLICA_SET, "other", {"app": "a"})) == []


def test_a_pod_that_gets_a_node_and_its_labels_is_found_as_one_that_was_made_so() -> None:
    kept, fresh = World(), World()
    before, other = _pod("a", "x", app="a"), _pod("b", "x", app="a")
    for world in (kept, fresh):
        world.apply(KINDS.POD, Delta(None, before))
        world.apply(KINDS.POD, Delta(None, other))
    labels = {"app": "a", "zone": "z"}
    metadata = msgspec.structs.replace(before.view.metadata, labels=labels)  # the owners are those from before
    spec = msgspec.structs.replace(before.view.spec, nodeName="n1")
    bound = Object(KINDS.POD, before.key, 2, view=msgspec.structs.replace(before.view, metadata=metadata, spec=spec))
    kept.apply(KINDS.POD, Delta(before, bound))
    fresh.apply(KINDS.POD, Delta(before, None))
    fresh.apply(KINDS.POD, Delta(None, bound))
    for world in (kept, fresh):
        assert [one.name for one in world.owned(KINDS.POD, "x")] == ["b", "a"]
        assert [one.name for one in world.all(KINDS.POD)] == [
            one.name for one in world.in_namespace(KINDS.POD, "default")
        ]
        assert world.pods_on("n1") == [bound]
        assert not world.orphans(KINDS.POD, "default")
    kept.apply(KINDS.POD, Delta(bound, None))
    assert not kept.pods_on("n1")
    assert _names(kept.owned(KINDS.POD, "x")) == ["b"]
