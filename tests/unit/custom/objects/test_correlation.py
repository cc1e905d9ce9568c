"""What an update leaves alone: properties by name, items of map lists by their keys, other lists as a whole."""

from typing import Any

import pytest

from moorage.custom.objects.correlation import Correlation, same_values
from moorage.custom.structural import compile_schema

ITEM = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
SCHEMA = compile_schema(
    {
        "type": "object",
        "properties": {
            "map": {"type": "array", "items": ITEM, **KEYED},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
)
ONE, TWO, CHANGED = {"k": "1", "v": 9}, {"k": "2", "v": 9}, {"k": "2", "v": 8}


@pytest.mark.parametrize(
    ("new", "old", "unchanged"),
    [
        ({"map": [ONE, TWO]}, {"map": [TWO, ONE]}, True),
        ({"map": [ONE, TWO]}, {"map": [ONE, CHANGED]}, False),
        ({"set": ["a", "b"]}, {"set": ["a", "b"]}, True),
        ({"set": ["a", "b"]}, {"set": ["b", "a"]}, False),
        ({"free": {}}, {"free": {}}, True),
        ({"free": {"x": 1}}, {"free": {"x": 1}}, False),  # the schema does not know x
        ({}, {"set": []}, False),
    ],
)
def test_an_object_is_unchanged(new: Any, old: Any, unchanged: bool) -> None:
    assert Correlation(new, old, SCHEMA).unchanged is unchanged


def test_items_correlate_by_their_keys_and_those_of_sets_not_at_all() -> None:
    whole = Correlation({"map": [TWO, {"k": "3"}], "set": ["a"]}, {"map": [ONE, CHANGED], "set": ["a"]}, SCHEMA)
    items = whole.at_property("map")
    assert items is not None
    found = items.at_item(0)
    assert found is not None
    assert found.old == CHANGED
    assert items.at_item(1) is None
    strings = whole.at_property("set")
    assert strings is not None
    assert strings.at_item(0) is None


def test_values_are_compared_with_their_types() -> None:
    assert same_values({"a": [1, None, {"b": "c"}]}, {"a": [1, None, {"b": "c"}]})
    for new, old in ((True, 1), (1, 1.0), ([0], [False]), ({"a": 1}, {"a": True}), (None, {})):
        assert not same_values(new, old)
