"""Requests on custom objects that a real API server refuses, with its words."""

from typing import Any

import pytest
from tests.conformance.checks.platform.server import Answer, PlatformServer
from tests.conformance.checks.platform.steps import Resource, take_step

Raw = dict[str, Any]

GROUP = "refusals.example.com"
WIDGETS = Resource(GROUP, "widgets", "default")
_SPEC: Raw = {"type": "object", "properties": {"a": {"type": "string"}, "replicas": {"type": "integer"}}}
_STATUS: Raw = {"type": "object", "properties": {"n": {"type": "integer"}}}
_SCHEMA: Raw = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}}
_SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.n"}
_VERSION: Raw = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": _SCHEMA,
    "subresources": {"status": {}, "scale": _SCALE},
}
DEFINITION: Raw = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [_VERSION, {**_VERSION, "name": "v1beta1", "storage": False, "deprecated": True}],
    },
}


def widget(version: str = "v1", **fields: Any) -> Raw:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": "w"}, **fields}


def scale(**fields: Any) -> Raw:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w"}, **fields}


async def answers(*steps: Raw) -> list[Answer]:
    server = await PlatformServer.started("default")
    assert (await server.post(DEFINITION)).code == 201
    return [await take_step(server, {"name": "w", **step}, WIDGETS) for step in steps]


CREATE = {"op": "create", "body": widget(spec={"a": "x"})}
NO_SCALE = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        (
            {"op": "patch", "body": {"metadata": {"resourceVersion": None}}},
            422,
            f'widgets.{GROUP} "w" is invalid: metadata.resourceVersion: Invalid value: 0: '
            "must be specified for an update",
        ),
        (
            {"op": "patch", "body": {"metadata": {"resourceVersion": "x"}}},
            400,
            'strconv.ParseUint: parsing "x": invalid syntax',
        ),
        (
            {"op": "patch", "body": {"metadata": {"uid": "q"}}},
            422,
            f'Widget.{GROUP} "w" is invalid: metadata.uid: Invalid value: "q": field is immutable',
        ),
        (
            {"op": "patch", "body": {"apiVersion": None}},
            400,
            "Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ),
        (
            {"op": "apply", "fieldManager": "me", "body": {**widget(), "metadata": {"name": "v"}}},
            400,
            "the name of the object (v) does not match the name on the URL (w)",
        ),
        (
            {"op": "apply", "fieldManager": "me", "body": {"kind": "Widget", "metadata": {"name": "w"}}},
            400,
            "invalid object type: /, Kind=Widget",
        ),
        (
            {"op": "create", "body": {**widget("v2"), "metadata": 1}},
            400,
            'Widget in version "v2" cannot be handled as a Widget: '
            "json: cannot unmarshal number into Go value of type v1.ObjectMeta",
        ),
        ({"op": "update", "subresource": "scale", "body": scale(spec={"replicas": "x"})}, 400, NO_SCALE),
        (
            {"op": "patch", "subresource": "scale", "body": {"status": {"replicas": 5}}},
            400,
            'the spec replicas field ".spec.replicas" cannot be empty',
        ),
    ],
)
async def test_refusals_have_the_words_of_a_real_server(step: Raw, code: int, message: str) -> None:
    _, answer = await answers(CREATE, step)
    assert (answer.code, answer.document["message"]) == (code, message)


async def test_a_patch_that_removes_the_kind_shows_the_patched_object() -> None:
    _, answer = await answers(CREATE, {"op": "patch", "body": {"kind": None}})
    (cause,) = answer.document["details"]["causes"]
    assert (answer.code, cause["field"]) == (422, "patch")
    assert "Object 'Kind' is missing in '{\"apiVersion\"" in cause["message"]


async def test_a_patch_that_makes_no_scale_shows_the_scale_with_its_owners() -> None:
    replicas = {"op": "create", "body": widget(spec={"replicas": 1})}
    _, answer = await answers(replicas, {"op": "patch", "subresource": "scale", "body": {"spec": {"replicas": "x"}}})
    text = answer.document["message"].replace("\\", "")
    assert answer.code == 422
    assert text.startswith(' "" is invalid: patch: Invalid value: "{"apiVersion":"autoscaling/v1","kind":"Scale",')
    assert '"fieldsV1":{"f:spec":{"f:replicas":{}}}}]},"spec":{"replicas":"x"},"status":{"replicas":0}}' in text
    assert text.endswith("json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32")


async def test_unknown_fields_of_a_scale_are_warned_about() -> None:
    steps = [
        {"op": "patch", "subresource": "scale", "body": {"spec": {"replicas": 2, "x": 1}}},
        {"op": "update", "subresource": "scale", "body": {**scale(spec={"x": 1}), "metadata": {"name": "v"}}},
    ]
    found = [(answer.code, answer.warnings) for answer in (await answers(CREATE, *steps))[1:]]
    assert found == [(200, ['unknown field "spec.x"']), (400, ['unknown field "spec.x"'])]


async def test_a_deprecated_version_is_warned_about_when_a_request_is_refused() -> None:
    (answer,) = await answers({"op": "create", "version": "v1beta1", "body": widget("v1beta1", spec=1)})
    assert answer.code == 422
    assert answer.warnings == [f"{GROUP}/v1beta1 Widget is deprecated; use {GROUP}/v1 Widget"]


async def test_null_labels_are_empty() -> None:
    body = {**widget(), "metadata": {"name": "w", "labels": {"x": None}}}
    (answer,) = await answers({"op": "create", "body": body})
    assert answer.document["metadata"]["labels"] == {"x": ""}


async def test_a_status_write_with_a_spec_of_other_types_removes_the_owners() -> None:
    status = {"op": "update", "subresource": "status", "body": widget(spec={"a": 1}, status={"n": 1})}
    created, written = await answers(CREATE, status)
    assert created.document["metadata"]["managedFields"]
    assert "managedFields" not in written.document["metadata"]
