"""Merge patches: members replace members, null removes."""

from typing import Any

import pytest

from moorage.model.patch.json_patch import apply_merge_patch
from moorage.model.patch.patch_error import PatchError, refusal

Raw = dict[str, Any]


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": 1}, {"a": None}, {"b": 1}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"a": 1}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
        ({"a": {"x": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_merging(document: Raw, patch: Raw, expected: Raw) -> None:
    assert apply_merge_patch(document, patch) == expected


def test_what_the_patch_does_not_mention_is_shared() -> None:
    document: Raw = {"a": {"b": 1}, "c": {"d": [1]}}
    merged = apply_merge_patch(document, {"a": {"b": 2}})
    assert merged["c"] is document["c"]
    assert document == {"a": {"b": 1}, "c": {"d": [1]}}


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (None, "Invalid JSON Patch"),
        ([1], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
    ],
)
def test_what_is_no_merge_patch(patch: Any, said: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply_merge_patch({}, patch)
    assert refusal(caught.value).message == said
    assert refusal(caught.value).code == 400


def test_deep_patches_are_refused() -> None:
    patch: Raw = {}
    for _ in range(20_000):  # deeper than Python's stack ever is, deep expressions or not
        patch = {"a": patch}
    with pytest.raises(PatchError, match="nested too deeply"):
        apply_merge_patch({}, patch)
