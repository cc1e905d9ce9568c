"""JSON as Go writes it: keys in order, HTML's characters escaped, numbers as floats hold them."""

import json

import pytest

from moorage.model.go.quoting import escape_html, sorted_keys


def test_keys_are_sorted_at_every_depth_and_lists_keep_their_order() -> None:
    value = {"spec": {"b": [{"z": 1, "a": {}}, "y", "x"], "$patch": "replace", "B": None}}
    assert json.dumps(sorted_keys(value)) == (
        '{"spec": {"$patch": "replace", "B": null, "b": [{"a": {}, "z": 1}, "y", "x"]}}'
    )


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (True, True),
        (86400, 86400),
        (1 << 53, 1 << 53),
        ((1 << 63) - 1, 9223372036854776000),
        (-(1 << 53) - 1, -(1 << 53)),
    ],
)
def test_numbers_are_as_precise_as_a_float(number: int, written: int) -> None:
    assert sorted_keys([number]) == [written]


def test_escapes_are_those_of_go_and_mean_the_same() -> None:
    text = json.dumps("<a href='x'>&\u2028\u2029é/", ensure_ascii=False).encode()
    escaped = escape_html(text)
    assert escaped == "\"\\u003ca href='x'\\u003e\\u0026\\u2028\\u2029é/\"".encode()
    assert json.loads(escaped) == json.loads(text)
