"""Differences carried over to other documents, and written as JSON patches."""

from typing import Any

import pytest

from moorage.model.patch.json_patch import apply_json_patch
from moorage.plan.explain.remedies.differences import CannotCarry, carried, changed_paths, operations

_ADDED = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
_LESS = {"key": "level", "operator": "Lt", "value": "5"}
_MORE = {"key": "level", "operator": "Lt", "value": "9"}


@pytest.mark.parametrize(
    ("document", "before", "after", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {"a": 3}, {"a": 3, "b": 2}, id="what no view knows is kept"),
        pytest.param({"a": 1}, {"a": 1}, {}, {}, id="gone"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {}, {"a": {"c": 2}}, id="of an object what is known"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 1}}, {}, {}, id="nothing is left of it"),
        pytest.param({}, {}, {"t": [_LESS]}, {"t": [_LESS]}, id="a list is new"),
        pytest.param(
            {"t": [{**_LESS, "effect": ""}]},
            {"t": [_LESS, _ADDED]},
            {"t": [_MORE, _ADDED]},
            {"t": [{**_MORE, "effect": ""}]},
            id="what admission added stays out of the template, written defaults stay in",
        ),
        pytest.param({"t": []}, {"t": [_ADDED]}, {"t": [_ADDED, _LESS]}, {"t": [_LESS]}, id="an item is added"),
        pytest.param({"t": [_LESS, _MORE]}, {"t": [_LESS, _MORE]}, {"t": [_MORE]}, {"t": [_MORE]}, id="an item goes"),
        pytest.param(
            {"c": [{"name": "side", "image": "x"}, {"name": "web", "image": "i", "cpu": "2"}]},
            {"c": [{"name": "web", "cpu": "2"}, {"name": "side"}]},
            {"c": [{"name": "web", "cpu": "1"}, {"name": "side"}]},
            {"c": [{"name": "side", "image": "x"}, {"name": "web", "image": "i", "cpu": "1"}]},
            id="containers are found by name",
        ),
        pytest.param({"t": []}, {"t": [_LESS]}, {}, {}, id="an item that is not there need not go"),
    ],
)
def test_what_differs_is_carried_over(document: Any, before: Any, after: Any, expected: Any) -> None:
    assert carried(document, before, after) == expected


def test_a_missing_object_cannot_be_changed() -> None:
    with pytest.raises(CannotCarry, match='"level"'):
        carried({"t": []}, {"t": [_LESS]}, {"t": [_MORE]})


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="nothing"),
        pytest.param(
            {"a": 1},
            {"a": 2},
            [{"op": "test", "path": "/a", "value": 1}, {"op": "replace", "path": "/a", "value": 2}],
            id="replaced, tested before",
        ),
        pytest.param({}, {"a/b~c": 1}, [{"op": "add", "path": "/a~1b~0c", "value": 1}], id="escaped"),
        pytest.param({"t": [1]}, {"t": [1, 2]}, [{"op": "add", "path": "/t/-", "value": 2}], id="appended"),
        pytest.param({"t": []}, {"t": [2]}, [{"op": "test", "path": "/t", "value": []}], id="an empty list is tested"),
        pytest.param(
            {"c": [{"name": "web", "cpu": "2"}]},
            {"c": [{"name": "web", "cpu": "1"}]},
            [{"op": "test", "path": "/c/0/name", "value": "web"}],
            id="the right container",
        ),
    ],
)
def test_a_patch_tests_the_values_that_it_replaces(before: Any, after: Any, expected: list[Any]) -> None:
    assert operations(before, after)[: len(expected)] == expected
    assert apply_json_patch(before, operations(before, after)) == after


def test_paths_of_what_changed() -> None:
    before = {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"taints": [1]}}
    after = {"metadata": {"labels": {"a": "1"}}, "spec": {"taints": [2], "unschedulable": True}}
    assert list(changed_paths(before, after)) == [
        ("metadata", "labels", "b"),
        ("spec", "taints"),
        ("spec", "unschedulable"),
    ]
