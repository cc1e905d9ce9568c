"""Owners that are named twice: the first stays, the others go, and somebody is told."""

from typing import Any

import pytest
from tests.unit.serve.verbs.bench import ME, document, make, shown

from moorage.model.kinds import KINDS, Ref
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.patching import MERGE_PATCH, Patch, patch_object
from moorage.serve.verbs.written_metadata import name_owners_once

A: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1"}
B: dict[str, Any] = {**A, "name": "b", "uid": "2"}
ALIKE = {**A, "blockOwnerDeletion": True}
CASES: list[tuple[Any, Any, str]] = [
    ([A, B], [A, B], ""),
    ([A, A], [A], "1"),
    ([A, B, A, B, A], [A, B], "1, 2, 1"),
    ([A, ALIKE], [A, ALIKE], ""),  # not the same, though of the same owner
    ([A], [A], ""),
    (None, None, ""),
    ("odd", "odd", ""),
    (["odd", "odd"], ["odd", "odd"], ""),
]


@pytest.mark.parametrize(("owners", "left", "uids"), CASES)
def test_each_owner_once(owners: Any, left: Any, uids: str) -> None:
    metadata = {"ownerReferences": owners}
    said = name_owners_once(metadata)
    assert metadata["ownerReferences"] == left
    assert [text.rpartition(": ")[2] for text in said] == ([uids] if uids else [])
    assert owners is None or len(owners) >= len(left)  # what was handed in is not cut


async def test_every_way_to_write_an_object(api: Api) -> None:
    twice = {"ownerReferences": [A, dict(A)]}
    made = await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", metadata=dict(twice)))
    put = await replace(
        api, Ref(KINDS.CONFIG_MAP, "default", "one"), document(KINDS.CONFIG_MAP, "one", metadata=dict(twice)), ME
    )
    patch = await patch_object(
        api, Ref(KINDS.CONFIG_MAP, "default", "one"), Patch(MERGE_PATCH, {"metadata": twice}), ME
    )
    for outcome, words in ((made, "entries; API"), (put, "entries; API"), (patch, "after mutating admission")):
        assert shown(KINDS.CONFIG_MAP, outcome)["metadata"]["ownerReferences"] == [A]
        (warning,) = outcome.warnings
        assert words in warning
