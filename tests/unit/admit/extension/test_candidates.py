"""The index of policies by the resources that their rules name."""

from tests.unit.admit.extension.plain_world import CONFIG_MAPS, WIDGETS, PlainWorld, config_map, creation

from moorage.admit.extension.attributes import ObjectResource
from moorage.admit.extension.candidates import Candidates, ItemRules
from moorage.admit.extension.policies.asked_policies import policy_rules
from moorage.admit.raw import Raw
from moorage.model.types.extension.admission_policies import ValidatingAdmissionPolicy


class Counted:
    """Candidates that count how often rules are looked at."""

    def __init__(self) -> None:
        self.looked_at = 0
        self.candidates = Candidates(lambda world: world.validating_policies(), self._rules)

    def _rules(self, policy: ValidatingAdmissionPolicy) -> ItemRules:
        self.looked_at += 1
        return policy_rules(policy)

    def names(self, world: PlainWorld, **changes: object) -> list[str]:
        attributes = creation(config_map(), **changes)
        return [policy.metadata.name for policy in self.candidates.of(attributes, world)]


def rule(resource: str = "configmaps", **changes: object) -> Raw:
    return {**CONFIG_MAPS, "resources": [resource], **changes}


def put(world: PlainWorld, name: str, *rules: Raw, **constraints: object) -> None:
    world.put_policy(name, {"matchConstraints": {"resourceRules": list(rules), **constraints}})


def test_policies_are_found_by_operation_version_and_resource_in_their_order() -> None:
    world, counted = PlainWorld(), Counted()
    put(world, "a", rule())
    put(world, "b", rule("pods"))
    put(world, "c", rule("*"))
    put(world, "d", rule(operations=["DELETE"]))
    put(world, "e", rule("configmaps/status"), rule("pods"), rule("*/*", operations=["CREATE"]))
    put(world, "f")
    assert counted.names(world) == ["a", "c", "e", "f"]
    assert counted.names(world, operation="DELETE") == ["a", "c", "d", "f"]
    assert counted.names(world, subresource="status") == ["e", "f"]
    assert counted.names(world, resource=ObjectResource("", "v2", "configmaps")) == ["f"]


def test_equivalent_versions_count_where_the_policy_says_so() -> None:
    world, counted = PlainWorld(), Counted()
    old = rule("widgets", apiGroups=[WIDGETS], apiVersions=["v1beta1"])
    put(world, "exact", old, matchPolicy="Exact")
    put(world, "equivalent", old, matchPolicy="Equivalent")
    assert counted.names(world, resource=ObjectResource(WIDGETS, "v1", "widgets")) == ["equivalent"]


def test_what_was_found_is_kept_until_the_generation_grows() -> None:
    world, counted = PlainWorld(), Counted()
    put(world, "a", rule())
    assert counted.names(world) == ["a"]
    before = counted.looked_at
    assert counted.names(world) == ["a"]
    assert counted.looked_at == before
    world.generation += 1  # other versions are served, and the policies are the same
    assert counted.names(world) == ["a"]
    put(world, "b", rule())
    assert counted.names(world) == ["a", "b"]


def test_worlds_do_not_share_what_was_found() -> None:
    first, second, counted = PlainWorld(), PlainWorld(), Counted()
    put(first, "a", rule())
    put(second, "b", rule())
    assert counted.names(first) == ["a"]
    assert counted.names(second) == ["b"]


def test_a_change_of_one_policy_leaves_the_others_as_they_are() -> None:
    world, counted = PlainWorld(), Counted()
    for name in "abcd":
        put(world, name, rule())
    assert counted.names(world) == ["a", "b", "c", "d"]
    before = counted.looked_at
    put(world, "b", rule("pods"))
    put(world, "bb", rule("*"))
    world.policies = [policy for policy in world.policies if policy.metadata.name != "d"]
    assert counted.names(world, resource=ObjectResource("", "v1", "pods")) == ["b", "bb"]
    assert counted.looked_at - before < 8
    assert counted.names(world) == ["a", "bb", "c"]
