"""webhooks.json: webhook configurations, a server of webhooks, requests, and the reviews that the webhooks received."""

import asyncio
import base64
import datetime
import socket
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from tests.conformance.checks.extension.answers import first_difference, without_random
from tests.conformance.checks.extension.cluster import Cluster
from tests.conformance.checks.extension.scripted_webhooks import Received, ScriptedWebhooks
from tests.conformance.checks.platform.comparison import exactly, masked, recorded_form
from tests.conformance.checks.platform.server import Answer

from moorage.serve.pki.authentication import CREDENTIAL_ID
from moorage.serve.pki.certificates import Authority
from moorage.testing.https_server import HttpReply, HttpsServer

Raw = dict[str, Any]

_HOST = "127.0.0.1"
_CONVERSION = "/conv"
_REVIEW_VERSION = "admission.k8s.io/v1"
_OBJECTS = ("object", "oldObject")


class _Place:
    """The server of all cases, and what stands for its address and authorities in them."""

    def __init__(self) -> None:
        self.scripted = ScriptedWebhooks((), self.put)
        server = HttpsServer(self._respond, (_HOST,))
        server.__enter__()  # to the end of the process: its threads keep nothing alive
        other = Authority.create(datetime.datetime.now(datetime.UTC)).issued.certificate
        self.texts = {
            "<webhook>": f"{_HOST}:{server.port}",
            "<closed>": f"{_HOST}:{_closed_port()}",
            "<ca>": server.ca_bundle,
            "<otherca>": base64.b64encode(other).decode(),
        }

    def _respond(self, target: str, body: bytes) -> HttpReply:
        return self.scripted.respond(target, body)

    def put(self, text: str) -> str:
        for mark, value in self.texts.items():
            text = text.replace(mark, value)
        return text

    def marked(self, text: str) -> str:
        for mark, value in self.texts.items():
            text = text.replace(value, mark)
        return text


def _closed_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as bound:
        bound.bind((_HOST, 0))
        port: int = bound.getsockname()[1]
        return port


@cache
def _place() -> _Place:
    return _Place()


def check_webhooks(case: Raw) -> str | None:
    return asyncio.run(_check(case, _place()))


async def _check(case: Raw, place: _Place) -> str | None:
    given: Raw = msgspec.json.decode(place.put(msgspec.json.encode(case["in"]).decode()))
    cluster = await Cluster.started(case["common"])
    place.scripted = scripted = ScriptedWebhooks(given["webhooks"], place.put)
    try:
        if refusal := await cluster.set_up(given["setup"] + given["configurations"]):
            return place.marked(refusal)
        answers, calls = [], []
        for step in given["steps"]:
            scripted.received.clear()
            answers.append(_marked(await cluster.take(step), place))
            calls.append(shown_calls(scripted.received))
    finally:
        cluster.server.api.webhooks.close()
        await asyncio.sleep(0)  # what was closed learns of it
    differences = [_difference(given["steps"], answers, calls, out) for out in case["out"].get("anyOf", [case["out"]])]
    return None if None in differences else differences[0]


def _difference(steps: Sequence[Raw], answers: Sequence[Answer], calls: list[list[Raw]], out: Raw) -> str | None:
    if reason := first_difference(steps, answers, out["steps"]):
        return reason
    for number, (got, want) in enumerate(zip(calls, out["calls"], strict=True)):
        if not exactly(got, want):
            return f"step {number} calls {got}, want {want}"
    return None


def _marked(answer: Answer, place: _Place) -> Answer:
    """Return an answer with marks for the addresses in it."""
    document = msgspec.json.decode(place.marked(msgspec.json.encode(answer.document).decode()))
    audit = {name: place.marked(text) for name, text in answer.audit.items()}
    return Answer(answer.code, document, [place.marked(text) for text in answer.warnings], audit)


def shown_calls(received: Sequence[Received]) -> list[Raw]:
    """Return the reviews of admission: first those that may change the object, in order, then the others by path."""
    calls = [call for call in received if call.path != _CONVERSION]
    changing = [call for call in calls if call.path.startswith("/m")]
    others = sorted((call for call in calls if call not in changing), key=lambda call: call.path)
    return [_shown_call(call) for call in (*changing, *others)]


def _shown_call(call: Received) -> Raw:
    review = msgspec.json.decode(call.body)
    request = {name: value for name, value in review.get("request", {}).items() if name != "uid"}
    if "userInfo" in request:
        request["userInfo"] = _without_credential(request["userInfo"])
    request |= {name: recorded_form(request[name]) for name in _OBJECTS if name in request}
    shown: Raw = {"path": call.path, "request": _masked(without_random(request))}
    if call.query:
        shown["query"] = call.query
    if review.get("apiVersion") != _REVIEW_VERSION:
        shown["apiVersion"] = review.get("apiVersion")
    return shown


def _masked(value: Any) -> Any:
    """Return a request without uids and times, which are also in the preconditions of deletions."""
    if isinstance(value, dict):
        return {name: _masked(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_masked(one) for one in value]
    return masked(value) if isinstance(value, str) else value


def _without_credential(user: Raw) -> Raw:
    extra = {name: values for name, values in user.get("extra", {}).items() if name != CREDENTIAL_ID}
    rest = {name: value for name, value in user.items() if name != "extra"}
    return {**rest, "extra": extra} if extra else rest
