"""Decide by match conditions whether a policy or webhook is asked: any that is false says no, before any error counts.

Kubernetes: plugin/webhook/matchconditions/matcher.go.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from moorage.admit.extension.kept import Kept
from moorage.admit.extension.matching.matcher import Versioned
from moorage.admit.extension.policies.compiled import CONDITION, CompiledExpression, compile_for
from moorage.admit.extension.policies.environment import Offered, policy_environment
from moorage.admit.extension.policies.evaluation import CONDITIONS_BUDGET, Activation, OutOfBudget, TooLong
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.steps import Steps
from moorage.admit.raw import Raw
from moorage.match.cel.environment import Environment
from moorage.model.types.extension.admission_policies import MatchCondition, MutatingWebhook, ValidatingWebhook

IGNORE = "Ignore"
Webhook = MutatingWebhook | ValidatingWebhook


class CompiledCondition(NamedTuple):
    """A match condition by name."""

    name: str
    expression: CompiledExpression


class ConditionsAnswer(NamedTuple):
    """Whether all conditions hold; if not, which one does not, or an error, which is no answer.

    `at_fault` is the index of the condition that failed or has the first error.
    """

    matches: bool
    error: str = ""
    failed: str = ""
    at_fault: int = 0


class MatchConditions:
    """The compiled conditions of a policy or webhook, and what its failurePolicy makes of errors."""

    __slots__ = ("_ignores_errors", "_variables", "conditions")

    def __init__(
        self,
        conditions: Sequence[CompiledCondition],
        failure_policy: str | None,
        variables: Mapping[str, CompiledExpression] | None = None,
    ) -> None:
        self.conditions = tuple(conditions)
        self._ignores_errors = failure_policy == IGNORE
        self._variables = variables

    def answer(self, inputs: RequestInputs, versioned: Versioned, params: Raw | None = None) -> ConditionsAnswer:
        """Evaluate the conditions. Raises TooLong."""
        if not self.conditions:
            return ConditionsAnswer(True)
        bindings = inputs.bindings(versioned, inputs.attributes.resource, params=params)
        try:
            return self._decide(Activation(bindings, inputs.meter, self._variables))
        except OutOfBudget as error:
            return self._failed(str(error), 0)

    def _decide(self, activation: Activation) -> ConditionsAnswer:
        budget = CONDITIONS_BUDGET
        outcomes = []
        for condition in self.conditions:
            outcome, budget = activation.evaluate(condition.expression, budget)
            outcomes.append(outcome)
        for index, outcome in enumerate(outcomes):
            if outcome.error is None and outcome.value is False:
                return ConditionsAnswer(False, failed=self.conditions[index].name, at_fault=index)
        errors = {outcome.error: index for index, outcome in reversed([*enumerate(outcomes)]) if outcome.error}
        if not errors:
            return ConditionsAnswer(True)
        return self._failed(aggregate([outcome.error for outcome in outcomes if outcome.error]), min(errors.values()))

    def _failed(self, error: str, index: int) -> ConditionsAnswer:
        return ConditionsAnswer(False, "" if self._ignores_errors else error, at_fault=index)


def aggregate(messages: Sequence[str]) -> str:
    """Return several errors as Go's aggregate prints them: each text once."""
    texts = list(dict.fromkeys(messages))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def match_webhook_conditions(webhook: Webhook, inputs: RequestInputs, versioned: Versioned) -> Steps[ConditionsAnswer]:
    """Decide whether a webhook is called; after an empty list of calls, if that takes long."""
    conditions = _WEBHOOKS.of(webhook)
    try:
        return conditions.answer(inputs, versioned)
    except TooLong:
        inputs.meter.take_time()
        yield ()
        return conditions.answer(inputs, versioned)


def compile_conditions(conditions: Sequence[MatchCondition], environment: Environment) -> list[CompiledCondition]:
    return [CompiledCondition(each.name, compile_for(each.expression, environment, CONDITION)) for each in conditions]


def webhook_conditions_environment() -> Environment:
    """Return the environment of the match conditions of webhooks."""
    return policy_environment(Offered(params=False, authorizer=True, composes=False))


def _compile_webhook(webhook: Webhook) -> MatchConditions:
    conditions = compile_conditions(webhook.matchConditions, webhook_conditions_environment())
    return MatchConditions(conditions, webhook.failurePolicy)


_WEBHOOKS: Kept[Webhook, MatchConditions] = Kept(_compile_webhook)
