"""What fills a claim, said in two fields."""

from typing import Any

import pytest
from tests.unit.admit.objects import Raw, complaints, document, stored

CLAIM: Raw = {"kind": "PersistentVolumeClaim", "name": "c"}
SNAPSHOT: Raw = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
OTHER: Raw = {"apiGroup": "a.b", "kind": "Populator", "name": "p"}
SOURCES = ("dataSource", "dataSourceRef")


def claim(**spec: Any) -> Raw:
    basis = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return document("PersistentVolumeClaim", spec={**basis, **spec})


@pytest.mark.parametrize(
    ("spec", "source", "reference"),
    [
        ({}, None, None),
        ({"dataSource": CLAIM}, {**CLAIM, "apiGroup": None}, {**CLAIM, "apiGroup": None}),
        ({"dataSource": SNAPSHOT}, SNAPSHOT, SNAPSHOT),
        ({"dataSource": OTHER}, None, None),  # always was ignored
        ({"dataSourceRef": OTHER}, OTHER, OTHER),
        ({"dataSourceRef": {**OTHER, "namespace": ""}}, OTHER, {**OTHER, "namespace": ""}),
        ({"dataSourceRef": {**OTHER, "namespace": "n"}}, None, None),
    ],
)
def test_data_source_and_data_source_ref_are_filled_in_from_each_other(
    spec: Raw, source: Raw | None, reference: Raw | None
) -> None:
    made = stored(claim(**spec))["spec"]
    assert [made.get(name) for name in SOURCES] == [source, reference]


def test_an_update_may_leave_out_what_was_filled_in_and_older_claims_are_filled_in_too() -> None:
    old = stored(claim(dataSource=CLAIM))
    for name in SOURCES:
        assert complaints({**old, "spec": {**old["spec"], name: None}}, old) == []
        older = {**old, "spec": {**old["spec"], name: None}}
        assert complaints(old, older) == []


def test_a_claim_with_a_source_may_keep_what_would_be_ignored_in_a_new_one() -> None:
    old = stored(claim(dataSourceRef={**OTHER, "apiGroup": "a.b"}))
    new = {**old, "spec": {**old["spec"], "dataSource": {**OTHER, "apiGroup": "_"}, "dataSourceRef": None}}
    # The group is not looked at, because the old claim had one; that it is another is what is wrong.
    assert [text.partition(":")[0] for text in complaints(new, old)] == ["spec"]
