"""Ask the policies and webhooks of a cluster about a request, in their order: policies first, then webhooks.

Kubernetes: the last plugins of AllOrderedPlugins, pkg/kubeapiserver/options.
"""

from collections.abc import Callable

from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.matching.rules import is_exempt_from_policies, is_exempt_from_webhooks
from moorage.admit.extension.policies import asked_policies
from moorage.admit.extension.policies.mutating.dispatch import mutate_by_policies
from moorage.admit.extension.policies.reads import Dependence
from moorage.admit.extension.policies.validating import validate_by_policies
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import Steps
from moorage.admit.extension.webhooks.hooks import MUTATING_HOOKS, VALIDATING_HOOKS
from moorage.admit.extension.webhooks.mutating import mutate_by_webhooks
from moorage.admit.extension.webhooks.validating import validate_by_webhooks
from moorage.admit.extension.world import ExtensionWorld

Mutate = Callable[[Attributes, ExtensionWorld, Remarks, Reinvocation], Steps[None]]
Validate = Callable[[Attributes, ExtensionWorld, Remarks], Steps[None]]

#: What changes objects, and what refuses them.
MUTATING: tuple[Mutate, ...] = (mutate_by_policies, mutate_by_webhooks)
VALIDATING: tuple[Validate, ...] = (validate_by_policies, validate_by_webhooks)


def may_concern(attributes: Attributes, world: ExtensionWorld) -> bool:
    """Return whether a policy or webhook may be about requests with such operation, resource, kind and subresource."""
    if not is_exempt_from_policies(attributes):
        for validating in asked_policies.VALIDATING.of(attributes, world):
            if world.validating_bindings(validating.metadata.name):
                return True
        for mutating in asked_policies.MUTATING.of(attributes, world):
            if world.mutating_bindings(mutating.metadata.name):
                return True
    if is_exempt_from_webhooks(attributes):
        return False
    return bool(MUTATING_HOOKS.of(attributes, world) or VALIDATING_HOOKS.of(attributes, world))


def answers_templates(attributes: Attributes, world: ExtensionWorld) -> bool:
    """Return whether the answers of policies to a creation hold for all of a template, and no webhook is asked."""
    if MUTATING_HOOKS.of(attributes, world) or VALIDATING_HOOKS.of(attributes, world):
        return False
    return asked_policies.creation_dependence(attributes, world) is not Dependence.REQUEST


def mutate(attributes: Attributes, world: ExtensionWorld, remarks: Remarks, reinvocation: Reinvocation) -> Steps[None]:
    """Let policies and webhooks change `attributes.object`. Raises ApiError."""
    for change in MUTATING:
        yield from change(attributes, world, remarks, reinvocation)


def validate(attributes: Attributes, world: ExtensionWorld, remarks: Remarks) -> Steps[None]:
    """Let policies and webhooks refuse a request. Raises ApiError."""
    for look in VALIDATING:
        yield from look(attributes, world, remarks)
