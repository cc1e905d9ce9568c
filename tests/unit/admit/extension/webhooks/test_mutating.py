"""Webhooks that change objects: in order, each sees what the earlier ones made, and again if others came after it."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import WIDGETS, config_map, creation
from tests.unit.admit.extension.webhooks.webhook_world import (
    Played,
    WebhookWorld,
    mutate,
    patching,
    reviewed,
    webhook,
)

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Change, Remarks
from moorage.admit.extension.steps import NOT_CALLED, WebhookAnswer, WebhookCall, without_calls
from moorage.admit.extension.webhooks.mutating import mutate_by_webhooks
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError

_ADD = {"op": "add", "path": "/data/p", "value": "1"}
_MUTATION = "mutation.webhook.admission.k8s.io"
_WIDGET: Raw = {"apiVersion": f"{WIDGETS}/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "team-a"}}


def _world(*webhooks: Raw) -> WebhookWorld:
    world = WebhookWorld()
    world.put_mutating("c", *(webhooks or ({},)))
    return world


def _object(data: Any = None) -> Attributes:
    return creation(config_map(data={"a": "x"} if data is None else data))


def _widget(document: Raw, version: str = "v1") -> Attributes:
    resource, kind = ObjectResource(WIDGETS, version, "widgets"), ObjectKind(WIDGETS, version, "Widget")
    return creation({**document, "apiVersion": f"{WIDGETS}/{version}"}, resource=resource, kind=kind)


def _widget_rule(version: str) -> Raw:
    return {"operations": ["*"], "apiGroups": [WIDGETS], "apiVersions": [version], "resources": ["widgets"]}


@pytest.mark.parametrize(
    ("operations", "data"),
    [
        ([_ADD], {"a": "x", "p": "1"}),
        ([{"op": "test", "path": "/data/a", "value": "x"}, _ADD], {"a": "x", "p": "1"}),
        ([{"op": "replace", "path": "/data/nope", "value": "x"}], {"a": "x", "nope": "x"}),
        ([{"op": "copy", "from": "/data/a", "path": "/data/b"}], {"a": "x", "b": "x"}),
        ([{"op": "move", "from": "/data/a", "path": "/data/b"}], {"b": "x"}),
        ([{"op": "add", "path": "/unknown", "value": "x"}], {"a": "x"}),
        ([{"op": "add", "path": "data/x", "value": "1"}], {"a": "x"}),
        ([{"op": "remove", "path": "/kind"}], {"a": "x"}),
        ([{"op": "remove", "path": "/apiVersion"}], {"a": "x"}),
        ([], {"a": "x"}),
    ],
)
def test_patches_change_the_object(operations: list[Raw], data: Raw) -> None:
    attributes = _object()
    mutate(_world(), attributes, patching(*operations))
    assert attributes.object == config_map(data=data)


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "test", "path": "/data/a", "value": "no"}, "testing value /data/a failed: test failed"),
        (
            {"op": "remove", "path": "/data/nope"},
            "error in remove for path: '/data/nope': Unable to remove nonexistent key: nope: missing value",
        ),
        (
            {"op": "add", "path": "/metadata/labels/x", "value": "y"},
            'add operation does not apply: doc is missing path: "/metadata/labels/x": missing value',
        ),
        ({"op": "frob", "path": "/data/a"}, "Unexpected kind: frob"),
        ({"op": 5, "path": "/data/a"}, "Unexpected kind: unknown"),
        ({}, "Unexpected kind: unknown"),
        ({"op": "add", "path": 5}, "add operation failed to decode path: missing value"),
        (
            {"op": "replace", "path": 5},
            "replace operation failed to decode path: json: cannot unmarshal number into Go value of type string",
        ),
        (
            {"op": "move", "path": "/data/b", "from": 5},
            "move operation failed to decode from: json: cannot unmarshal number into Go value of type string",
        ),
        (
            {"op": "add", "path": "/data/n", "value": 5},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            {"op": "replace", "path": "/kind", "value": ["Secret"]},
            "couldn't get version/kind; json parse error: "
            "json: cannot unmarshal array into Go struct field .kind of type string",
        ),
        ({"op": "replace", "path": "/kind", "value": "Secret"}, "illegal base64 data at input byte 0"),
    ],
)
def test_patches_that_do_not_fit_are_internal_errors_whatever_the_policy(operation: Raw, why: str) -> None:
    attributes = _object()
    with pytest.raises(ApiError) as refused:
        mutate(_world({"failurePolicy": "Ignore"}), attributes, patching(operation))
    assert refused.value.status["details"] == {"causes": [{"message": why}]}
    assert (refused.value.code, refused.value.message) == (500, f"Internal error occurred: {why}")
    assert attributes.object == config_map(data={"a": "x"})


def test_an_object_cannot_become_one_of_another_kind() -> None:
    with pytest.raises(ApiError) as refused:
        mutate(_world(), _object({}), patching({"op": "replace", "path": "/kind", "value": "Secret"}))
    text = "converting (v1.Secret) to (core.ConfigMap): unknown conversion"
    assert (refused.value.code, refused.value.reason, refused.value.message) == (500, "", text)


def test_an_object_cannot_become_one_of_an_unknown_kind() -> None:
    with pytest.raises(ApiError) as refused:
        mutate(_world(), _object({}), patching({"op": "replace", "path": "/kind", "value": "Other"}))
    text = 'no kind "Other" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"'
    assert (refused.value.code, refused.value.message) == (500, f"Internal error occurred: {text}")


def test_the_first_field_that_does_not_decode_is_that_of_the_patched_text() -> None:
    patch = patching(
        {"op": "add", "path": "/metadata/labels", "value": {"a": {}}}, {"op": "add", "path": "/data", "value": {"a": 1}}
    )
    with pytest.raises(ApiError, match=r"ConfigMap\.data of type string"):
        mutate(_world(), _object({}), patch)


def test_nothing_can_be_patched_where_there_is_no_object() -> None:
    attributes = creation(config_map(), operation="DELETE", object=None, old=config_map())
    with pytest.raises(ApiError, match="attempted to modify the object, which is not supported for this operation"):
        mutate(_world(), attributes, patching(_ADD))
    assert mutate(_world(), attributes, {"allowed": True}).called == ["w0"]


def test_each_sees_what_the_earlier_ones_made_by_name_and_place() -> None:
    world = WebhookWorld()
    world.put_mutating("b", webhook("b1"))
    world.put_mutating("a", webhook("a1"), webhook("a2"))
    attributes = _object({})

    def answer(call: WebhookCall) -> Raw:
        return patching({"op": "add", "path": "/data", "value": {"by": call.webhook.partition(".")[0]}})

    played = mutate(world, attributes, answer)
    assert [[call.webhook[:2] for call in calls] for calls in played.calls] == [["a1"], ["a2"], ["b1"]]
    seen = [calls[0].review["request"]["object"]["data"] for calls in played.calls]
    assert seen == [{}, {"by": "a1"}, {"by": "a2"}]
    assert attributes.object == config_map(data={"by": "b1"})


def test_a_label_that_is_added_selects_for_those_that_follow() -> None:
    selecting = {"objectSelector": {"matchLabels": {"a": "b"}}}
    add = patching({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}})
    played = mutate(_world({}, selecting), _object(), add)
    assert played.called == ["w0", "w1"]
    assert mutate(_world(selecting, {}), _object(), add).called == ["w1"]


def test_the_first_denial_ends_the_round() -> None:
    def answer(call: WebhookCall) -> Raw:
        return patching(_ADD) if call.webhook.startswith("w0") else {"allowed": False}

    played = Played(answer)
    with pytest.raises(ApiError, match="w1"):
        played.run(mutate_by_webhooks(_object(), _world({}, {}, {}), played.remarks, Reinvocation()))
    assert played.called == ["w0", "w1"]


def test_audit_annotations_tell_who_changed_what() -> None:
    operation = {"path": "/spec", "op": "add", "value": {"b": 1.0, "a": "<&>"}}

    def answer(call: WebhookCall) -> Raw | WebhookAnswer:
        name = call.webhook.partition(".")[0]
        if name == "w2":
            return WebhookAnswer(failure="x")
        return patching(operation) if name == "w1" else {"allowed": True}

    world = _world(*({"rules": [_widget_rule("v1")], "failurePolicy": "Ignore"} for _ in range(3)))
    names = [f'{{"configuration":"c","webhook":"w{i}.example.com"' for i in range(3)]
    patch = r'[{"op":"add","path":"/spec","value":{"b":1.0,"a":"\u003c\u0026\u003e"}}]'
    assert mutate(world, _widget(_WIDGET), answer).remarks.audit == {
        f"{_MUTATION}/round_0_index_0": f'{names[0]},"mutated":false}}',
        f"{_MUTATION}/round_0_index_1": f'{names[1]},"mutated":true}}',
        "patch.webhook.admission.k8s.io/round_0_index_1": f'{names[1]},"patch":{patch},"patchType":"JSONPatch"}}',
        f"{_MUTATION}/round_0_index_2": f'{names[2]},"mutated":false}}',
        f"failed-open.{_MUTATION}/round_0_index_2": "w2.example.com",
    }


@pytest.mark.parametrize(
    ("operations", "is_changed"),
    [
        ([_ADD], True),
        ([{"op": "replace", "path": "/data/a", "value": "x"}], False),
        ([{"op": "add", "path": "/unknown", "value": "x"}], False),
        ([{"op": "add", "path": "/metadata/labels", "value": {}}], False),
        ([{"op": "add", "path": "/metadata/finalizers", "value": []}], False),
        ([{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"]}], True),
        ([{"op": "add", "path": "/immutable", "value": False}], True),
        ([{"op": "remove", "path": "/data/a"}], True),
    ],
)
def test_a_change_is_what_go_sees_as_one(operations: list[Raw], is_changed: bool) -> None:
    reinvocation = Reinvocation()
    played = mutate(_world(), _object(), patching(*operations), reinvocation)
    text = played.remarks.audit[f"{_MUTATION}/round_0_index_0"]
    assert text.endswith(f'"mutated":{str(is_changed).lower()}}}')
    source = "MutatingWebhookConfiguration c, webhook w0.example.com"
    assert played.remarks.changes == ([Change(source, "", tuple(operations))] if is_changed else [])
    assert reinvocation.is_needed is is_changed


_OWNERS = [{"manager": "m", "time": "2026-01-01T00:00:00Z"}]


@pytest.mark.parametrize(
    ("owners", "old_owners", "mutated"),
    [(_OWNERS, [], ["true", "false"]), (_OWNERS, _OWNERS, ["false", "false"]), ([], [], ["false", "false"])],
)
def test_the_first_patch_changes_the_times_of_this_request(
    owners: list[Raw], old_owners: list[Raw], mutated: list[str]
) -> None:
    document, old = config_map(managedFields=owners), config_map(managedFields=old_owners)
    played = mutate(_world({}, {}), creation(document, operation="UPDATE", old=old), _same_patch)
    texts = [played.remarks.audit[f"{_MUTATION}/round_0_index_{index}"] for index in (0, 1)]
    assert [text.rpartition(":")[2].rstrip("}") for text in texts] == mutated


def _same_patch(call: WebhookCall) -> Raw:
    return patching({"op": "replace", "path": "/metadata/name", "value": "c"})


def test_what_a_default_puts_back_was_changed_all_the_same() -> None:
    class Defaulting(WebhookWorld):
        def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw:
            return {**document, "data": {"a": "x", **document.get("data", {})}}

    world = Defaulting()
    world.put_mutating("c", {})
    attributes = _object()
    played = mutate(world, attributes, patching({"op": "remove", "path": "/data/a"}))
    assert attributes.object == config_map(data={"a": "x"})
    assert len(played.remarks.changes) == 1


def _rounds(world: WebhookWorld, attributes: Attributes, answers: Any) -> Played:
    """Run the first round, and the second if one is needed."""
    played, reinvocation = Played(answers), Reinvocation()
    played.run(mutate_by_webhooks(attributes, world, played.remarks, reinvocation))
    if reinvocation.is_needed:
        reinvocation.is_second = True
        played.run(mutate_by_webhooks(attributes, world, played.remarks, reinvocation))
    return played


@pytest.mark.parametrize(
    ("policies", "changing", "called"),
    [
        (["IfNeeded", "Never"], ["w1"], ["w0", "w1", "w0"]),
        (["Never", "Never"], ["w1"], ["w0", "w1"]),
        (["IfNeeded", "IfNeeded"], ["w0"], ["w0", "w1"]),
        (["IfNeeded", "IfNeeded"], ["w1"], ["w0", "w1", "w0"]),
        (["IfNeeded", "IfNeeded"], ["w0", "w1"], ["w0", "w1", "w0", "w1"]),
        (["IfNeeded", "IfNeeded"], [], ["w0", "w1"]),
    ],
)
def test_webhooks_are_called_again_if_others_changed_the_object_since(
    policies: list[str], changing: list[str], called: list[str]
) -> None:
    calls: dict[str, int] = {}

    def answer(call: WebhookCall) -> Raw:
        name = call.webhook.partition(".")[0]
        calls[name] = calls.get(name, 0) + 1
        if name not in changing:
            return {"allowed": True}
        return patching({"op": "add", "path": f"/data/{name}", "value": str(calls[name])})

    world = _world(*({"reinvocationPolicy": policy} for policy in policies))
    played = _rounds(world, _object(), answer)
    assert played.called == called
    rounds = {key.partition("/")[2][:7] for key in played.remarks.audit if key.startswith("mutation")}
    assert rounds == ({"round_0", "round_1"} if len(called) > 2 else {"round_0"})


def test_a_patch_of_another_version_comes_back_in_that_of_the_request() -> None:
    attributes = _widget(_WIDGET, "v1beta1")
    add = patching({"op": "add", "path": "/spec", "value": {}})
    played = mutate(_world({"rules": [_widget_rule("v1")]}), attributes, add)
    assert played.calls[0][0].review["request"]["object"]["apiVersion"] == f"{WIDGETS}/v1"
    assert attributes.object == {**_WIDGET, "apiVersion": f"{WIDGETS}/v1beta1", "spec": {}}


def test_what_cannot_be_converted_is_an_internal_error() -> None:
    attributes = _widget({**_WIDGET, "metadata": {"name": "stubborn", "namespace": "team-a"}})
    with pytest.raises(ApiError) as refused:
        mutate(_world({"rules": [_widget_rule("v1beta1")]}), attributes, {"allowed": True})
    assert refused.value.message == "Internal error occurred: Internal error occurred: conversion failed"


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_webhooks_that_are_not_called_change_nothing(policy: str) -> None:
    attributes, remarks = _object(), Remarks()
    world = _world({"failurePolicy": policy}, {"failurePolicy": policy})
    without_calls(mutate_by_webhooks(attributes, world, remarks, Reinvocation()))
    assert [each.webhook for each in remarks.not_called] == ["w0.example.com", "w1.example.com"]
    assert (remarks.calls, remarks.audit, attributes.object) == ([], {}, config_map(data={"a": "x"}))


def test_some_may_be_called_and_others_not() -> None:
    attributes = _object()

    def answer(call: WebhookCall) -> WebhookAnswer:
        return NOT_CALLED if call.webhook.startswith("w0") else reviewed(call, patching(_ADD))

    mutate(_world({}, {}), attributes, answer)
    assert attributes.object == config_map(data={"a": "x", "p": "1"})


def test_the_object_before_a_patch_stays_as_it_is() -> None:
    attributes = _object()
    before = attributes.object
    mutate(_world(), attributes, patching(_ADD))
    assert before == config_map(data={"a": "x"})
