"""ControllerRevisions, and how often a DaemonSet's template has changed."""

from typing import Any

import pytest
from tests.unit.admit.objects import Raw, complaints, document, stored, workload

from moorage.admit.admission import Admitted, admit
from moorage.model.gates import default_gates

COUNTED = "deprecated.daemonset.template.generation"


@pytest.mark.parametrize(
    ("fields", "texts"),
    [
        ({"data": {"spec": {}}, "revision": 3}, []),
        ({}, ["data: Required value: data is mandatory"]),
        ({"data": [1]}, ["data: Required value: data must be a valid JSON object"]),
        ({"data": {}, "revision": -1}, ["revision: Invalid value: -1: must be greater than or equal to 0"]),
    ],
)
def test_what_a_revision_must_have(fields: dict[str, Any], texts: list[str]) -> None:
    assert complaints(document("ControllerRevision", **fields)) == texts


def test_only_the_number_of_a_revision_changes() -> None:
    old = stored(document("ControllerRevision", data={"a": 1}, revision=1))
    assert complaints({**old, "revision": 2}, old) == []
    assert complaints({**old, "data": {"a": 2}}, old) == ['data: Invalid value: {"a":2}: field is immutable']


def updated(new: Raw, old: Raw) -> Raw:
    answer = admit(new, old, default_gates())
    assert isinstance(answer, Admitted)
    return answer.object


def generation(made: Raw) -> str:
    found: str = made["metadata"]["annotations"][COUNTED]
    return found


def test_changes_of_a_template_are_counted() -> None:
    first = stored(workload("DaemonSet"))
    assert generation(first) == "1"
    other = {**first, "metadata": {**first["metadata"], "annotations": {COUNTED: "77"}}}
    same = updated(other, first)
    assert generation(same) == "1"
    assert generation(updated(workload("DaemonSet", nodeSelector=None, hostNetwork=False), same)) == "1"
    assert generation(updated(workload("DaemonSet", hostNetwork=True), same)) == "2"
    imported = workload("DaemonSet")
    imported["metadata"]["annotations"] = {COUNTED: "5"}
    assert generation(stored(imported)) == "5"
