"""Field errors print what Go's `field.Error.Error()` prints."""

import pytest

from moorage.model.field_error import (
    AsJSON,
    FieldError,
    child_path,
    duplicate,
    forbidden,
    internal_error,
    invalid,
    not_found,
    not_supported,
    parse_field_path,
    required,
    too_long,
    too_many,
)
from moorage.model.go.quoting import GoStruct, go_json, go_quote


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (invalid("a.b", "x", "no"), 'a.b: Invalid value: "x": no'),
        (invalid("a", 5, "no"), "a: Invalid value: 5: no"),
        (invalid("a", True, "no"), "a: Invalid value: true: no"),
        (invalid("a", None, "no"), "a: Invalid value: null: no"),
        (invalid("a", ["x"], "no"), 'a: Invalid value: ["x"]: no'),
        (invalid("a", "<é\n>", "no"), 'a: Invalid value: "<é\\n>": no'),
        (invalid("a", AsJSON("<"), "no"), 'a: Invalid value: "\\u003c": no'),
        (required("a"), "a: Required value"),
        (required("a", "why"), "a: Required value: why"),
        (forbidden("a", "why"), "a: Forbidden: why"),
        (not_found("a", "x"), 'a: Not found: "x"'),
        (duplicate("a", "x"), 'a: Duplicate value: "x"'),
        (not_supported("a", "x", ["Y", "Z"]), 'a: Unsupported value: "x": supported values: "Y", "Z"'),
        (not_supported("a", "x", []), 'a: Unsupported value: "x"'),
        (too_long("a", 10240), "a: Too long: may not be more than 10240 bytes"),
        (too_long("a", 1, "characters"), "a: Too long: may not be more than 1 character"),
        (too_many("a", 9, 8), "a: Too many: 9: must have at most 8 items"),
        (internal_error("a", "oops"), "a: Internal error: oops"),
    ],
)
def test_rendering(error: FieldError, text: str) -> None:
    assert str(error) == text
    assert error.body == text.split(": ", 1)[1]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("\u200b\U000e0001", '"\\u200b\\U000e0001"'),
        ("é\u65e5", '"é\u65e5"'),
        ("\udcff", '"\\xff"'),
    ],
)
def test_go_quote(text: str, quoted: str) -> None:
    assert go_quote(text) == quoted


def test_go_json_sorts_maps_but_not_structs() -> None:
    assert go_json({"b": 1, "a": [None, 1.5, 2.0]}) == '{"a":[null,1.5,2],"b":1}'
    assert go_json(GoStruct(Key="b", Effect="<&>\x01")) == '{"Key":"b","Effect":"\\u003c\\u0026\\u003e\\u0001"}'


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("", ()),
        ("spec", ("spec",)),
        ("spec.containers[0].resources.limits[cpu]", ("spec", "containers", "0", "resources", "limits", "cpu")),
        ("metadata.annotations[a.b/c]", ("metadata", "annotations", "a.b/c")),
        ("metadata.labels[a]b]", ("metadata", "labels", "a]b")),
        ("metadata.labels[]", ("metadata", "labels", "")),
        ("spec.x[0].{topologyKey, whenUnsatisfiable}", ("spec", "x", "0")),
        ("metadata.taints[0].effect", ("spec", "taints", "0", "effect")),  # upstream's slip
        ("[1]", ("1",)),
        ("spec..x", ("spec",)),
    ],
)
def test_steps_of_rendered_paths(path: str, steps: tuple[str, ...]) -> None:
    assert parse_field_path(path) == steps


def test_children_of_the_root_have_no_dot() -> None:
    assert child_path("", "spec") == "spec"
    assert child_path("spec", "tolerations") == "spec.tolerations"


@pytest.mark.parametrize(
    "value",
    [
        "x" * 1_000_000,
        AsJSON("x" * 1_000_000),
        AsJSON([0] * 1_000_000),
        AsJSON({f"key-{number}": "v" for number in range(100_000)}),
        AsJSON([[["x" * 5_000] * 10] * 10] * 1_000),
    ],
    ids=["text", "named text", "list", "map", "nested"],
)
def test_an_error_shows_a_bounded_part_of_its_value(value: object) -> None:
    message = str(invalid("spec.a", value, "must be short"))
    assert message.startswith("spec.a: Invalid value: ")
    assert message.endswith("… (cut): must be short")
    assert len(message) < 45_000


@pytest.mark.parametrize("value", ["x" * 19_000, AsJSON(["y" * 100] * 100), AsJSON({"a": {"b": [1, None, 2.5]}})])
def test_an_error_shows_a_value_of_some_kilobytes_whole(value: object) -> None:
    assert "(cut)" not in str(invalid("spec.a", value, ""))
