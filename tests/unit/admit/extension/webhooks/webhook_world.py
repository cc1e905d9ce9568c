"""A cluster with webhooks, played by functions: what each is asked, and what it answers."""

import base64
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import msgspec
from tests.unit.admit.extension.plain_world import CONFIG_MAPS, PlainWorld

from moorage.admit.extension.attributes import Attributes, ObjectResource
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import Steps, WebhookAnswer, WebhookCall
from moorage.admit.extension.webhooks.mutating import mutate_by_webhooks
from moorage.admit.extension.webhooks.validating import validate_by_webhooks
from moorage.admit.prepare.kind_defaults import default_mutating_webhooks, default_validating_webhooks
from moorage.admit.raw import Raw
from moorage.model.api_error import internal
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import kept_part
from moorage.model.types.extension.admission_policies import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)

#: What a webhook answers: the response, to which the uid is added, or a whole answer.
Answers = Callable[[WebhookCall], Raw | WebhookAnswer]


class WebhookWorld(PlainWorld):
    """ConfigMaps are read as the API server reads them; widgets are taken as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.changing: list[MutatingWebhookConfiguration] = []
        self.refusing: list[ValidatingWebhookConfiguration] = []
        self.put_namespace("team-a", env="prod")

    def put_mutating(self, name: str, *webhooks: Raw) -> None:
        document = _configuration(name, webhooks)
        default_mutating_webhooks(document)
        self.changing = _by_name(self.changing, convert_view(document, MutatingWebhookConfiguration))
        self.generation += 1

    def put_validating(self, name: str, *webhooks: Raw) -> None:
        document = _configuration(name, webhooks)
        default_validating_webhooks(document)
        self.refusing = _by_name(self.refusing, convert_view(document, ValidatingWebhookConfiguration))
        self.generation += 1

    def mutating_webhooks(self) -> Sequence[MutatingWebhookConfiguration]:
        return self.changing

    def validating_webhooks(self) -> Sequence[ValidatingWebhookConfiguration]:
        return self.refusing

    def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw:
        kind = {"ConfigMap": KINDS.CONFIG_MAP, "Secret": KINDS.SECRET}.get(document["kind"])
        if kind is None:
            return document
        try:
            convert_view(document, kind.view)
        except ConversionError as error:
            raise internal(error.problems[0].reason) from None
        kept: Raw = kept_part(document, kind.view)
        return kept


def _configuration(name: str, webhooks: Sequence[Raw]) -> Raw:
    return {"metadata": {"name": name}, "webhooks": [webhook(f"w{i}") | each for i, each in enumerate(webhooks)]}


def _by_name(others: list[Any], new: Any) -> list[Any]:
    return sorted([*others, new], key=lambda one: str(one.metadata.name))


def webhook(name: str) -> Raw:
    """Return a webhook about all that is done with ConfigMaps."""
    usual: Raw = {
        "name": f"{name}.example.com",
        "rules": [CONFIG_MAPS],
        "clientConfig": {"url": f"https://127.0.0.1:9443/{name}"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    return deepcopy(usual)


def patch_of(*operations: Raw) -> str:
    return base64.b64encode(msgspec.json.encode(operations)).decode()


def patching(*operations: Raw, **fields: Any) -> Raw:
    """Return the response of a webhook that changes the object."""
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch_of(*operations), **fields}


def reviewed(call: WebhookCall, response: Raw) -> WebhookAnswer:
    """Return an answer as a well-made webhook gives it."""
    review = {name: call.review[name] for name in ("apiVersion", "kind")}
    uid = call.review["request"]["uid"]
    return WebhookAnswer(msgspec.to_builtins(review | {"response": {"uid": uid, **response}}))


class Played:
    """The remarks on a request, and the calls that were made for it, in order; those of one list at the same time."""

    def __init__(self, answers: Answers | Raw) -> None:
        self.remarks = Remarks()
        self.calls: list[list[WebhookCall]] = []
        self._answers = answers if callable(answers) else lambda call: answers

    def run(self, steps: Steps[None]) -> None:
        """Run admission to its end. Raises ApiError."""
        try:
            calls = next(steps)
            while True:
                reviews = [call for call in calls if isinstance(call, WebhookCall)]
                if reviews:
                    self.calls.append(deepcopy(reviews))
                calls = steps.send([self._answer(call) for call in reviews])
        except StopIteration:
            pass

    def _answer(self, call: WebhookCall) -> WebhookAnswer:
        answer = self._answers(call)
        return answer if isinstance(answer, WebhookAnswer) else reviewed(call, answer)

    @property
    def called(self) -> list[str]:
        return [call.webhook.partition(".")[0] for calls in self.calls for call in calls]


def mutate(
    world: WebhookWorld, attributes: Attributes, answers: Answers | Raw, reinvocation: Reinvocation | None = None
) -> Played:
    played = Played(answers)
    played.run(mutate_by_webhooks(attributes, world, played.remarks, reinvocation or Reinvocation()))
    return played


def validate(world: WebhookWorld, attributes: Attributes, answers: Answers | Raw) -> Played:
    played = Played(answers)
    played.run(validate_by_webhooks(attributes, world, played.remarks))
    return played
