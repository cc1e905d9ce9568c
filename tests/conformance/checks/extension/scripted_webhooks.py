"""The webhook server of a case: answers as the case lists them, by path and number of the call."""

import base64
import copy
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.testing.https_server import HttpReply

Raw = dict[str, Any]

_REVIEW = "AdmissionReview"
_V2_NAME, _V1_NAME = "width", "size"


class Received(NamedTuple):
    """A call of a webhook."""

    path: str
    query: str
    body: bytes


class ScriptedWebhooks:
    """Answers calls as a case wants its webhooks to, and keeps them. `place` puts addresses into texts."""

    def __init__(self, webhooks: Sequence[Raw], place: Callable[[str], str]) -> None:
        self.received: list[Received] = []
        self._answers = {webhook["path"]: webhook["answers"] for webhook in webhooks}
        self._calls = Counter[str]()
        self._place = place

    def respond(self, target: str, body: bytes) -> HttpReply:
        path, _, query = target.partition("?")
        self.received.append(Received(path, query, body))
        answers = self._answers.get(path)
        if answers is None:
            return HttpReply(404, b"404 page not found\n", "text/plain; charset=utf-8")
        number = self._calls[path]
        self._calls[path] += 1
        answer = answers[min(number, len(answers) - 1)]
        time.sleep(answer.get("delaySeconds", 0))
        location = (("Location", self._place(answer["location"])),) if "location" in answer else ()
        return HttpReply(
            answer.get("status", 200),
            self._body(answer, msgspec.json.decode(body)),
            answer.get("contentType", "application/json"),
            location,
            closes=answer.get("close", False),
        )

    def _body(self, answer: Raw, review: Raw) -> bytes:
        request = review.get("request") or {}
        if "raw" in answer:
            text: str = answer["raw"]
            return text.replace("<uid>", request.get("uid", "")).encode()
        if "location" in answer or "close" in answer:
            return b""
        return msgspec.json.encode(converted(answer, review) if "convert" in answer else reviewed(answer, review))


def reviewed(answer: Raw, review: Raw) -> Raw:
    """Return the AdmissionReview that an answer describes."""
    response = {"uid": review.get("request", {}).get("uid", ""), **answer.get("response", {})}
    if "patch" in answer:
        patch = answer["patch"]
        text = patch.encode() if isinstance(patch, str) else msgspec.json.encode(patch)
        response = {"patchType": "JSONPatch", "patch": base64.b64encode(text).decode(), **response}
    response = {name: value for name, value in response.items() if value is not None}
    outer = {
        "apiVersion": review.get("apiVersion"),
        "kind": _REVIEW,
        "response": response,
        **answer.get("review", {}),
    }
    return {name: value for name, value in outer.items() if value is not None}


def converted(answer: Raw, review: Raw) -> Raw:
    """Return the ConversionReview that an answer describes."""
    how, request = answer["convert"], review["request"]
    wanted = request["desiredAPIVersion"]
    objects = [_CONVERSIONS.get(how, _renamed)(copy.deepcopy(one), wanted) for one in request["objects"]]
    objects = _LISTS[how](objects) if how in _LISTS else objects
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    if how == "failed":
        response |= {"result": answer["result"], "convertedObjects": []}
    elif how == "noUID":
        del response["uid"]
    elif how == "wrongUID":
        response["uid"] = "nope"
    elif how == "noResult":
        del response["result"]
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def _copied(document: Raw, wanted: str) -> Raw:
    return {**document, "apiVersion": wanted}


def _renamed(document: Raw, wanted: str) -> Raw:
    spec = document.get("spec") or {}
    old, new = (_V1_NAME, _V2_NAME) if wanted.endswith("/v2") else (_V2_NAME, _V1_NAME)
    if old in spec:
        spec = {new if name == old else name: value for name, value in spec.items()}
        document = {**document, "spec": spec}
    return _copied(document, wanted)


def _with_metadata(**changes: Any) -> Callable[[Raw, str], Raw]:
    def convert(document: Raw, wanted: str) -> Raw:
        return {**_copied(document, wanted), "metadata": {**document["metadata"], **changes}}

    return convert


def _without_metadata(document: Raw, wanted: str) -> Raw:
    return {name: value for name, value in _renamed(document, wanted).items() if name != "metadata"}


def _invalid(document: Raw, wanted: str) -> Raw:
    spec = _renamed(document, wanted).get("spec") or {}
    return {**_copied(document, wanted), "spec": dict.fromkeys(spec, "text")}


_CONVERSIONS: dict[str, Callable[[Raw, str], Raw]] = {
    "copy": _copied,
    "wrongVersion": lambda document, wanted: {
        **_renamed(document, wanted),
        "apiVersion": f"{wanted.rpartition('/')[0]}/v9",
    },
    "unchanged": lambda document, wanted: document,
    "wrongKind": lambda document, wanted: {**_renamed(document, wanted), "kind": "Other"},
    "changeName": _with_metadata(name="other"),
    "changeLabels": _with_metadata(labels={"converted": "yes"}, annotations={"by": "webhook"}),
    "changeUID": _with_metadata(uid="other"),
    "noMetadata": _without_metadata,
    "invalid": _invalid,
}
_LISTS: dict[str, Callable[[list[Raw]], list[Raw]]] = {
    "drop": lambda objects: objects[:-1],
    "extra": lambda objects: objects[:1] + objects,
}
