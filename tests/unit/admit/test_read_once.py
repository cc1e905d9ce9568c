"""A document that admission only stamps is read once, and its view is that of the complete document."""

from typing import Any

import pytest

from moorage.admit.admission import Admitted, admit_own
from moorage.admit.raw import Raw, copy_document
from moorage.admit.request import Request
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view

AMOUNTS = {"cpu": "8", "memory": "32Gi", "pods": 110}
NODE: Raw = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1", "labels": {"zone": "a"}},
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}},
}
REQUEST = Request(name_suffix="abcde", uid="1-2-3", timestamp="2026-01-01T00:00:00Z")


def admitted(kind: Kind, raw: Raw, *, copies: bool) -> Admitted:
    answer = admit_own(kind, copy_document(raw), None, default_gates(), request=REQUEST, copies=copies)
    assert isinstance(answer, Admitted)
    return answer


def with_metadata(**metadata: Any) -> Raw:
    return {**NODE, "metadata": metadata}


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (KINDS.NODE, NODE),
        (KINDS.NODE, with_metadata(generateName="node-")),
        (KINDS.NODE, with_metadata(name="n", uid="other", creationTimestamp=None, labels={}, finalizers=None)),
        (KINDS.NODE, with_metadata(name="n", resourceVersion="7", selfLink="/x", deletionGracePeriodSeconds=3)),
        (KINDS.NODE, {**NODE, "status": {"capacity": AMOUNTS}}),
        (KINDS.NODE, {**NODE, "status": {"capacity": {"cpu": "1n"}, "config": {}}}),
        (KINDS.NODE, {**NODE, "spec": None, "status": None}),
        (KINDS.NODE, {**NODE, "spec": {"taints": [], "configSource": {}}}),
        (KINDS.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}),
        (KINDS.LIMIT_RANGE, {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a"}, "spec": {}}),
    ],
)
def test_a_copied_document_has_the_view_of_one_that_is_completed_in_place(kind: Kind, raw: Raw) -> None:
    copied, in_place = admitted(kind, raw, copies=True), admitted(kind, raw, copies=False)
    assert (copied.object, copied.view) == (in_place.object, in_place.view)


def test_a_node_that_only_gets_its_uid_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    conversions: list[Raw] = []

    def counting(raw: Any, view: Any) -> Any:
        conversions.append(raw)
        return convert_view(raw, view)

    monkeypatch.setattr("moorage.admit.admission.convert_view", counting)
    node = admitted(KINDS.NODE, NODE, copies=True).view
    assert node is not None
    assert len(conversions) == 1
