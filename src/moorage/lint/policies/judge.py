"""Ask the policies of the input about its other objects, and keep what they remark. Made when the first one is read.

Kubernetes: what happens to manifests when all of them are applied, policies first.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.chain import Admission
from moorage.admit.extension.attributes import CREATE
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.remarks import Failure, NotCalled
from moorage.admit.extension.steps import Steps
from moorage.admit.plugins import Forbidden
from moorage.admit.raw import Raw, copy_document
from moorage.admit.registry import row_of
from moorage.admit.request import Request, complete_metadata
from moorage.lint.finding import SourcePlace
from moorage.lint.policies.admission import PolicyAnswer, admit_with_policies, request_about, run
from moorage.lint.policies.fields import DENY, field_of, variables_of
from moorage.lint.policies.offline_extensions import FOLLOWED, CallWebhooks, OfflineExtensions
from moorage.lint.policies.parameters import Parameters
from moorage.lint.report.form import Mutation
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.view import View
from moorage.serve.pki.authentication import ADMIN, User

_WARN = "Warn"
_MAX_MUTATIONS = 10_000


class Objection(NamedTuple):
    """What a policy says of an object: the field is empty if it cannot be told."""

    message: str
    hint: str
    field: str


class PolicyJudge:
    """The policies and webhooks of the input so far. `call` calls webhooks; without it they are only counted."""

    def __init__(self, gates: GateSet, call: CallWebhooks | None = None, *, keeps_changes: bool = False) -> None:
        self._parameters = Parameters()
        self.world = OfflineExtensions(gates, self._parameters, lambda kind: False)
        self.not_called: Counter[NotCalled] = Counter()
        self.mutations: list[Mutation] = []
        self._call = None if call is None else partial(self.world.answer, call=call)
        self._keeps_changes = keeps_changes

    def learn(self, kind: Kind, namespace: str, view: View, raw: Raw) -> None:
        """Take in an object that policies may look up, or that is one."""
        if kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
            raw = copy_document(raw)
            row_of(kind).default(raw)
        if kind in FOLLOWED:
            self.world.learn(kind, view, raw)
        if kind is not KINDS.POD and not kind.is_chatty:
            self._parameters.put(kind, namespace, str(raw["metadata"].get("name")), raw)

    def admit(self, chain: Admission, raw: Raw, user: User = ADMIN) -> PolicyAnswer:
        answer = admit_with_policies(chain, raw, user=user, call=self._call)
        self.not_called.update(set(answer.remarks.not_called))
        return answer

    def admit_custom(self, chain: Admission, kind: Kind, raw: Raw) -> PolicyAnswer | None:
        """Ask about an object of a custom kind, which is not validated; None if nothing is about it."""
        extended = request_about(chain, kind, raw, CREATE, ADMIN)
        if extended is None:
            return None
        document = copy_document(raw)
        complete_metadata(document, None, Request(extended.attributes.namespace), namespaced=kind.namespaced)
        result: Admitted | Rejected
        try:
            document = run(_past(extended, document), self._call)
        except (ApiError, Forbidden) as error:
            refusal = error.status if isinstance(error, ApiError) else None
            result = Rejected(kind, extended.attributes.name, refusal=refusal, forbidden=str(error), object=document)
            return PolicyAnswer(result, extended.remarks, is_refusal=True)
        self.not_called.update(set(extended.remarks.not_called))
        return PolicyAnswer(Admitted(document, convert_view(document, kind.view)), extended.remarks)

    def refusal(self, answer: PolicyAnswer, document: Raw) -> Objection:
        """Return the refusal in the API server's words, and the field that it is about."""
        assert isinstance(answer.result, Rejected)
        message = str(answer.result.status["message"])
        for failure in answer.remarks.failures:
            if DENY in failure.actions:
                return self._objection(message, failure, document)
        return Objection(message, "", "")

    def warnings(self, answer: PolicyAnswer, document: Raw) -> Iterator[Objection]:
        """Yield what policies only warn of, and what webhooks do."""
        for failure in answer.remarks.failures:
            if _WARN in failure.actions:
                text = f"{failure.source} with binding {failure.binding} warns: {failure.message}"
                yield self._objection(text, failure, document)
        for warning in answer.remarks.webhook_warnings:
            yield Objection(f"webhook {warning.webhook} warns: {warning.text}", "", "")

    def _objection(self, message: str, failure: Failure, document: Raw) -> Objection:
        expression = failure.expression
        if not expression:
            return Objection(message, "", "")
        hint = "" if expression in message else f"the expression is {' '.join(expression.split())}"
        return Objection(message, hint, field_of(expression, variables_of(failure, self.world), document))

    def keep_changes(self, answer: PolicyAnswer, place: SourcePlace, *, are_pods: bool = False) -> None:
        """Keep what was changed, if it is to be shown."""
        if self._keeps_changes and len(self.mutations) < _MAX_MUTATIONS:
            self.mutations += [
                Mutation(place, are_pods, change.source, change.patch) for change in answer.remarks.changes
            ]


def _past(extended: ExtendedRequest, document: Raw) -> Steps[Raw]:
    changed = yield from extended.change(document, None)
    yield from extended.check(changed, None)
    return changed


def not_called_text(webhook: NotCalled, count: int, extensions: OfflineExtensions) -> str:
    """Say that a webhook would have been called, and what may come of it."""
    objects = "1 object" if count == 1 else f"{count:,} objects"
    if webhook.is_conversion:
        text = f"the conversion webhook of CustomResourceDefinition {webhook.configuration} is not called here"
        return f"{text}; policies and webhooks for other versions saw {objects} with another apiVersion alone"
    kind = "MutatingWebhookConfiguration" if webhook.is_mutating else "ValidatingWebhookConfiguration"
    text = f"webhook {webhook.webhook} of {kind} {webhook.configuration} is not called here"
    change = "change or refuse" if webhook.is_mutating else "refuse"
    fails = extensions.failure_policy(webhook) != "Ignore"
    down = ", and none of them is let in while it does not answer (failurePolicy: Fail)" if fails else ""
    return f"{text}; in a cluster it might {change} {objects}{down}; --call-webhooks calls it"
