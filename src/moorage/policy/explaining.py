"""Show how policies decide about one object: the value of each variable and of each part of their expressions.

A policy that validates is explained with the object that the mutating policies of the input have made, one that mutates
with the object as the API server itself completes it. A policy without a binding is explained as if it were bound.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.policies.mutating.tracing import MutationTrace, trace_mutations
from moorage.admit.extension.policies.tracing import PolicyTrace, trace_policy
from moorage.admit.extension.world import ExtensionWorld
from moorage.model.gates import GateSet
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension.admission_policies import (
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicyBinding,
)
from moorage.policy.cases import POLICY_KINDS, PlacedObject, UnreadableCases
from moorage.policy.server import PolicyAnswer, PolicyCluster, PolicyRequest

Raw = dict[str, Any]
Trace = PolicyTrace | MutationTrace
_GROUP, (_VALIDATING, _MUTATING) = "admissionregistration.k8s.io/", POLICY_KINDS
_OBSERVER = "moorage-observer"
_SUBJECT = "the object"  # in complaints about it
#: A policy about every request, so that the request is described even if no other policy is about it.
_OBSERVING: tuple[Raw, ...] = (
    {
        "apiVersion": f"{_GROUP}v1",
        "kind": _VALIDATING,
        "metadata": {"name": _OBSERVER},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]},
                ]
            },
            "validations": [{"expression": "true"}],
        },
    },
    {
        "apiVersion": f"{_GROUP}v1",
        "kind": f"{_VALIDATING}Binding",
        "metadata": {"name": _OBSERVER},
        "spec": {"policyName": _OBSERVER, "validationActions": ["Audit"]},
    },
)


class ExplainedPolicy(msgspec.Struct, frozen=True):
    """How one policy decides through one binding. `is_bound` is False for a binding that the input does not have."""

    kind: str
    trace: Trace
    is_bound: bool


class Explanation(msgspec.Struct, frozen=True):
    """What the policies of an input make of a request, all together and each by itself."""

    answer: PolicyAnswer
    policies: tuple[ExplainedPolicy, ...]


async def explain_policies(
    objects: Sequence[PlacedObject], request: PolicyRequest, gates: GateSet, names: Sequence[str] = ()
) -> Explanation:
    """Explain the policies of these names, or all. Raises UnreadableCases."""
    known = [one.raw["metadata"].get("name", "") for one in objects if one.raw.get("kind") in POLICY_KINDS]
    if not known:
        raise UnreadableCases(f"the input has no {_VALIDATING} and no {_MUTATING}")
    for name in names:
        if name not in known:
            raise UnreadableCases(f"there is no policy {name!r}; the input has {', '.join(known)}")
    answer = await (await PolicyCluster.made(gates, objects)).ask(request, _SUBJECT)
    observing = [PlacedObject(raw, "an observer") for raw in _OBSERVING]
    described = await (await PolicyCluster.made(gates, [*objects, *observing])).ask(request, _SUBJECT)
    if described.request is None:  # the API server refuses the object before policies see it
        return Explanation(answer, ())
    world, attributes = described.request.world, described.request.attributes
    unchanged = [one for one in objects if one.raw.get("kind") != f"{_MUTATING}Binding"]
    before = await (await PolicyCluster.made(gates, [*unchanged, *observing])).ask(request, _SUBJECT)
    original = attributes if before.request is None else before.request.attributes
    explained = [*_mutating(world, original), *_validating(world, attributes)]
    return Explanation(answer, tuple(one for one in explained if not names or one.trace.policy in names))


def _mutating(world: ExtensionWorld, attributes: Attributes) -> Iterator[ExplainedPolicy]:
    for policy in world.mutating_policies():
        name = policy.metadata.name
        bindings = world.mutating_bindings(name)
        for binding in bindings or [convert_view(_implied(name), MutatingAdmissionPolicyBinding)]:
            yield ExplainedPolicy(_MUTATING, trace_mutations(policy, binding, attributes, world), bool(bindings))


def _validating(world: ExtensionWorld, attributes: Attributes) -> Iterator[ExplainedPolicy]:
    for policy in world.validating_policies():
        name = policy.metadata.name
        bindings = world.validating_bindings(name)
        if name != _OBSERVER:
            for binding in bindings or [convert_view(_implied(name), ValidatingAdmissionPolicyBinding)]:
                yield ExplainedPolicy(_VALIDATING, trace_policy(policy, binding, attributes, world), bool(bindings))


def _implied(policy: str) -> Raw:
    """Return a binding to everything, for a policy that has none."""
    return {"metadata": {"name": ""}, "spec": {"policyName": policy, "validationActions": ["Deny"]}}
