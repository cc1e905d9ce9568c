"""A plain world with mutating policies, whose objects are completed as the API server reads them."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from tests.unit.admit.extension.plain_world import CONFIG_MAPS, PlainWorld

from moorage.admit.apply.ownership_schema import FieldOwnershipSchema, built_in_schema
from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.policies.mutating.dispatch import mutate_by_policies
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import without_calls
from moorage.admit.prepare.kind_defaults import default_admission_policy, default_policy_binding
from moorage.admit.raw import Raw, copy_document
from moorage.admit.registry import row_of
from moorage.model.api_error import ApiError, internal
from moorage.model.kinds import KINDS, kind_of
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import kept_part, write_as_go
from moorage.model.types.extension.admission_policies import MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding

PODS: Raw = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def mutation(expression: str) -> Raw:
    """Return a mutation of the type that an expression suggests."""
    if expression.lstrip("( ").startswith("Object"):
        return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


class MutatingWorld(PlainWorld):
    """`completed` has every object that was read again."""

    def __init__(self) -> None:
        super().__init__()
        self.put_namespace("team-a", env="prod")
        self.mutators: tuple[MutatingAdmissionPolicy, ...] = ()
        self.mutator_bindings: dict[str, list[MutatingAdmissionPolicyBinding]] = {}
        self.schemas: dict[ObjectKind, FieldOwnershipSchema] = {}
        self.completed: list[Raw] = []

    @property
    def is_empty(self) -> bool:
        return not self.mutators

    def put_mutator(self, name: str, *mutations: str, bindings: Sequence[Raw] = ({},), **spec: Any) -> None:
        """Store a mutating policy with its bindings, which are b1, b2, …"""
        spec = {"reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [CONFIG_MAPS, PODS]}, **spec}
        spec["mutations"] = [mutation(each) for each in mutations]
        document: Raw = {"metadata": {"name": name}, "spec": deepcopy(spec)}
        default_admission_policy(document)
        policy = convert_view(document, MutatingAdmissionPolicy)
        others = [other for other in self.mutators if other.metadata.name != name]
        self.mutators = tuple(sorted([*others, policy], key=lambda other: other.metadata.name))
        self.mutator_bindings[name] = []
        for number, binding in enumerate(bindings, 1):
            document = {"metadata": {"name": f"b{number}"}, "spec": {"policyName": name, **deepcopy(binding)}}
            default_policy_binding(document)
            self.mutator_bindings[name].append(convert_view(document, MutatingAdmissionPolicyBinding))
        self.generation += 1

    def mutating_policies(self) -> Sequence[MutatingAdmissionPolicy]:
        return self.mutators

    def mutating_bindings(self, policy: str) -> Sequence[MutatingAdmissionPolicyBinding]:
        return self.mutator_bindings.get(policy, ())

    def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw:
        self.completed.append(document)
        kind = kind_of(document)
        if kind is None:
            return document
        try:
            convert_view(document, kind.view)
        except ConversionError as error:
            raise internal(error.problems[0].reason) from None
        completed = copy_document(kept_part(document, kind.view))
        row_of(kind).default(completed)
        write_as_go(completed, kind.view)
        return completed

    def apply_schema(self, kind: ObjectKind) -> FieldOwnershipSchema | None:
        if kind in self.schemas:
            return self.schemas[kind]
        known = KINDS.get((f"{kind.group}/{kind.version}" if kind.group else kind.version, kind.kind))
        return None if known is None else built_in_schema(known)


def mutated(
    world: MutatingWorld,
    attributes: Attributes,
    remarks: Remarks | None = None,
    reinvocation: Reinvocation | None = None,
) -> Raw | None:
    """Return the object after one round of policies. Raises ApiError."""
    without_calls(mutate_by_policies(attributes, world, remarks or Remarks(), reinvocation or Reinvocation()))
    return attributes.object


def mutated_twice(world: MutatingWorld, attributes: Attributes) -> Raw | None:
    """Return the object after both rounds, of which the second is left out if nothing was changed."""
    reinvocation = Reinvocation()
    mutated(world, attributes, None, reinvocation)
    if reinvocation.is_needed:
        reinvocation.is_second = True
        mutated(world, attributes, None, reinvocation)
    return attributes.object


def refusal(world: MutatingWorld, attributes: Attributes, remarks: Remarks | None = None) -> Raw:
    """Return the Status that a request is refused with."""
    try:
        mutated(world, attributes, remarks)
    except ApiError as error:
        return error.status
    raise AssertionError("the request is not refused")
