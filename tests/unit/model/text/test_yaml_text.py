from typing import Any

import pytest

from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.yaml_text import (
    MAX_DEPTH,
    JsonScalar,
    NotJson,
    YamlConstructor,
    compose_documents,
    json_number,
    resolve_plain,
)


def load(text: str) -> Any:
    (root,) = compose_documents(text.encode(), "f", 1)
    return YamlConstructor("f", 1, has_aliases=True).construct(root)


def duplicates(text: str) -> list[str]:
    (root,) = compose_documents(text.encode(), "f", 1)
    constructor = YamlConstructor("f", 1, has_aliases=True)
    constructor.construct(root)
    return [key for _, _, key in constructor.duplicates]


def failure(text: str) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        load(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ('a: "1"', {"a": "1"}),
        ("a: !!str 1", {"a": "1"}),
        ('a: !!int "1"', {"a": 1}),
        ("a: !!float 1", {"a": 1}),
        ("a: !custom yes", {"a": "yes"}),
        ("a: !!binary aGk=", {"a": "hi"}),
        ("on: 1\n7: 2\n2001-01-01: 3\n1.5: 4", {"true": 1, "7": 2, "2001-01-01": 3, "1.5": 4}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: |\n  --- b\n  c\n", {"a": "--- b\nc\n"}),
        ("[]", []),
        ("just text", "just text"),
    ],
)
def test_values(text: str, value: Any) -> None:
    assert load(text) == value


def test_an_alias_is_a_copy_so_that_changing_one_leaves_the_other() -> None:
    raw = load("a: &x {z: 1}\nb: *x")
    raw["a"]["z"] = 2
    assert raw["b"] == {"z": 1}


def test_merge_keys_take_part_in_the_order_of_the_mapping() -> None:
    assert load("base: &b {p: 1, q: 2}\nx:\n  p: 0\n  <<: *b\n  q: 3")["x"] == {"p": 1, "q": 3}
    assert load("a: &a {k: a}\nb: &b {k: b, l: b}\nx:\n  <<: [*a, *b]")["x"] == {"k": "a", "l": "b"}
    assert load('x: {"<<": 1}') == {"x": {"<<": 1}}


def test_duplicate_keys_are_found_but_overriding_a_merged_key_is_none() -> None:
    assert duplicates("a: 1\nb: 2\na: 3") == ["a"]
    assert duplicates("b: &b {p: 1}\nx:\n  <<: *b\n  p: 2\n  p: 3") == ["p"]
    assert duplicates("b: &b {p: 1}\nx:\n  <<: *b\n  p: 2") == []


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("a: b: c", "yaml: mapping values are not allowed in this context", 1, 5),
        ("a:\n\tb: 1", "yaml: found character that cannot start any token while scanning for the next token", 2, 1),
        ("a: [1,\nb: 2\n", "yaml: did not find expected ',' or ']' while parsing a flow sequence", 2, 5),
        ("a: *x", "yaml: found undefined alias", 1, 4),
        ("a: .inf", "json: unsupported value: +Inf", 1, 4),
        ("~: 1", "unsupported map key: ~", 1, 1),
        ("? [a]\n: 1", "a mapping key must be a scalar", 1, 3),
        ("a: {<<: 3}", "map merge requires map or sequence of maps as the value", 1, 9),
        ("a: !!int x", "cannot decode !!str `x` as a !!int", 1, 4),
        ("a: !!binary '*'", "!!binary value contains invalid base64 data", 1, 4),
    ],
)
def test_syntax_errors_name_the_place(text: str, reason: str, line: int, column: int) -> None:
    error = failure(text)
    assert error.reason.startswith(reason)
    assert (error.problem, error.line, error.column) == (Problem.SYNTAX, line, column)


@pytest.mark.parametrize("data", [b"a: \x00", b"a: \xff", b'a: "\xed\xa0\x80"'])
def test_bytes_that_are_no_text_name_the_place(data: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        list(compose_documents(b"x: y\n" + data, "f", 10))
    assert caught.value.problem is Problem.UNREADABLE
    assert caught.value.line == 11


@pytest.mark.parametrize(
    "text",
    [
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "- " * (MAX_DEPTH + 1) + "x",
        "\n".join(" " * i + "a:" for i in range(MAX_DEPTH + 2)),
        "[" * 100_000,
        "? " * 10_000,
    ],
)
def test_deep_nesting_is_refused_before_anything_recurses(text: str) -> None:
    error = failure(text)
    assert error.problem is Problem.LIMIT
    assert error.reason == f"nested deeper than {MAX_DEPTH} levels"


def test_nesting_up_to_the_limit_is_read() -> None:
    value = load("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    for _ in range(MAX_DEPTH - 1):
        (value,) = value
    assert value == []


def test_brackets_in_text_are_no_nesting() -> None:
    assert load(f"a: '{'{' * 2000}'") == {"a": "{" * 2000}


def test_alias_bombs_are_refused_before_they_go_off() -> None:
    levels = "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]\n" for i in range(1, 10))
    error = failure("x0: &x0 [lol]\n" + levels)
    assert (error.problem, error.reason) == (Problem.LIMIT, "yaml: document contains excessive aliasing")


def test_deep_nesting_by_aliases_is_refused() -> None:
    links = "".join(f"x{i}: &x{i} [*x{i - 1}]\n" for i in range(1, MAX_DEPTH + 5))
    assert failure("x0: &x0 []\n" + links).reason == f"nested deeper than {MAX_DEPTH} levels"


def test_an_anchor_that_contains_itself_is_refused() -> None:
    assert failure("a: &a [*a]").reason == "an anchor's value contains itself"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("y", True),
        ("Yes", True),
        ("ON", True),
        ("n", False),
        ("off", False),
        ("yEs", "yEs"),
        ("12", 12),
        ("+12", 12),
        ("-0", 0),
        ("1_000", 1000),
        ("010", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b101", -5),
        ("08", 8),  # no octal, but a float, and so eight
        ("1.0", 1),
        ("1e3", 1000),
        (".5", 0.5),
        ("-.5e1", -5),
        ("12e-2", 0.12),
        ("1e400", "1e400"),
        ("18446744073709551615", 18446744073709551615),
        ("99999999999999999999", 100000000000000000000),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14t21:59:43Z", "2001-12-14t21:59:43Z"),
        ("1.2.3", "1.2.3"),
        ("500m", "500m"),
        (".", "."),
        ("-", "-"),
        ("12:30:45", "12:30:45"),  # base sixty is not YAML to Kubernetes
        ("9" * 5000, "9" * 5000),
    ],
)
def test_plain_scalars_mean_what_kubernetes_reads(text: str, value: JsonScalar) -> None:
    resolved = resolve_plain(text)
    assert resolved == value
    assert type(resolved) is type(value)


@pytest.mark.parametrize(("text", "name"), [(".inf", "+Inf"), ("-.Inf", "-Inf"), (".NaN", "NaN")])
def test_what_json_cannot_say_is_refused(text: str, name: str) -> None:
    with pytest.raises(NotJson, match=name.replace("+", r"\+")):
        resolve_plain(text)


def test_floats_are_printed_as_the_shortest_digits_followed_by_zeros() -> None:
    assert json_number(1.2345678901234568e20) == 123456789012345680000
    assert json_number(1e21) == 1e21
    assert isinstance(json_number(1e21), float)
