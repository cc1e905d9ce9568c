"""Collect what policies and webhooks remark on a request besides admitting or refusing it."""

from typing import NamedTuple

import msgspec

from moorage.admit.raw import Raw


class Change(NamedTuple):
    """A change of the object by a policy or a webhook, as JSON patch operations from the object before it."""

    source: str  # "MutatingAdmissionPolicy add-label" or "MutatingWebhookConfiguration hooks, webhook a.example.com"
    binding: str  # of a policy
    patch: tuple[Raw, ...]


class NotCalled(NamedTuple):
    """A webhook that a cluster would call for the request, and that was not called here.

    `is_conversion`: it converts custom objects; `configuration` is their definition, and policies and webhooks saw
    objects of which only the apiVersion was changed.
    """

    configuration: str
    webhook: str
    is_mutating: bool
    is_conversion: bool = False


class WebhookWarning(NamedTuple):
    """What a webhook that was called warns of."""

    webhook: str
    text: str


class Failure(NamedTuple):
    """An expression of a policy that an object does not pass, or that cannot be evaluated; also if it was only noted.

    `actions` are what the binding asks for (Deny, Warn, Audit); those of a mutating policy, and of a policy that
    cannot be applied at all, are Deny alone. A failure that `failurePolicy: Ignore` passes over is left out.
    """

    source: str  # "ValidatingAdmissionPolicy replica-limit"
    binding: str
    field: str  # of the policy: "spec.validations[0].expression"; empty if no expression is at fault
    expression: str
    message: str  # what clients are told of it, without the names of policy and binding
    actions: tuple[str, ...]


class CallOutcome(NamedTuple):
    """What the call of a webhook came to, to be counted.

    `code` is 200 for an answer that admits, or that of the refusal, or 0 for an error of the API server itself.
    `error_type` is that of a rejection: no_error for a webhook that denies, calling_webhook_error or
    apiserver_internal_error. Calls whose client has gone are rejected with an empty one, and are not counted as such.
    """

    configuration: str
    webhook: str
    is_mutating: bool
    operation: str
    seconds: float
    code: int = 200
    is_rejected: bool = False
    error_type: str = ""
    failed_open: bool = False


class PolicyCheck(NamedTuple):
    """What metrics count of a policy: a decision that was enforced, or an error that was passed over."""

    policy: str
    binding: str
    action: str  # deny, warn, audit or allow
    error_type: str  # no_error, compile_error, out_of_budget or invalid_error
    seconds: float


class MutationCheck(NamedTuple):
    """What metrics count of a mutation of a policy."""

    policy: str
    binding: str
    error_type: str  # no_error, compile_error, out_of_budget or invalid_error
    seconds: float


class Remarks(msgspec.Struct):
    """The remarks on one request, in order."""

    warnings: list[str] = []
    #: Which of them come from which webhook.
    webhook_warnings: list[WebhookWarning] = []
    audit: dict[str, str] = {}
    changes: list[Change] = []
    failures: list[Failure] = []
    not_called: list[NotCalled] = []
    checks: list[PolicyCheck] = []
    mutations: list[MutationCheck] = []
    calls: list[CallOutcome] = []
