"""Know the webhooks of a cluster in their order, and find those that may be called about a request.

Kubernetes: the accessors of plugin/webhook, pkg/admission/configuration.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from moorage.admit.extension.candidates import Candidates, ItemRules
from moorage.admit.extension.matching.rules import compile_rules
from moorage.admit.extension.world import ExtensionWorld
from moorage.model.types.extension.admission_policies import (
    MutatingWebhook,
    MutatingWebhookConfiguration,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
)

_EQUIVALENT, _IGNORE, _IF_NEEDED = "Equivalent", "Ignore", "IfNeeded"
Configurations: TypeAlias = Sequence[MutatingWebhookConfiguration] | Sequence[ValidatingWebhookConfiguration]


class Hook(NamedTuple):
    """A webhook that is registered; `place` is that among all of its kind."""

    configuration: str
    webhook: MutatingWebhook | ValidatingWebhook
    place: int

    @property
    def name(self) -> str:
        return self.webhook.name

    @property
    def key(self) -> tuple[str, str, int]:
        return self.configuration, self.webhook.name, self.place

    @property
    def wants_repetition(self) -> bool:
        """Whether the webhook is called again when the object has changed since."""
        return isinstance(self.webhook, MutatingWebhook) and self.webhook.reinvocationPolicy == _IF_NEEDED

    @property
    def is_ignored(self) -> bool:
        """Whether a request goes on if the webhook cannot be called."""
        return self.webhook.failurePolicy == _IGNORE


class _RegisteredHooks:
    """The webhooks of one kind in each world, made of its configurations when they change."""

    def __init__(self, configurations: Callable[[ExtensionWorld], Configurations]) -> None:
        self._configurations = configurations
        self._made: WeakKeyDictionary[ExtensionWorld, tuple[Configurations, tuple[Hook, ...]]] = WeakKeyDictionary()

    def of(self, world: ExtensionWorld) -> tuple[Hook, ...]:
        configurations = self._configurations(world)
        made = self._made.get(world)
        if made is None or made[0] is not configurations:
            made = self._made[world] = configurations, _hooks_of(configurations)
        return made[1]


def _hooks_of(configurations: Configurations) -> tuple[Hook, ...]:
    pairs = [(each.metadata.name, webhook) for each in configurations for webhook in each.webhooks]
    return tuple(Hook(name, webhook, index) for index, (name, webhook) in enumerate(pairs))


def _rules_of(hook: Hook) -> ItemRules:
    return ItemRules(compile_rules(hook.webhook.rules), hook.webhook.matchPolicy == _EQUIVALENT)


MUTATING_HOOKS = Candidates(_RegisteredHooks(lambda world: world.mutating_webhooks()).of, _rules_of)
VALIDATING_HOOKS = Candidates(_RegisteredHooks(lambda world: world.validating_webhooks()).of, _rules_of)
