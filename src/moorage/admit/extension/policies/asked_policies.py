"""Find the policies that may match a request, and what their answers to the creation of an object depend on."""

from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from moorage.admit.extension.attributes import Attributes, ObjectResource
from moorage.admit.extension.candidates import Candidates, ItemRules
from moorage.admit.extension.matching.matcher import rules_of_resources
from moorage.admit.extension.matching.rules import ANY, is_exempt_from_policies, split_resource
from moorage.admit.extension.policies.reads import Binding, Dependence, Policy, dependence
from moorage.admit.extension.world import ExtensionWorld
from moorage.model.types.extension.admission_policies import MutatingAdmissionPolicy, ValidatingAdmissionPolicy


def policy_rules(policy: Policy) -> ItemRules:
    """Return the rules of a policy; one without rules matches everything, and one without constraints is an error."""
    constraints = policy.spec.matchConstraints
    if constraints is None:
        return ItemRules((), False, matches_all=True)
    rules, is_equivalent = rules_of_resources(constraints)
    return ItemRules(rules, is_equivalent, matches_all=not rules)


def policy_resources(policy: Policy) -> Iterable[str]:
    """Return the resources that the rules of a policy name, without compiling them."""
    constraints = policy.spec.matchConstraints
    if constraints is None or not constraints.resourceRules:
        return (ANY,)
    return {split_resource(text)[0] for rule in constraints.resourceRules for text in rule.resources}


VALIDATING: Candidates[ValidatingAdmissionPolicy] = Candidates(
    lambda world: world.validating_policies(), policy_rules, policy_resources
)
MUTATING: Candidates[MutatingAdmissionPolicy] = Candidates(
    lambda world: world.mutating_policies(), policy_rules, policy_resources
)


def creation_dependence(attributes: Attributes, world: ExtensionWorld) -> Dependence:
    """Return what the answers of all policies to a creation depend on, kept for a generation of the world.

    Where it is TEMPLATE, the answer for an object is that for every other one of its template in the same namespace;
    where it is NAMESPACE, as long as the namespace object does not change. Webhooks are not considered.
    """
    if world.is_empty or is_exempt_from_policies(attributes):
        return Dependence.TEMPLATE
    generation, kept = _KEPT.get(world, (None, _NOTHING))
    if generation != world.generation:
        generation, kept = _KEPT[world] = world.generation, {}
    key = (attributes.operation, attributes.resource, attributes.subresource)
    if key not in kept:
        depends = (dependence(policy, bindings) for policy, bindings in _bound(attributes, world))
        kept[key] = max(depends, default=Dependence.TEMPLATE)
    return kept[key]


def _bound(attributes: Attributes, world: ExtensionWorld) -> Iterator[tuple[Policy, Iterable[Binding]]]:
    """Yield the policies that may match with their bindings; those without any are never asked."""
    for validating in VALIDATING.of(attributes, world):
        if bindings := world.validating_bindings(validating.metadata.name):
            yield validating, bindings
    for mutating in MUTATING.of(attributes, world):
        if others := world.mutating_bindings(mutating.metadata.name):
            yield mutating, others


_Kept = dict[tuple[str, ObjectResource, str], Dependence]
_NOTHING: _Kept = {}
_KEPT: WeakKeyDictionary[ExtensionWorld, tuple[int, _Kept]] = WeakKeyDictionary()
