"""Write into the status of ValidatingAdmissionPolicies which of their expressions do not fit the kinds they are for.

A policy is checked once for each generation. What checks it is given to the controller, which knows the client's
protocol only. Kubernetes: pkg/controller/validatingadmissionpolicystatus. Differs: kinds are found in definitions,
those of other servers are unknown; an expression of more than four kilobytes is not checked.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object, PatchType, Raw
from moorage.control.framework.actions import NOTHING, Answers, Patch, Plan, Question
from moorage.control.framework.controller import Controller
from moorage.control.framework.steps import Steps, finish
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.extension.admission_policies import (
    RuleWithOperations,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicySpec,
)
from moorage.model.types.extension.custom_resource_definition import CustomResourceDefinition

_POLICY, _DEFINITION = KINDS.VALIDATING_ADMISSION_POLICY, KINDS.CUSTOM_RESOURCE_DEFINITION
_DEFINITIONS = Question(_DEFINITION)
#: Characters; it takes some ten milliseconds to check as many.
_LONGEST = 4096
_BUILT_IN = frozenset(kind.group for kind in KINDS.values())


class PolicyTypeController(Controller):
    """Checks policies that have changed."""

    name = "validatingadmissionpolicy-status-controller"
    watches = (_POLICY, _DEFINITION)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return (new.key,) if kind is _POLICY and new is not None else ()

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        """Look for definitions that came with the policy, and which caches may not know yet."""
        policy = self._changed(key, world)
        if policy is None:
            return ()
        unknown = _groups_of(policy.spec) - _BUILT_IN - {found.view.spec.group for found in world.all(_DEFINITION)}
        return (_DEFINITIONS,) if unknown else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return finish(self.steps(key, world, now))

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        return self._check(key, world, world.all(_DEFINITION))

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        return finish(self.decide_in_steps(key, world, answers, now))

    def decide_in_steps(self, key: str, world: World, answers: Answers, now: float) -> Steps[Plan]:
        return self._check(key, world, answers[_DEFINITIONS])

    def _changed(self, key: str, world: World) -> ValidatingAdmissionPolicy | None:
        """Return a policy that has changed since it was checked."""
        policy: ValidatingAdmissionPolicy | None = world.view(_POLICY, key)
        if policy is None or policy.metadata.generation <= policy.status.observedGeneration:
            return None
        return policy

    def _check(self, key: str, world: World, definitions: Iterable[Object]) -> Steps[Plan]:
        policy, check = self._changed(key, world), self.context.check_policy
        if policy is None or check is None:
            return NOTHING
        named = [found.raw for found in definitions if _names(policy.spec, found.view)]
        found = yield from check(policy, named, _LONGEST)
        warnings = [{"fieldRef": one.field, "warning": one.warning} for one in found]
        status = {
            "observedGeneration": policy.metadata.generation,
            "typeChecking": {"expressionWarnings": warnings} if warnings else {},
        }
        return Plan((_apply_status(key, status),))


def _apply_status(key: str, status: Raw) -> Patch:
    document = {"apiVersion": _POLICY.api_version, "kind": _POLICY.name, "metadata": {"name": key}, "status": status}
    return Patch(_POLICY, "", key, document, "status", PatchType.APPLY)


def _rules_of(spec: ValidatingAdmissionPolicySpec) -> Sequence[RuleWithOperations]:
    return spec.matchConstraints.resourceRules if spec.matchConstraints is not None else ()


def _groups_of(spec: ValidatingAdmissionPolicySpec) -> set[str]:
    """Return the groups that a policy names, of objects and of parameters."""
    groups = {group for rule in _rules_of(spec) for group in rule.apiGroups if "*" not in group}
    if spec.paramKind is not None:
        groups.add(spec.paramKind.apiVersion.rpartition("/")[0])
    return groups


def _names(spec: ValidatingAdmissionPolicySpec, definition: CustomResourceDefinition) -> bool:
    """Return whether a policy may be for the objects of a definition, or have its parameters there."""
    named = definition.spec
    if spec.paramKind is not None and spec.paramKind.apiVersion.startswith(f"{named.group}/"):
        return True
    names = {named.names.plural, named.names.singular or named.names.kind.lower()}
    return any(
        (named.group in rule.apiGroups or "" in rule.apiGroups) and not names.isdisjoint(map(str.lower, rule.resources))
        for rule in _rules_of(spec)
    )
