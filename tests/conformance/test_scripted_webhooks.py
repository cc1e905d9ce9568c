"""The webhook server of webhooks.json: what it answers to which call."""

import base64
import json
from typing import Any

import pytest
from tests.conformance.checks.extension.scripted_webhooks import ScriptedWebhooks, converted, reviewed
from tests.conformance.checks.extension.webhooks import shown_calls

Raw = dict[str, Any]

REVIEW: Raw = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "name": "c"}}
CONVERSION: Raw = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "ConversionReview",
    "request": {
        "uid": "u",
        "desiredAPIVersion": "x/v2",
        "objects": [
            {"apiVersion": "x/v1", "kind": "G", "metadata": {"name": name}, "spec": {"size": size}}
            for name, size in (("a", 1), ("b", 2))
        ],
    },
}


def scripted(*answers: Raw) -> ScriptedWebhooks:
    return ScriptedWebhooks([{"path": "/m1", "answers": list(answers)}], lambda text: text.replace("<webhook>", "here"))


def test_answers_come_in_their_order_and_the_last_is_repeated() -> None:
    webhooks = scripted({"response": {"allowed": True}}, {"response": {"allowed": False}})
    replies = [webhooks.respond("/m1?timeout=5s", json.dumps(REVIEW).encode()) for _ in range(3)]
    responses = [json.loads(reply.body)["response"] for reply in replies]
    assert responses == [{"uid": "u", "allowed": allowed} for allowed in (True, False, False)]
    assert shown_calls(webhooks.received)[0] == {"path": "/m1", "query": "timeout=5s", "request": {"name": "c"}}


def test_paths_without_a_webhook_are_not_found() -> None:
    assert scripted().respond("/other", b"{}").status == 404


def test_answers_may_be_redirections_or_none() -> None:
    webhooks = scripted({"location": "https://<webhook>/m2", "status": 307}, {"close": True})
    first, second = (webhooks.respond("/m1", json.dumps(REVIEW).encode()) for _ in range(2))
    assert (first.status, first.headers) == (307, (("Location", "https://here/m2"),))
    assert second.closes


def test_a_patch_is_put_into_the_response() -> None:
    patch = [{"op": "remove", "path": "/data"}]
    response = reviewed({"patch": patch, "response": {"allowed": True, "uid": None}}, REVIEW)["response"]
    assert json.loads(base64.b64decode(response["patch"])) == patch
    assert response["patchType"] == "JSONPatch"
    assert "uid" not in response


@pytest.mark.parametrize(
    ("how", "objects"),
    [
        ("rename", [("a", "x/v2", {"width": 1}), ("b", "x/v2", {"width": 2})]),
        ("copy", [("a", "x/v2", {"size": 1}), ("b", "x/v2", {"size": 2})]),
        ("unchanged", [("a", "x/v1", {"size": 1}), ("b", "x/v1", {"size": 2})]),
        ("drop", [("a", "x/v2", {"width": 1})]),
        ("wrongVersion", [("a", "x/v9", {"width": 1}), ("b", "x/v9", {"width": 2})]),
        ("changeName", [("other", "x/v2", {"size": 1}), ("other", "x/v2", {"size": 2})]),
        ("invalid", [("a", "x/v2", {"width": "text"}), ("b", "x/v2", {"width": "text"})]),
    ],
)
def test_conversions(how: str, objects: list[tuple[str, str, Raw]]) -> None:
    response = converted({"convert": how}, CONVERSION)["response"]
    shown = [(one["metadata"]["name"], one["apiVersion"], one["spec"]) for one in response["convertedObjects"]]
    assert shown == objects
