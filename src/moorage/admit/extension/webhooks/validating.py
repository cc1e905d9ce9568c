"""Let webhooks refuse a request. All are called at the same time; the first to refuse it is the one that answers.

Kubernetes: plugin/webhook/validating.
"""

from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.matching.rules import is_exempt_from_webhooks
from moorage.admit.extension.matching.versions import ObjectVersions
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import Steps, answers_of_webhooks
from moorage.admit.extension.webhooks.answers import denial, read_response
from moorage.admit.extension.webhooks.calls import (
    LARGE_ANSWER,
    CallRecord,
    Invocation,
    PreparedCall,
    check_called,
    invocation_of,
    prepare,
    take_remarks,
)
from moorage.admit.extension.webhooks.failures import CallFailed, Denied
from moorage.admit.extension.webhooks.hooks import VALIDATING_HOOKS
from moorage.admit.extension.world import ExtensionWorld
from moorage.model.api_error import ApiError

_FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/"


def validate_by_webhooks(attributes: Attributes, world: ExtensionWorld, remarks: Remarks) -> Steps[None]:
    """Call the webhooks that may refuse a request. Raises ApiError if one does."""
    if is_exempt_from_webhooks(attributes):
        return
    hooks = VALIDATING_HOOKS.of(attributes, world)
    if not hooks:
        return
    inputs, versions = RequestInputs(attributes, world), ObjectVersions(attributes, world, remarks)
    invocations: list[Invocation] = []
    for hook in hooks:
        invocation = yield from invocation_of(hook, inputs, versions)
        if invocation is not None:
            invocations.append(invocation)
    if invocations:
        yield from _Dispatch(attributes, remarks).ask(invocations)


class _Dispatch:
    """The calls about one request."""

    def __init__(self, attributes: Attributes, remarks: Remarks) -> None:
        self._attributes, self._remarks = attributes, remarks
        self._refusals: list[ApiError] = []

    def ask(self, invocations: list[Invocation]) -> Steps[None]:
        prepared: list[tuple[CallRecord, PreparedCall, int]] = []
        for index, (hook, _, _) in enumerate(invocations):
            record = CallRecord(hook, self._attributes.operation, is_mutating=False)
            try:
                prepared.append((record, prepare(invocations[index], self._attributes, is_mutating=False), index))
            except (CallFailed, ApiError) as error:
                self._settle(record, error, index)
        if prepared:
            yield from self._call(prepared)
        if self._refusals:
            raise self._refusals[0]

    def _call(self, prepared: list[tuple[CallRecord, PreparedCall, int]]) -> Steps[None]:
        answers = yield from answers_of_webhooks([each.call for _, each, _ in prepared])
        if any(answer.size > LARGE_ANSWER for answer in answers):
            yield ()
        pairs = zip(prepared, answers, strict=True)
        for (record, each, index), answer in sorted(pairs, key=lambda pair: pair[1].seconds):
            if answer.not_called:
                self._remarks.not_called.append(each.omission)
                continue
            answered = record._replace(answer=answer)
            try:
                self._take(answered, each)
            except (CallFailed, Denied, ApiError) as error:
                self._settle(answered, error, index)
            else:
                self._settle(answered, None, index)

    def _take(self, record: CallRecord, prepared: PreparedCall) -> None:
        check_called(record.answer)
        response = read_response(record.answer.review, prepared.review, is_mutating=False)
        take_remarks(record.hook, self._remarks, response.audit, response.warnings)
        if not response.allowed:
            raise denial(record.hook.name, response.status)

    def _settle(self, record: CallRecord, error: CallFailed | Denied | ApiError | None, index: int) -> None:
        refusal = record.outcome(error, self._remarks, f"{_FAILED_OPEN}round_0_index_{index}")
        if refusal is not None:
            self._refusals.append(refusal)
