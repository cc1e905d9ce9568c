"""Webhooks: those are called that a naive reading of their configurations calls, and no answer breaks admission."""

import base64
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.admit.extension.plain_world import WIDGETS, config_map, creation
from tests.unit.admit.extension.webhooks.webhook_world import WebhookWorld, mutate, validate

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.steps import WebhookAnswer, WebhookCall
from moorage.admit.extension.webhooks.failures import CallFailed
from moorage.admit.extension.webhooks.reading import read_review
from moorage.admit.extension.world import ServedVersion
from moorage.admit.raw import Raw
from moorage.admit.request import Request, complete_metadata
from moorage.model.api_error import ApiError

_NAMESPACES = {"prod": {"env": "prod"}, "dev": {"env": "dev"}, "bare": {}}
_LABELS = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"]), max_size=2)
_OPERATIONS = ["CREATE", "UPDATE", "DELETE"]


def _some(*values: str) -> st.SearchStrategy[list[str]]:
    return st.one_of(st.just(["*"]), st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True))


_RULES = st.fixed_dictionaries(
    {
        "operations": _some(*_OPERATIONS),
        "apiGroups": _some("", WIDGETS),
        "apiVersions": _some("v1", "v1beta1"),
        "resources": _some("widgets", "configmaps", "widgets/scale", "*/scale", "*/*", "widgets/*"),
        "scope": st.sampled_from(["*", "Namespaced", "Cluster"]),
    }
)
_CONDITIONS: dict[str, Callable[[Attributes], bool]] = {
    "true": lambda request: True,
    "request.operation == 'CREATE'": lambda request: request.operation == "CREATE",
    "has(request.namespace) && request.namespace == 'prod'": lambda request: request.namespace == "prod",
}
_WEBHOOKS = st.fixed_dictionaries(
    {
        "rules": st.lists(_RULES, max_size=2),
        "matchPolicy": st.sampled_from(["Exact", "Equivalent"]),
        "namespaceSelector": st.fixed_dictionaries(
            {"matchLabels": st.dictionaries(st.just("env"), st.sampled_from(["prod", "dev"]), max_size=1)}
        ),
        "objectSelector": st.fixed_dictionaries({"matchLabels": _LABELS}),
        "matchConditions": st.lists(st.sampled_from(list(_CONDITIONS)), max_size=2).map(
            lambda expressions: [{"name": f"c{i}", "expression": each} for i, each in enumerate(expressions)]
        ),
    }
)


def _request(
    operation: str, resource: str, version: str, subresource: str, namespace: str, labels: Raw, old_labels: Raw
) -> Attributes:
    group, kind = (WIDGETS, "Widget") if resource == "widgets" else ("", "ConfigMap")
    version = version if group else "v1"
    of_object = ObjectKind("autoscaling", "v1", "Scale") if subresource and group else ObjectKind(group, version, kind)
    api_version = f"{of_object.group}/{of_object.version}" if of_object.group else of_object.version

    def document(labels: Raw) -> Raw:
        metadata = {"name": "o", "namespace": namespace, "labels": labels}
        return {"apiVersion": api_version, "kind": of_object.kind, "metadata": metadata}

    return Attributes(
        operation,
        ObjectResource(group, version, resource),
        of_object,
        namespace=namespace,
        name="o",
        subresource=subresource,
        object=None if operation == "DELETE" else document(labels),
        old=None if operation == "CREATE" else document(old_labels),
    )


_REQUESTS = st.builds(
    _request,
    st.sampled_from(_OPERATIONS),
    st.sampled_from(["widgets", "configmaps"]),
    st.sampled_from(["v1", "v1beta1"]),
    st.sampled_from(["", "scale"]),
    st.sampled_from(["", *_NAMESPACES]),
    _LABELS,
    _LABELS,
)


def _is_in(value: str, values: list[str]) -> bool:
    return "*" in values or value in values


def _is_subset(selector: Raw, labels: Raw) -> bool:
    return all(labels.get(name) == value for name, value in selector["matchLabels"].items())


def _naive_rule(rule: Raw, request: Attributes, version: str) -> bool:
    def names(text: str) -> bool:
        resource, _, part = text.partition("/")
        return resource in ("*", request.resource.resource) and part in ("*", request.subresource)

    return (
        _is_in(request.operation, rule["operations"])
        and _is_in(request.resource.group, rule["apiGroups"])
        and _is_in(version, rule["apiVersions"])
        and any(map(names, rule["resources"]))
        and rule["scope"] in ("*", "Namespaced" if request.namespace else "Cluster")
    )


def naively_called(webhooks: list[Raw], request: Attributes) -> list[str]:
    """Return the names of the webhooks that are called, by going through all of them."""
    versions = ["v1", "v1beta1"] if request.resource.group else [request.resource.version]
    labels = [each["metadata"]["labels"] for each in (request.object, request.old) if each is not None]
    called = []
    for index, webhook in enumerate(webhooks):
        served = versions if webhook["matchPolicy"] == "Equivalent" else [request.resource.version]
        if (
            any(_naive_rule(rule, request, version) for rule in webhook["rules"] for version in served)
            and (not request.namespace or _is_subset(webhook["namespaceSelector"], _NAMESPACES[request.namespace]))
            and any(_is_subset(webhook["objectSelector"], each) for each in labels)
            and all(_CONDITIONS[condition["expression"]](request) for condition in webhook["matchConditions"])
        ):
            called.append(f"w{index}")
    return called


class _OneVersion(WebhookWorld):
    """A world that does not know that versions of a resource are the same objects."""

    def served_versions(self, resource: ObjectResource, subresource: str) -> list[ServedVersion]:
        return []


def _law_of_called_webhooks(make_world: Callable[[], WebhookWorld]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.lists(_WEBHOOKS, max_size=4), st.lists(_REQUESTS, min_size=1, max_size=3))
    def law(webhooks: list[Raw], requests: list[Attributes]) -> None:
        world = make_world()
        for name, labels in _NAMESPACES.items():
            world.put_namespace(name, **labels)
        world.put_validating("c", *webhooks)
        world.put_mutating("c", *webhooks)
        for request in requests:
            expected = naively_called(webhooks, request)
            assert validate(world, request, {"allowed": True}).called == expected
            assert mutate(world, request, {"allowed": True}).called == expected

    return law


def test_the_webhooks_are_called_that_match() -> None:
    _law_of_called_webhooks(WebhookWorld)()


def test_the_law_notices_versions_that_are_not_known_to_be_the_same() -> None:
    assert_notices(_law_of_called_webhooks(_OneVersion))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_POINTERS = st.sampled_from(
    [
        "/metadata",
        "/metadata/labels",
        "",
        "/",
        "/kind",
        "/apiVersion",
        "/metadata/labels/x",
        "/metadata/namespace",
        "/metadata/generateName",
        "/metadata/finalizers",
        "/data",
        "/data/k",
        "/a/-",
        "/immutable",
        "/binaryData",
    ]
)


def _often(usual: Any) -> st.SearchStrategy[Any]:
    """Return a value that makes sense, or one time in ten anything."""
    sensible = usual if isinstance(usual, st.SearchStrategy) else st.just(usual)
    return st.integers(0, 9).flatmap(lambda number: _JSON if number == 9 else sensible)


_AS_SENT = "as sent"  # stands for the value of the review
_PATCHES = st.lists(
    st.fixed_dictionaries(
        {
            "op": _often(st.sampled_from(["add", "replace", "copy", "move", "remove", "test"])),
            "path": _often(_POINTERS),
            "value": _JSON,
        },
        optional={"from": _often(_POINTERS)},
    ),
    min_size=1,
    max_size=4,
).map(lambda patch: base64.b64encode(msgspec.json.encode(patch)).decode())
_STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "code": _often(st.integers(-1, 1000)),
        "message": _often("m"),
        "reason": _often("r"),
        "status": _often("Success"),
        "details": _often(st.fixed_dictionaries({"causes": _JSON, "retryAfterSeconds": _JSON})),
        "metadata": _JSON,
    },
)
_RESPONSES = st.fixed_dictionaries(
    {"allowed": _often(st.sampled_from([True, True, False])), "uid": _often(_AS_SENT)},
    optional={
        "patch": _often(_PATCHES),
        "patchType": _often("JSONPatch"),
        "status": _often(_STATUSES),
        "warnings": _often(st.lists(st.text(max_size=5), max_size=2)),
        "auditAnnotations": _often(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)),
    },
)
_ANSWERS = st.fixed_dictionaries(
    {
        "apiVersion": _often(_AS_SENT),
        "kind": _often("AdmissionReview"),
        "response": _often(_RESPONSES),
    },
    optional={"request": _JSON},
)


def _answered(answer: Any) -> Callable[[WebhookCall], WebhookAnswer]:
    def reply(call: WebhookCall) -> WebhookAnswer:
        document = msgspec.json.decode(msgspec.json.encode(answer))
        if isinstance(document, dict):
            _take_over(document, "apiVersion", call.review)
            if isinstance(document.get("response"), dict):
                _take_over(document["response"], "uid", call.review["request"])
        return WebhookAnswer(document)

    return reply


def _take_over(document: Raw, name: str, sent: Raw) -> None:
    if document.get(name) == _AS_SENT:
        document[name] = sent[name]


class _Hasty(WebhookWorld):
    """A world that reads documents without looking at them first."""

    def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw:
        document["metadata"].setdefault("labels", {})
        return document


def _raised(world: WebhookWorld, attributes: Attributes, answer: Any, *, is_mutating: bool) -> Exception | None:
    try:
        (mutate if is_mutating else validate)(world, attributes, _answered(answer))
    except Exception as raised:
        return raised
    return None


def _law_of_answers(make_world: Callable[[], WebhookWorld]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_often(_ANSWERS), st.sampled_from(["Fail", "Ignore"]), st.sampled_from(["v1", "v1beta1"]))
    def law(answer: Any, policy: str, version: str) -> None:
        for is_mutating in (True, False):
            world, attributes = make_world(), creation(config_map(data={"k": "v"}))
            put = world.put_mutating if is_mutating else world.put_validating
            put("c", {"failurePolicy": policy, "admissionReviewVersions": [version]})
            raised = _raised(world, attributes, answer, is_mutating=is_mutating)
            assert raised is None or isinstance(raised, ApiError)
            assert raised is None or (raised.code >= 400 and msgspec.json.encode(raised.status))
            assert attributes.object is not None
            assert attributes.object["kind"] == "ConfigMap"

    return law


def test_no_answer_raises_anything_but_a_refusal() -> None:
    _law_of_answers(WebhookWorld)()


def test_the_law_notices_other_errors() -> None:
    assert_notices(_law_of_answers(_Hasty))


@LAW_SETTINGS
@given(
    st.one_of(
        st.binary(max_size=30),
        _JSON.map(msgspec.json.encode),
        st.text(alphabet="{}[]:,-\"'&*!|> \na1", max_size=20).map(str.encode),
    )
)
def test_no_body_raises_anything_but_a_failure(body: bytes) -> None:
    document, failed = _read(body)
    assert failed is None or failed.reason.startswith("failed to call webhook: ")
    assert document is None or isinstance(document, dict)


def _read(body: bytes) -> tuple[Any, CallFailed | None]:
    try:
        return read_review(body), None
    except CallFailed as failed:
        return None, failed


_METADATA = st.fixed_dictionaries(
    {"name": st.just("a")},
    optional={
        "uid": st.sampled_from(["", "u1", "u2"]),
        "resourceVersion": st.sampled_from(["", "1"]),
        "generation": st.integers(0, 3),
        "creationTimestamp": st.sampled_from([None, "2026-01-02T03:04:05Z"]),
        "deletionGracePeriodSeconds": st.integers(0, 2),
        "labels": st.dictionaries(st.sampled_from("ab"), st.just("x"), max_size=2),
    },
)
Complete = Callable[..., None]


def _law_of_updates(complete: Complete) -> Callable[[], None]:
    """Webhooks and policies see the metadata of an update as they were sent; what is stored is the same either way."""

    @LAW_SETTINGS
    @given(_METADATA, _METADATA)
    def law(sent: Raw, stored: Raw) -> None:
        old = {"metadata": {**stored, "namespace": "default"}}
        shown, at_once = {"metadata": dict(sent)}, {"metadata": dict(sent)}
        complete(shown, old, Request(), namespaced=True, stamps=False)
        assert all(value == sent.get(name) for name, value in shown["metadata"].items() if name != "namespace")
        complete(shown, old, Request(), namespaced=True, wipes=False)
        complete(at_once, old, Request(), namespaced=True)
        assert shown == at_once

    return law


def _too_early(new: Raw, old: Raw, request: Request, *, namespaced: bool, **_: bool) -> None:
    """Broken: what an update may not change is put back before anyone has seen what was sent."""
    complete_metadata(new, old, request, namespaced=namespaced)


test_updates_are_seen_as_they_were_sent = _law_of_updates(complete_metadata)


def test_the_law_notices_metadata_that_are_put_back_too_early() -> None:
    assert_notices(_law_of_updates(_too_early))
