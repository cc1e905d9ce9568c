"""Rules over lists of the types set and map, of which the order does not matter. The answers are a real server's."""

from typing import Any

import pytest
from tests.unit.custom.expressions.test_rules import texts

Raw = dict[str, Any]

TEXT: Raw = {"type": "string", "maxLength": 5}
LIST: Raw = {"type": "array", "maxItems": 10, "items": TEXT}
SET: Raw = {**LIST, "x-kubernetes-list-type": "set"}
ENTRY: Raw = {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": {"type": "integer"}}}
MAP: Raw = {
    "type": "array",
    "maxItems": 10,
    "items": ENTRY,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}
PART: Raw = {"type": "object", "properties": {"m": MAP, "s": SET}}
SCHEMA: Raw = {
    "type": "object",
    "properties": {"l": LIST, "s": SET, "t": SET, "w": {"type": "array", "maxItems": 2, "items": PART}},
}
ONE, TWO, OTHER = {"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}
VALUE: Raw = {
    "l": ["b", "a"],
    "s": ["a", "b"],
    "t": ["b", "a"],
    "w": [{"m": [ONE, TWO], "s": ["a", "b"]}, {"m": [TWO, ONE], "s": ["b", "a"]}],
}


@pytest.mark.parametrize(
    "rule",
    [
        "self.s == self.t && self.s == self.l && self.s == ['b', 'a']",
        "!(self.l == self.s) && ['b', 'a'] != self.s && !(self.s != self.t)",
        "self.w[0] == self.w[1] && self.w[0] in [self.w[1]]",
        "self.w[0].m == self.w[1].m && [self.w[0].m] == [self.w[1].m]",
        "self.w.all(part, part.m == self.w[0].m && part.s == self.s)",
        "self.s + ['c', 'b', 'c'] == ['c', 'b', 'a'] && (self.s + ['c'])[2] == 'c'",
        "size(['a'] + self.s) == 3 && size(self.l + self.s) == 4",
        "(self.w[0].m + self.w[1].m).map(entry, entry.v) == [1, 2]",
        "self.s.map(x, x) == ['a', 'b'] && self.s.isSorted() && self.s.indexOf('b') == 1 && self.s[0] == 'a'",
        "self.s.all(x, x in self.t) && sets.equivalent(self.s, self.l) && type(self.s) == list",
    ],
)
def test_order_of_sets_and_maps_does_not_matter(rule: str) -> None:
    assert texts(SCHEMA, VALUE, rule) == []


def test_adding_to_a_list_of_type_map_replaces_entries_of_the_same_keys() -> None:
    value = {"w": [{"m": [ONE, TWO]}, {"m": [OTHER]}]}
    rule = "(self.w[0].m + self.w[1].m).map(entry, entry.v) == [3, 2] && self.w[0].m != self.w[1].m"
    assert texts(SCHEMA, value, rule) == []
