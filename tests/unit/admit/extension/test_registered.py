"""Policies, bindings and webhook configurations count from the moment they are learned, in the order of names."""

from collections.abc import Sequence
from typing import Any, cast

from moorage.admit.extension.attributes import ObjectKind
from moorage.admit.extension.registered import ExtensionLookups, RegisteredExtensions
from moorage.admit.extension.world import ExtensionWorld, ParamKindRow
from moorage.admit.raw import Raw
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import LabelSelector


class Lookups:
    """Two kinds of parameters, one with and one without namespaces; everything that is asked for exists."""

    generation = rights_generation = 0

    def param_kind(self, api_version: str, kind: str) -> ParamKindRow | None:
        namespaced = {"ConfigMap": True, "ClusterLimit": False}.get(kind)
        return None if namespaced is None else ParamKindRow(ObjectKind("", "v1", kind), namespaced)

    def param(self, kind: ObjectKind, namespace: str, name: str) -> Raw | None:
        return {"metadata": {"name": name}}

    def params(self, kind: ObjectKind, namespace: str, selector: LabelSelector) -> Sequence[Raw]:
        return [{"metadata": {"name": "any"}}]


def registered() -> tuple[RegisteredExtensions, Lookups]:
    lookups = Lookups()
    return RegisteredExtensions(cast(ExtensionLookups, lookups)), lookups


def view(kind: Kind, name: str, **spec: Any) -> Any:
    return convert_view({"metadata": {"name": name}, "spec": spec}, kind.view)


POLICY, BINDING = KINDS.VALIDATING_ADMISSION_POLICY, KINDS.VALIDATING_ADMISSION_POLICY_BINDING


def names(views: Sequence[Any]) -> list[str]:
    return [one.metadata.name for one in views]


def test_policies_and_their_bindings_come_in_the_order_of_names() -> None:
    world, _ = registered()
    assert world.is_empty
    for name in ("b", "a", "c"):
        world.learn(POLICY, view(POLICY, name))
        world.learn(BINDING, view(BINDING, f"z-{name}", policyName="a"))
    assert names(world.validating_policies()) == ["a", "b", "c"]
    assert names(world.validating_bindings("a")) == ["z-a", "z-b", "z-c"]
    assert not world.validating_bindings("b")
    assert not world.mutating_bindings("a")
    assert not world.is_empty


def test_binding_of_another_policy_leaves_the_first_one() -> None:
    world, _ = registered()
    world.learn(BINDING, view(BINDING, "b", policyName="old"))
    world.learn(BINDING, view(BINDING, "b", policyName="new"))
    assert not world.validating_bindings("old")
    assert names(world.validating_bindings("new")) == ["b"]
    world.forget(BINDING, view(BINDING, "b", policyName="new"))
    assert not world.validating_bindings("new")
    assert world.is_empty


def test_what_was_handed_out_stays_as_it_is() -> None:
    world, _ = registered()
    world.learn(POLICY, view(POLICY, "a"))
    before = world.validating_policies()
    world.learn(POLICY, view(POLICY, "b"))
    assert names(before) == ["a"]


def test_webhook_configurations_come_in_the_order_of_names() -> None:
    world, _ = registered()
    for kind in (KINDS.MUTATING_WEBHOOK_CONFIGURATION, KINDS.VALIDATING_WEBHOOK_CONFIGURATION):
        for name in ("b", "a"):
            world.learn(kind, convert_view({"metadata": {"name": name}}, kind.view))
    assert names(world.mutating_webhooks()) == names(world.validating_webhooks()) == ["a", "b"]


def test_other_kinds_change_nothing() -> None:
    world, _ = registered()
    world.learn(KINDS.POD, view(KINDS.POD, "p"))
    world.forget(KINDS.POD, view(KINDS.POD, "p"))
    assert world.is_empty
    assert world.generation == 0


def test_generation_grows_with_what_is_registered_and_served() -> None:
    world, lookups = registered()
    seen = [world.generation]
    world.learn(POLICY, view(POLICY, "a"))
    seen.append(world.generation)
    lookups.generation += 1
    seen.append(world.generation)
    world.forget(POLICY, view(POLICY, "a"))
    seen.append(world.generation)
    assert seen == sorted(set(seen))
    assert world.generation == seen[-1]


def test_generation_grows_with_rights_only_while_an_expression_asks_for_them() -> None:
    world, lookups = registered()
    world.learn(POLICY, view(POLICY, "a", validations=[{"expression": "object.metadata.name != 'x'"}]))
    before = world.generation
    lookups.rights_generation += 1
    assert world.generation == before
    asks = "authorizer.path('/x').check('get').allowed()"
    world.learn(POLICY, view(POLICY, "a", validations=[{"expression": asks}]))
    before = world.generation
    lookups.rights_generation += 1
    assert world.generation > before
    world.forget(POLICY, view(POLICY, "a"))
    before = world.generation
    lookups.rights_generation += 1
    assert world.generation == before


def test_parameters_of_one_namespace_are_never_looked_up_in_all() -> None:
    world, _ = registered()
    within, without = ObjectKind("", "v1", "ConfigMap"), ObjectKind("", "v1", "ClusterLimit")
    assert world.param(within, "team-a", "limits")
    assert world.param(without, "", "limits")
    assert world.params(within, "team-a", LabelSelector())
    for kind, namespace in ((within, ""), (without, "team-a"), (ObjectKind("", "v1", "Unknown"), "")):
        assert world.param(kind, namespace, "limits") is None
        assert not world.params(kind, namespace, LabelSelector())


def test_it_is_an_extension_world() -> None:
    world, _ = registered()
    checked: ExtensionWorld = world
    assert checked.is_empty
