"""Our API server with the webhook of attach, which is asked without a wire: every call is noted with its result."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
from tests.unit.serve.access.test_rbac_requests import ask, handler_of
from tests.unit.serve.verbs.bench import new_api

from moorage.admit.extension.steps import WebhookAnswer, WebhookCall
from moorage.attach.decisions import to_be_lowered, to_be_mirrored
from moorage.attached import names
from moorage.attached.webhook.configuration import WebhookPlace, webhook_configurations
from moorage.attached.webhook.reviews import Decide, answer_review, read_review
from moorage.serve.requests.handler import Handler
from moorage.serve.verbs.api import Api

Raw = dict[str, Any]
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PLACE = WebhookPlace(url="https://127.0.0.1:9443")
_DECISIONS: dict[str, Decide] = {
    names.LOWER_PATH: lambda document, old, subresource, groups: to_be_lowered(document, old),
    names.MIRROR_PATH: to_be_mirrored,
}


class Called(NamedTuple):
    """A call of a webhook."""

    webhook: str
    operation: str
    kind: str
    result: str


class Calls(list[Called]):
    """Takes the place of the webhook client of `api`. While it `is_down` nothing answers."""

    is_down = False

    def __init__(self, api: Api) -> None:
        super().__init__()
        self.api = api
        api.webhooks = self  # type: ignore[assignment]

    async def answer(self, calls: Sequence[WebhookCall]) -> list[WebhookAnswer]:
        return [self._answered(call) for call in calls]

    def close(self) -> None:
        pass

    def _answered(self, call: WebhookCall) -> WebhookAnswer:
        if self.is_down:
            return WebhookAnswer(failure="failed to call webhook: connection refused")
        request = read_review(msgspec.json.encode(call.review))
        path = "/" + str(call.client.url).rpartition("/")[2]
        answer = answer_review(request, _DECISIONS[path])
        assert request.kind is not None
        self.append(Called(call.webhook, request.operation, request.kind.kind, str(answer.result)))
        return WebhookAnswer(review=msgspec.json.decode(answer.body))

    def taken(self) -> list[Called]:
        """Return the calls until now, and forget them."""
        made = list(self)
        self.clear()
        return made


@asynccontextmanager
async def attached(*others: Raw) -> AsyncIterator[tuple[Handler, Calls]]:
    """`others` are objects of admissionregistration.k8s.io that are there as well."""
    async with new_api() as api:
        handler, calls = await handler_of(api), Calls(api)
        for document in (*webhook_configurations(PLACE), *others):
            plural = f"{document['kind'].lower().removesuffix('y')}{'ies' if document['kind'].endswith('y') else 's'}"
            made = await ask(handler, "POST", f"/apis/admissionregistration.k8s.io/v1/{plural}", document)
            assert made["code"] == 201, made
        yield handler, calls
