import pytest

from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.json_text import (
    decode_json_values,
    json_duplicates,
    json_type,
    replace_lone_surrogates,
)
from moorage.model.text.positions import place_json
from moorage.model.text.yaml_text import MAX_DEPTH


def test_values_follow_each_other_with_or_without_space() -> None:
    values = list(decode_json_values('{"a": 1}\n{"b": 2.0}{"c": 2.5, "d": true}', "f", 1))
    assert [value.raw for value in values] == [{"a": 1}, {"b": 2}, {"c": 2.5, "d": True}]
    assert [value.start for value in values] == [0, 9, 19]


def test_duplicates_are_noticed_and_then_named() -> None:
    text = '{"a": {"b": [{"c": 1, "c": 2}]}, "a": 3}'
    (value,) = decode_json_values(text, "f", 1)
    assert value.has_duplicates
    assert [found.path for found in json_duplicates(text, 0)] == ["a.b[0].c", "a"]
    assert [found.steps for found in json_duplicates(text, 0)] == [("a", "b", "0", "c"), ("a",)]
    (clean,) = decode_json_values('{"a": {"a": 1}}', "f", 1)
    assert not clean.has_duplicates


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ('{"a": 1,\n "b" 2}', "json: Expecting ':' delimiter", 2, 6),
        ('{"a": NaN}', "json: invalid value NaN", 1, 1),
        ('{"a": 1e400}', "json: cannot unmarshal number 1e400 into Go value of type float64", 1, 1),
        ('{"a": "x', "json: Unterminated string starting at", 1, 7),
    ],
)
def test_errors_name_the_place(text: str, reason: str, line: int, column: int) -> None:
    with pytest.raises(DecodeError) as caught:
        list(decode_json_values(text, "f", 1))
    assert (caught.value.reason, caught.value.line, caught.value.column) == (reason, line, column)


@pytest.mark.parametrize("text", ['{"a":' * (MAX_DEPTH + 1), '{"\\"": ' + "[" * 100_000])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        list(decode_json_values(text, "f", 1))
    assert caught.value.problem is Problem.LIMIT


def test_brackets_in_strings_are_no_nesting_even_in_a_string_that_never_ends() -> None:
    (value,) = decode_json_values('{"a": "' + "[" * 1000 + '"}', "f", 1)
    assert value.raw == {"a": "[" * 1000}
    with pytest.raises(DecodeError) as caught:
        list(decode_json_values('{"a": "' + '\\"[' * 1000, "f", 1))
    assert caught.value.problem is Problem.SYNTAX


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    text = replace_lone_surrogates(r'{"a": "\ud800", "b": "\ud83d\ude00", "c": "\\ud800"}')
    (value,) = decode_json_values(text, "f", 1)
    assert value.raw == {"a": "\ufffd", "b": "😀", "c": r"\ud800"}


def test_places_of_keys_items_and_values() -> None:
    text = '  {"a": {"x\\n": [1, {"b": "}"}]}, "c": null}'
    root = place_json(text, 0)
    assert root.value_at == 2
    nested = root.children["a"].children["x\n"]
    assert text[nested.shown_at :].startswith('"x')
    assert text[nested.value_at :].startswith("[1")
    assert text[nested.children["1"].shown_at :].startswith('{"b"')
    assert text[root.children["c"].value_at :].startswith("null")


def test_types_have_the_names_of_go() -> None:
    values: tuple[object, ...] = (True, 1, 1.5, "x", [], {}, None)
    assert [json_type(value) for value in values] == ["bool", "number", "number", "string", "array", "object", "null"]
