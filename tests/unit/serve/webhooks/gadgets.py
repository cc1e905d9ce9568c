"""Gadgets, custom objects of two versions between which a webhook converts that is a function."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.unit.serve.verbs.bench import ME

from moorage.model.kinds import KINDS
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.serve.webhooks.client import WebhookClient

Raw = dict[str, Any]
GROUP = "conv.example.com"


def rename(document: Raw, version: str) -> Raw:
    """Convert gadgets: `width` of v2 is `size` of v1."""
    old, new = ("size", "width") if version.endswith("v2") else ("width", "size")
    return {**document, "spec": {new: document["spec"].get(old, 0)}}


class FakeWebhooks(WebhookClient):
    """Answers reviews without a network. `calls` are how many objects each had."""

    def __init__(self, answer: Callable[[Raw], Any]) -> None:
        super().__init__()
        self.calls: list[int] = []
        self._fake = answer

    async def post(self, client: Any, review: Any, query: str, seconds: float, max_answer_bytes: int) -> Any:
        assert query == ""
        self.calls.append(len(review["request"]["objects"]))
        await asyncio.sleep(0)
        return self._fake(review)


def converting(review: Raw) -> Raw:
    request = review["request"]
    version = request["desiredAPIVersion"]
    objects = [{**rename(one, version), "apiVersion": version} for one in request["objects"]]
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def definition(client: Raw, versions: tuple[str, ...] = ("v1",)) -> Raw:
    def version(name: str, field: str, storage: bool) -> Raw:
        spec = {"type": "object", "properties": {field: {"type": "integer"}}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": storage, "schema": schema}

    names = {"kind": "Gadget", "listKind": "GadgetList", "plural": "gadgets", "singular": "gadget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced",
            "versions": [version("v1", "size", True), version("v2", "width", False)],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": client, "conversionReviewVersions": list(versions)},
            },
        },
    }


async def defined(api: Api, answer: Callable[[Raw], Any] = converting, **rest: Any) -> tuple[FakeWebhooks, Any, Any]:
    """Define gadgets. Return the webhook and the kinds of both versions."""
    fake = FakeWebhooks(answer)
    api.converter._client = fake
    await create(api, KINDS.CUSTOM_RESOURCE_DEFINITION, "", definition({"url": "https://x.example.com/"}, **rest), ME)
    v1, v2 = (api.resources.find(GROUP, version, "gadgets") for version in ("v1", "v2"))
    assert type(v1) is type(v2) is ServedKind
    return fake, v1, v2


def gadget(version: str, name: str, **spec: int) -> Raw:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}
