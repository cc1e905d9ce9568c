"""Let webhooks change the object of a request, one after another, by configuration and then in the order of its list.

Kubernetes: plugin/webhook/mutating.
"""

from typing import Any

from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.matching.matcher import Versioned
from moorage.admit.extension.matching.rules import is_exempt_from_webhooks
from moorage.admit.extension.matching.versions import ObjectVersions, converted
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Change, Remarks
from moorage.admit.extension.steps import Steps, answers_of_webhooks
from moorage.admit.extension.webhooks.answers import JSON_PATCH, Response, denial, read_response
from moorage.admit.extension.webhooks.calls import (
    LARGE_ANSWER,
    CallRecord,
    Invocation,
    PreparedCall,
    annotate,
    check_called,
    invocation_of,
    prepare,
    take_remarks,
)
from moorage.admit.extension.webhooks.failures import CallFailed, Denied, internal_error
from moorage.admit.extension.webhooks.hooks import MUTATING_HOOKS, Hook
from moorage.admit.extension.webhooks.patches import Patched, patch_text, patched, read_patch
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.go.quoting import GoStruct, go_json
from moorage.model.kinds import kind_of

_MUTATION = "mutation.webhook.admission.k8s.io/"
_PATCH = "patch.webhook.admission.k8s.io/"


def mutate_by_webhooks(
    attributes: Attributes, world: ExtensionWorld, remarks: Remarks, reinvocation: Reinvocation
) -> Steps[None]:
    """Call the webhooks that may change a request, and replace its object. Raises ApiError to refuse it."""
    if is_exempt_from_webhooks(attributes):
        return
    hooks = MUTATING_HOOKS.of(attributes, world)
    if not hooks:
        return
    rounds = reinvocation.webhooks
    rounds.begin(attributes.object, reinvocation)
    try:
        dispatch = _Dispatch(attributes, world, remarks, reinvocation)
        for hook in hooks:
            yield from dispatch.ask(hook)
    finally:
        rounds.end(attributes.object)


def _owners_of(document: Raw | None) -> Any:
    return ((document or {}).get("metadata") or {}).get("managedFields")


class _Dispatch:
    """One round of webhooks about one request."""

    def __init__(
        self, attributes: Attributes, world: ExtensionWorld, remarks: Remarks, reinvocation: Reinvocation
    ) -> None:
        self._attributes, self._world, self._remarks = attributes, world, remarks
        self._reinvocation = reinvocation
        self._inputs = RequestInputs(attributes, world)
        self._versions = ObjectVersions(attributes, world, remarks)

    def ask(self, hook: Hook) -> Steps[None]:
        """Call a webhook if it is to be called, and do what it says. Raises ApiError."""
        invocation = yield from invocation_of(hook, self._inputs, self._versions)
        if invocation is None or not self._reinvocation.webhooks.may_call(hook.key, self._reinvocation):
            return
        record = CallRecord(hook, self._attributes.operation, is_mutating=True)
        try:
            prepared = prepare(invocation, self._attributes, is_mutating=True)
        except (CallFailed, ApiError) as error:
            self._settle(record, error, is_changed=False)
            return
        (answer,) = yield from answers_of_webhooks((prepared.call,))
        self._inputs = RequestInputs(self._attributes, self._world)  # it may be another thread, and another object
        if answer.not_called:
            self._remarks.not_called.append(prepared.omission)
            return
        if answer.size > LARGE_ANSWER:
            yield ()
        record = record._replace(answer=answer)
        try:
            made = self._take(invocation, prepared, record)
        except (CallFailed, Denied, ApiError) as error:
            self._settle(record, error, is_changed=False)
        else:
            self._settle(record, None, is_changed=made is not None and made.is_changed)
            if made is not None:
                yield from self._replace(made.object, invocation)

    def _settle(self, record: CallRecord, error: CallFailed | Denied | ApiError | None, *, is_changed: bool) -> None:
        """Note what a call came to. Raises ApiError if the request is refused."""
        hook, rounds, place = record.hook, self._reinvocation.webhooks, self._place(record.hook)
        refusal = record.outcome(error, self._remarks, f"failed-open.{_MUTATION}{place}")
        names = GoStruct(configuration=hook.configuration, webhook=hook.name, mutated=is_changed)
        annotate(self._remarks, f"{_MUTATION}{place}", go_json(names))
        if is_changed:
            rounds.changed(self._reinvocation)
        if hook.wants_repetition:
            rounds.wants_repetition(hook.key)
        if refusal is not None:
            raise refusal

    def _place(self, hook: Hook) -> str:
        return f"round_{int(self._reinvocation.is_second)}_index_{hook.place}"

    def _take(self, invocation: Invocation, prepared: PreparedCall, record: CallRecord) -> Patched | None:
        """Do what a webhook answers; return the object that it has patched. Raises CallFailed, Denied, ApiError."""
        hook, answer = record.hook, record.answer
        check_called(answer)
        response = read_response(answer.review, prepared.review, is_mutating=True)
        take_remarks(hook, self._remarks, response.audit, response.warnings)
        if not response.allowed:
            raise denial(hook.name, response.status)
        operations = read_patch(response.patch) if response.patch else []
        if not operations:
            return None
        made = self._patched(invocation, response, operations)
        if self._has_new_times():
            made = made._replace(is_changed=True)
        patch = patch_text(response.patch)
        names = f'{{"configuration":{go_json(hook.configuration)},"webhook":{go_json(hook.name)}'
        annotate(self._remarks, f"{_PATCH}{self._place(hook)}", f'{names},"patch":{patch},"patchType":"{JSON_PATCH}"}}')
        if made.is_changed:
            source = f"MutatingWebhookConfiguration {hook.configuration}, webhook {hook.name}"
            self._remarks.changes.append(Change(source, "", tuple(operations)))
        return made

    def _has_new_times(self) -> bool:
        """Return whether the object has times of this request, which Go finds different after they were written once.

        Any patch changes them, even one that changes nothing else: those of owners of fields, as long as nothing has
        changed the object. Custom objects have times as texts from the beginning.
        """
        if self._reinvocation.is_needed or kind_of(self._attributes.object or {}) is None:
            return False
        owners = _owners_of(self._attributes.object)
        return bool(owners) and owners != _owners_of(self._attributes.old)

    def _patched(self, invocation: Invocation, response: Response, operations: list[Raw]) -> Patched:
        document = invocation.objects.object
        if document is None:
            why = "attempted to modify the object, which is not supported for this operation"
            raise internal_error(f'admission webhook "{invocation.hook.name}" {why}')
        if response.patch_type != JSON_PATCH:
            raise CallFailed(f'unsupported patch type "{response.patch_type}"', 400)
        return patched(document, operations, invocation.matched, self._attributes.subresource, self._world)

    def _replace(self, document: Raw, invocation: Invocation) -> Steps[None]:
        """Replace the object of the request, in the version of the request."""
        attributes, objects = self._attributes, invocation.objects
        if objects.kind == attributes.kind:
            attributes.object = document
            return
        (attributes.object,) = yield from converted((document,), attributes.kind, self._world, self._remarks)
        self._versions.keep(Versioned(objects.kind, document, objects.old))
