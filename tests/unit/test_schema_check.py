"""The comparison with Kubernetes' published schemas finds what differs."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.schema_check import ALL_KINDS, proto_differences, swagger_differences

from moorage.serve.openapi.documents import openapi_v2

TAINT = "io.k8s.api.core.v1.Taint"


def _published() -> Any:
    """What a release would publish that has exactly Moorage's definitions."""
    return {"definitions": json.loads(openapi_v2(ALL_KINDS))["definitions"], "paths": {}}


def _found(published: Any) -> list[str]:
    return [line for line in swagger_differences(published) if "no such resource" not in line]


def test_the_same_definitions_do_not_differ() -> None:
    assert _found(_published()) == []


def _new_field(taint: Any) -> None:
    taint["properties"]["since"] = {"type": "string"}


def _other_type(taint: Any) -> None:
    taint["properties"]["key"]["type"] = "integer"


def _other_required(taint: Any) -> None:
    taint["required"] = ["key"]


def _other_mark(taint: Any) -> None:
    taint["properties"]["value"]["x-kubernetes-patch-merge-key"] = "x"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (_new_field, f"{TAINT}.since: Moorage does not have this field"),
        (_other_type, f"{TAINT}.key: type is integer, here string"),
        (_other_required, f"{TAINT}: required fields are ['key'], here ['effect', 'key']"),
        (_other_mark, f"{TAINT}.value: x-kubernetes-patch-merge-key is x, here None"),
    ],
)
def test_a_changed_definition_is_found(change: Any, line: str) -> None:
    published = _published()
    change(published["definitions"][TAINT])
    assert _found(published) == [line]


def test_other_verbs_are_found() -> None:
    gvk = {"group": "", "kind": "Node", "version": "v1"}
    operation = {"x-kubernetes-action": "list", "x-kubernetes-group-version-kind": gvk}
    published = _published() | {"paths": {"/api/v1/nodes": {"get": operation}}}
    assert any(line.startswith("v1 nodes: verbs are ['list'], here ['delete',") for line in _found(published))


def test_other_numbers_are_found(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    text = "package k8s.io.api.core.v1;\nmessage Taint {\n  optional string key = 1;\n  optional string value = 3;\n"
    (tmp_path / "core" / "generated.proto").write_text(f"{text}}}\n", encoding="utf-8")
    found = list(proto_differences(tmp_path))
    assert "k8s.io.api.core.v1.Taint.value: number is 3, here 2" in found
    assert "k8s.io.api.core.v1.Taint.effect: number is None, here 3" in found
    assert not any("Taint.key:" in line for line in found)
    assert "k8s.io.api.core.v1.Pod: no such message is published" in found
