"""Evaluate a validating policy for one parameter: a decision for each validation, and values of audit annotations.

Kubernetes: plugin/policy/validating/validator.go and compilePolicy in plugin.go.
Differs: messages are not evaluated where no validation fails and their cost cannot exceed what is left of the budget.
"""

from typing import NamedTuple

from moorage.admit.extension.matching.matcher import Matched, Versioned
from moorage.admit.extension.policies.compiled import (
    AUDIT_VALUE,
    CONDITION,
    MESSAGE,
    CompiledExpression,
    PolicyCompiler,
)
from moorage.admit.extension.policies.conditions import IGNORE, MatchConditions, compile_conditions
from moorage.admit.extension.policies.evaluation import BUDGET, Activation, ExpressionResult, OutOfBudget
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.pod.shared import trim_space
from moorage.admit.raw import Raw
from moorage.match.cel.evaluate.steps import COST_LIMIT
from moorage.model.types.extension.admission_policies import ValidatingAdmissionPolicy, Validation

_INVALID = "Invalid"
_MAX_MESSAGE_BYTES = 5 * 1024


class PolicyDecision(NamedTuple):
    """What a validation came to, where it did not pass. `number` counts the decisions of one evaluation.

    A failure is denied; an error as well unless the policy ignores errors. `field` and `expression` say what is at
    fault in the policy.
    """

    number: int
    message: str
    reason: str = ""
    is_error: bool = False
    is_denied: bool = True
    field: str = ""
    expression: str = ""


class AuditValue(NamedTuple):
    """The value of an audit annotation, or why it has no value, which denies the request."""

    key: str
    value: str = ""
    error: str = ""
    field: str = ""
    expression: str = ""


class PolicyDecisions(NamedTuple):
    """All that did not pass, and the audit annotations."""

    decisions: tuple[PolicyDecision, ...] = ()
    annotations: tuple[AuditValue, ...] = ()


class CompiledValidation(NamedTuple):
    """A validation with its expressions."""

    validation: Validation
    expression: CompiledExpression
    message: CompiledExpression | None


class PolicyValidator:
    """A compiled validating policy."""

    def __init__(self, policy: ValidatingAdmissionPolicy) -> None:
        spec = policy.spec
        self.ignores_errors = spec.failurePolicy == IGNORE
        self.compiler = compiler = PolicyCompiler(spec.variables, has_params=spec.paramKind is not None)
        conditions = compile_conditions(spec.matchConditions, compiler.environment())
        self.conditions = MatchConditions(conditions, spec.failurePolicy, compiler.variables)
        self.validations = tuple(_compile_validation(validation, compiler) for validation in spec.validations)
        self.annotations = tuple(
            (annotation.key, compiler.compile(annotation.valueExpression, AUDIT_VALUE))
            for annotation in spec.auditAnnotations
        )
        messages = sum(validation.message is not None for validation in self.validations)
        self._most_for_messages = (messages + len(compiler.variables)) * COST_LIMIT if messages else 0

    def decide(
        self, inputs: RequestInputs, matched: Matched, versioned: Versioned, params: Raw | None
    ) -> PolicyDecisions:
        """Evaluate the policy. Raises TooLong, and ApiError if the namespace does not exist."""
        answer = self.conditions.answer(inputs, versioned, params)
        if answer.error:
            place = answer.at_fault
            condition = self.conditions.conditions[place].expression
            return self._only_error(answer.error, f"spec.matchConditions[{place}].expression", condition.source)
        if not answer.matches:
            return PolicyDecisions()
        evaluation = _Evaluation(self, inputs, matched, versioned, params)
        try:
            outcomes, left = evaluation.validate()
        except OutOfBudget as error:
            return self._only_error(str(error), *_validation_field(self.validations, 0))
        decisions = self._with_messages(evaluation, outcomes, left)
        try:
            return PolicyDecisions(tuple(decisions), tuple(evaluation.annotate()))
        except OutOfBudget as error:
            return self._only_error(str(error), "spec.auditAnnotations", "")

    def _only_error(self, message: str, field: str, expression: str) -> PolicyDecisions:
        denied = not self.ignores_errors
        return PolicyDecisions((PolicyDecision(0, message, "", True, denied, field, expression),))

    def _with_messages(
        self, evaluation: "_Evaluation", outcomes: list[ExpressionResult], left: int
    ) -> list[PolicyDecision]:
        """Return the decisions with their messages."""
        messages: list[ExpressionResult | None] = [None] * len(outcomes)
        exhausted = ""
        has_failed = any(outcome.error is None and outcome.value is not True for outcome in outcomes)
        if has_failed or self._most_for_messages > left:
            try:
                messages = evaluation.messages(left)
            except OutOfBudget as error:
                exhausted = f"failed messageExpression: {error}"
        decisions: list[PolicyDecision] = []
        for index, (outcome, message) in enumerate(zip(outcomes, messages, strict=True)):
            decision = self._decide(index, outcome, message, exhausted)
            if decision is not None:
                decisions.append(decision)
        return decisions

    def _decide(
        self, index: int, outcome: ExpressionResult, message: ExpressionResult | None, exhausted: str
    ) -> PolicyDecision | None:
        field, expression = _validation_field(self.validations, index)
        if outcome.error is not None or exhausted:
            text = outcome.error or exhausted
            return PolicyDecision(index, text, "", True, not self.ignores_errors, field, expression)
        if outcome.value is True:
            return None
        validation = self.validations[index].validation
        return PolicyDecision(
            index, _message(validation, message), validation.reason or _INVALID, False, True, field, expression
        )


class _Evaluation:
    """The evaluation of a policy for one parameter; each part of it evaluates variables for itself."""

    def __init__(
        self,
        policy: PolicyValidator,
        inputs: RequestInputs,
        matched: Matched,
        versioned: Versioned,
        params: Raw | None,
    ) -> None:
        self._policy, self._inputs = policy, inputs
        self._bindings = inputs.bindings(versioned, matched.resource, params=params, namespace=inputs.namespace())

    def _activation(self, *, authorizer: bool = False) -> Activation:
        bindings = self._bindings
        if not authorizer:
            bindings = {name: value for name, value in bindings.items() if not name.startswith("authorizer")}
        return Activation(bindings, self._inputs.meter, self._policy.compiler.variables)

    def validate(self) -> tuple[list[ExpressionResult], int]:
        """Evaluate all validations; return what is left of the budget as well."""
        activation, left = self._activation(authorizer=True), BUDGET
        outcomes = []
        for validation in self._policy.validations:
            outcome, left = activation.evaluate(validation.expression, left)
            outcomes.append(outcome)
        return outcomes, left

    def messages(self, left: int) -> list[ExpressionResult | None]:
        """Evaluate the messages of all validations, in which there is no authorizer."""
        activation = self._activation()
        outcomes: list[ExpressionResult | None] = []
        for validation in self._policy.validations:
            if validation.message is None:
                outcomes.append(None)
                continue
            outcome, left = activation.evaluate(validation.message, left)
            outcomes.append(outcome)
        return outcomes

    def annotate(self) -> list[AuditValue]:
        """Evaluate the audit annotations; those that are null or blank are left out."""
        if not self._policy.annotations:
            return []
        activation, left = self._activation(), BUDGET
        values: list[AuditValue] = []
        for index, (key, expression) in enumerate(self._policy.annotations):
            outcome, left = activation.evaluate(expression, left)
            field = f"spec.auditAnnotations[{index}].valueExpression"
            if outcome.error is not None:
                if not self._policy.ignores_errors:
                    values.append(AuditValue(key, "", outcome.error, field, expression.source))
            elif isinstance(outcome.value, str) and (text := trim_space(outcome.value)):
                values.append(AuditValue(key, text, "", field, expression.source))
        return values


def _compile_validation(validation: Validation, compiler: PolicyCompiler) -> CompiledValidation:
    message = None
    if validation.messageExpression:
        message = compiler.compile(validation.messageExpression, MESSAGE, authorizer=False)
    return CompiledValidation(validation, compiler.compile(validation.expression, CONDITION), message)


def _validation_field(validations: tuple[CompiledValidation, ...], index: int) -> tuple[str, str]:
    expression = validations[index].validation.expression if validations else ""
    return f"spec.validations[{index}].expression", expression


def _message(validation: Validation, outcome: ExpressionResult | None) -> str:
    """Return what clients are told: the computed message if it fits into a line, the given one, or the expression."""
    if outcome is not None and isinstance(outcome.value, str):
        text = trim_space(outcome.value)
        if text and "\n" not in text and len(text.encode("utf-8", "surrogatepass")) <= _MAX_MESSAGE_BYTES:
            return text
    return trim_space(validation.message) or f"failed expression: {trim_space(validation.expression)}"
