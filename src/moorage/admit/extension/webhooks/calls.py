"""Prepare the call of a webhook, and decide what becomes of a request after it.

Kubernetes: ShouldCallHook of plugin/webhook/generic, and what the dispatchers of plugin/webhook have in common.
"""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.matching.matcher import Matched, Versioned, match_webhook
from moorage.admit.extension.matching.versions import ObjectVersions
from moorage.admit.extension.policies.conditions import match_webhook_conditions
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.remarks import CallOutcome, NotCalled, Remarks, WebhookWarning
from moorage.admit.extension.steps import Steps, WebhookAnswer, WebhookCall
from moorage.admit.extension.webhooks.failures import CallFailed, Denied, failed_calling, forbidden, unconverted
from moorage.admit.extension.webhooks.hooks import Hook
from moorage.admit.extension.webhooks.review import Review, make_review
from moorage.model.api_error import ApiError, bad_request, timeout
from moorage.model.names import label_key_errors

#: An answer of more bytes is read in another thread, if there is one.
LARGE_ANSWER = 16 * 1024
_DEFAULT_TIMEOUT = 10
_DRY_RUN = ("None", "NoneOnDryRun")
_OK = 200


class Invocation(NamedTuple):
    """A webhook that is to be called about the objects of a request, in the version that its rules name."""

    hook: Hook
    matched: Matched
    objects: Versioned


class PreparedCall(NamedTuple):
    """A call with the review that its answer is to fit."""

    review: Review
    call: WebhookCall

    @property
    def omission(self) -> NotCalled:
        """Return what is noted if the call is not made."""
        return NotCalled(self.call.configuration, self.call.webhook, self.call.is_mutating)


def invocation_of(hook: Hook, inputs: RequestInputs, versions: ObjectVersions) -> Steps[Invocation | None]:
    """Return whether and how a webhook is called. Raises ApiError."""
    attributes, world = inputs.attributes, inputs.world
    matched = match_webhook(hook.webhook, attributes, world)
    if matched is None:
        return None
    try:
        objects = versions.at_once(matched.kind) or (yield from versions.by_webhook(matched.kind))
    except ApiError as error:
        raise unconverted(error, hook.webhook) from None
    if hook.webhook.matchConditions:
        answer = yield from match_webhook_conditions(hook.webhook, inputs, objects)
        if answer.error:
            raise forbidden(attributes, answer.error)
        if not answer.matches:
            return None
    return Invocation(hook, matched, objects)


def prepare(invocation: Invocation, attributes: Attributes, *, is_mutating: bool) -> PreparedCall:
    """Return the call to be made. Raises CallFailed, or ApiError if the webhook has no place in a dry run."""
    hook, matched, objects = invocation
    webhook = hook.webhook
    if attributes.dry_run:
        if webhook.sideEffects is None:
            raise CallFailed("Webhook SideEffects is nil", 400)
        if webhook.sideEffects not in _DRY_RUN:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
    review = make_review(str(uuid.uuid4()), webhook.admissionReviewVersions, attributes, matched, objects)
    seconds = float(webhook.timeoutSeconds or _DEFAULT_TIMEOUT)
    call = WebhookCall(hook.configuration, hook.name, webhook.clientConfig, review.document, seconds, is_mutating)
    return PreparedCall(review, call)


def check_called(answer: WebhookAnswer) -> None:
    """Raise CallFailed if a webhook was not reached."""
    if answer.failure:
        raise CallFailed(answer.failure, answer.code)


def take_remarks(hook: Hook, remarks: Remarks, audit: dict[str, str], warnings: Sequence[str]) -> None:
    """Take over what an answer remarks. Annotations are dropped whose keys do not fit, or are there already."""
    for key, value in audit.items():
        annotate(remarks, f"{hook.name}/{key}", value)
    told = [warning for warning in warnings if warning]
    remarks.warnings += told
    remarks.webhook_warnings += [WebhookWarning(hook.name, warning) for warning in told]


def annotate(remarks: Remarks, key: str, value: str) -> None:
    if key.count("/") == 1 and not label_key_errors(key):
        remarks.audit.setdefault(key, value)


class CallRecord(NamedTuple):
    """What is known of a call whatever comes of it."""

    hook: Hook
    operation: str
    is_mutating: bool
    answer: WebhookAnswer = WebhookAnswer()

    def outcome(self, error: CallFailed | Denied | ApiError | None, remarks: Remarks, open_key: str) -> ApiError | None:
        """Note what a call came to. Return the refusal of the request; None if an error is passed over."""
        if isinstance(error, CallFailed):
            return self._failure(error, remarks, open_key)
        if isinstance(error, Denied):
            self._note(remarks, error.error.code, "no_error")
            return error.error
        self._note(remarks, _OK if error is None else 0, "" if error is None else "apiserver_internal_error")
        return error

    def _failure(self, failed: CallFailed, remarks: Remarks, open_key: str) -> ApiError | None:
        hook, is_abandoned = self.hook, self.answer.is_abandoned
        if not hook.is_ignored:
            self._note(remarks, failed.code, "" if is_abandoned else "calling_webhook_error", is_rejected=True)
            return failed_calling(hook.name, failed)
        self._note(remarks, failed.code, failed_open=not is_abandoned)
        if not is_abandoned:
            annotate(remarks, open_key, hook.name)
        return out_of_time() if self.answer.is_out_of_time else None

    def _note(
        self, remarks: Remarks, code: int, error_type: str = "", *, is_rejected: bool = False, failed_open: bool = False
    ) -> None:
        remarks.calls.append(
            CallOutcome(
                self.hook.configuration,
                self.hook.name,
                self.is_mutating,
                self.operation,
                self.answer.seconds,
                code,
                is_rejected or bool(error_type),
                error_type,
                failed_open,
            )
        )


def out_of_time() -> ApiError:
    """Return the refusal of a request whose time is over."""
    return timeout("Timeout: request did not complete within requested timeout")
