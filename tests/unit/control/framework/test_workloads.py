"""Whom a change concerns, what is claimed, and that nobody looks at everybody's pods."""

import pytest
from tests.controller_context import controller_context
from tests.unit.control.workloads import pod, ready, replica_set, seen
from tests.virtual_time import BASE

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.framework import workloads
from moorage.control.framework.steps import finish
from moorage.control.framework.workloads import available_in, claim_in_steps, concerned_owners, selects
from moorage.control.framework.world import World
from moorage.control.replica_set import ReplicaSetController
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import LabelSelector, LabelSelectorRequirement


class Narrow(World):
    """A world in which nobody may ask for all pods, be it of one namespace."""

    def all(self, kind: Kind) -> "list[Object]":  # type: ignore[override]
        raise AssertionError(f"all {kind.plural}")

    def in_namespace(self, kind: Kind, namespace: str) -> list[Object]:
        assert kind is not KINDS.POD
        return super().in_namespace(kind, namespace)


def _world(*objects: Object) -> World:
    world = Narrow()
    for found in objects:
        world.apply(found.kind, Delta(None, found))
    return world


def _owned(name: str, owner: str, uid: str = "", **labels: str) -> Object:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": uid or owner, "controller": True}
    return seen(pod(name, labels, metadata={"ownerReferences": [reference]}))


def test_a_pod_concerns_its_owner_and_the_one_it_had() -> None:
    world = _world(seen(replica_set("a", 1)), seen(replica_set("b", 1)))
    one, other = _owned("p", "a", app="a"), _owned("p", "b", app="a")
    assert list(concerned_owners(KINDS.REPLICA_SET, None, one, world)) == ["default/a"]
    assert list(concerned_owners(KINDS.REPLICA_SET, one, other, world)) == ["default/a", "default/b"]
    assert list(concerned_owners(KINDS.REPLICA_SET, one, None, world)) == ["default/a"]


def test_a_pod_of_somebody_who_is_gone_or_was_replaced_concerns_nobody() -> None:
    world = _world(seen(replica_set("a", 1)))
    assert not list(concerned_owners(KINDS.REPLICA_SET, None, _owned("p", "gone", app="a"), world))
    assert not list(concerned_owners(KINDS.REPLICA_SET, None, _owned("p", "a", "former", app="a"), world))


def test_an_orphan_concerns_those_who_would_have_it_when_it_comes_or_changes() -> None:
    world = _world(seen(replica_set("a", 1)), seen(replica_set("b", 1)))
    orphan = seen(pod("p", {"app": "a"}))
    assert list(concerned_owners(KINDS.REPLICA_SET, None, orphan, world)) == ["default/a"]
    assert not list(concerned_owners(KINDS.REPLICA_SET, orphan, orphan, world))
    assert list(concerned_owners(KINDS.REPLICA_SET, seen(pod("p", {"app": "b"})), orphan, world)) == ["default/a"]
    assert list(concerned_owners(KINDS.REPLICA_SET, _owned("p", "b", app="a"), orphan, world)) == [
        "default/b",
        "default/a",
    ]
    assert not list(concerned_owners(KINDS.REPLICA_SET, orphan, None, world))
    assert not list(concerned_owners(KINDS.REPLICA_SET, None, seen(pod("p")), world))


def test_what_is_claimed() -> None:
    owner = seen(replica_set("a", 1))
    over = seen(pod("over", {"app": "a"}, status={"phase": "Failed"}))
    world = _world(owner, _owned("mine", "a", app="a"), _owned("astray", "a", app="x"), seen(pod("new", {"app": "a"})))
    world.apply(KINDS.POD, Delta(None, over))
    found = finish(claim_in_steps(owner, owner.view.spec.selector, KINDS.POD, world, only_active_pods=True))
    assert [one.name for one in found.objects] == ["mine", "new"]
    assert [(patch.name, patch.patch) for patch in found.patches] == [
        ("astray", {"metadata": {"uid": "astray", "ownerReferences": [{"$patch": "delete", "uid": "a"}]}}),
        (
            "new",
            {
                "metadata": {
                    "uid": "new",
                    "ownerReferences": [
                        {
                            "apiVersion": "apps/v1",
                            "kind": "ReplicaSet",
                            "name": "a",
                            "uid": "a",
                            "controller": True,
                            "blockOwnerDeletion": True,
                        }
                    ],
                }
            },
        ),
    ]


def test_reconciling_does_not_look_at_the_pods_of_others() -> None:
    """In `Narrow` it would not get away with it; that others' pods are not read is what their views say."""
    others = [_owned(f"p{number}", "b", app="b") for number in range(50)]
    world = _world(seen(replica_set("a", 1)), seen(replica_set("b", 50)), *others)
    for other in others:
        del other.view
    plan = ReplicaSetController(controller_context()).reconcile("default/a", world, BASE)
    assert len(plan.actions) == 1
    assert not any(other.has("view") for other in others)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        (LabelSelector(), False),
        (LabelSelector(matchLabels={"app": "a"}), True),
        (LabelSelector(matchLabels={"app": "a", "tier": "x"}), False),
        (LabelSelector(matchExpressions=(LabelSelectorRequirement("app", "In", ("a", "b")),)), True),
        (LabelSelector({"app": "a"}, (LabelSelectorRequirement("app", "Exists"),)), True),
        (LabelSelector({"app": "a"}, (LabelSelectorRequirement("app", "NotIn", ("a",)),)), False),
        (LabelSelector({"app": "a"}, (LabelSelectorRequirement("app", "Sometimes"),)), False),
    ],
)
def test_a_selector_of_everything_selects_nothing(selector: LabelSelector | None, expected: bool) -> None:
    assert selects(selector, {"app": "a"}) == expected


def test_availability_takes_the_time_it_takes() -> None:
    view = seen(pod("p", status=ready(time_text(BASE)))).view
    assert available_in(view, 0, BASE) == 0
    assert available_in(view, 10, BASE + 4) == 6
    assert available_in(view, 10, BASE + 10) == 0
    assert available_in(seen(pod("p")).view, 0, BASE) is None
    assert available_in(seen(pod("p", status=ready(None))).view, 10, BASE) is None


def test_times() -> None:
    assert seconds_of(time_text(BASE)) == BASE
    assert seconds_of(None) is None
    assert seconds_of("yesterday") is None


def test_a_selector_is_compiled_once_for_all_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[LabelSelector | None] = []

    def count(selector: LabelSelector | None) -> Selector:
        compiled.append(selector)
        return compile_label_selector(selector)

    monkeypatch.setattr(workloads, "compile_label_selector", count)
    values = tuple(f"v{i}" for i in range(100))
    selector = LabelSelector(matchExpressions=(LabelSelectorRequirement(key="a", operator="In", values=values),))
    assert [workloads.selects(selector, {"a": f"v{i}"}) for i in (0, 99, 100)] == [True, True, False]
    assert compiled == [selector]
