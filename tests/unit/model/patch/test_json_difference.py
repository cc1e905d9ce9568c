"""The JSON patch between two documents."""

from typing import Any

import pytest

from moorage.model.patch.json_difference import json_difference
from moorage.model.patch.json_patch import apply_json_patch


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("replace", "/a", 2)]),
        ({"a": 1}, {"a": True}, [("replace", "/a", True)]),
        ({"a": 1}, {"b": 1}, [("remove", "/a", None), ("add", "/b", 1)]),
        ({"a": {}}, {"a": {"x/y~z": None}}, [("add", "/a/x~1y~0z", None)]),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, [("add", "/a/2", 3)]),
        ({"a": [1, 2]}, {"a": [0, 1, 2]}, [("add", "/a/0", 0)]),
        ({"a": [1, 2, 3]}, {"a": [3]}, [("remove", "/a/1", None), ("remove", "/a/0", None)]),
        ({"a": [1, 2]}, {"a": [2, 1]}, [("replace", "/a/0", 2), ("replace", "/a/1", 1)]),
        ({"a": [{"x": 1}, {"y": 1}]}, {"a": [{"x": 2}, {"y": 1}]}, [("replace", "/a/0/x", 2)]),
        ({"a": [{"x": 1}, 5]}, {"a": [{"x": 2}, 4, 5]}, [("replace", "/a/0/x", 2), ("add", "/a/1", 4)]),
        ({"a": [1]}, {"a": {"0": 1}}, [("replace", "/a", {"0": 1})]),
    ],
)
def test_operations(before: Any, after: Any, operations: list[tuple[str, str, Any]]) -> None:
    found = json_difference(before, after)
    assert [(each["op"], each["path"], each.get("value")) for each in found] == operations
    assert apply_json_patch(before, found) == after
