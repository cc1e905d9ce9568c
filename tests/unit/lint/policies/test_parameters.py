"""Parameters are found by kind, namespace and name, as they would be stored."""

from typing import Any

import pytest

from moorage.lint.policies import parameters
from moorage.lint.policies.parameters import Parameters
from moorage.model.kinds import KINDS, CustomKind
from moorage.model.types.meta import ApiObject


def config_map(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def test_a_document_is_completed_when_it_is_looked_up() -> None:
    kept = Parameters()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}, "unknown": 1}
    kept.put(KINDS.SECRET, "team-a", "s", secret)
    found = kept.find(KINDS.SECRET, "team-a", "s")
    assert found is not None
    assert (found["type"], found["data"], found["metadata"]["namespace"]) == ("Opaque", {"a": "Yg=="}, "team-a")
    assert "unknown" not in found
    assert kept.find(KINDS.SECRET, "team-a", "s") is found
    assert secret["metadata"] == {"name": "s"}


def test_documents_are_those_of_their_namespace() -> None:
    kept = Parameters()
    for namespace, name in (("team-a", "x"), ("team-a", "y"), ("team-b", "z")):
        kept.put(KINDS.CONFIG_MAP, namespace, name, config_map(name))
    assert [one["metadata"]["name"] for one in kept.all_of(KINDS.CONFIG_MAP, "team-a")] == ["x", "y"]
    assert kept.find(KINDS.CONFIG_MAP, "team-b", "x") is None
    copied = kept.copy()
    copied.put(KINDS.CONFIG_MAP, "team-b", "x", config_map("x"))
    assert kept.find(KINDS.CONFIG_MAP, "team-b", "x") is None
    assert copied.find(KINDS.CONFIG_MAP, "team-b", "x") is not None


def test_a_later_document_replaces_the_one_before() -> None:
    kept = Parameters()
    for value in ("1", "2"):
        kept.put(KINDS.CONFIG_MAP, "", "x", config_map("x", data={"most": value}))
        found = kept.find(KINDS.CONFIG_MAP, "", "x")
        assert found is not None
        assert found["data"] == {"most": value}


def test_a_document_that_cannot_be_stored_is_not_found() -> None:
    kept = Parameters()
    kept.put(KINDS.CONFIG_MAP, "", "x", config_map("x", data={"most": 1}))
    assert kept.find(KINDS.CONFIG_MAP, "", "x") is None
    assert kept.all_of(KINDS.CONFIG_MAP, "") == []


def test_a_custom_object_is_found_by_any_version_of_its_kind() -> None:
    versions = [
        CustomKind(f"g.example.com/{version}", "limits", ApiObject, namespaced=False, custom_name="Limit")
        for version in ("v1", "v2")
    ]
    kept = Parameters()
    raw = {"apiVersion": "g.example.com/v1", "kind": "Limit", "metadata": {"name": "x"}}
    kept.put(versions[0], "", "x", raw)
    assert kept.find(versions[1], "", "x") == raw


def test_what_does_not_fit_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "_MAX_BYTES", 200)
    kept = Parameters()
    for name in ("a", "b"):
        kept.put(KINDS.CONFIG_MAP, "", name, config_map(name, data={"text": "x" * 80}))
    assert kept.find(KINDS.CONFIG_MAP, "", "a") is not None
    assert kept.find(KINDS.CONFIG_MAP, "", "b") is None
