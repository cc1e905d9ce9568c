"""Errors of numbers have the texts of the API server of Kubernetes v1.36.4, also where those surprise."""

from typing import Any

import pytest

from moorage.custom.objects.validate import schema_errors
from moorage.custom.structural import compile_schema

CHECKED = '<nil>: Invalid value: "": Checked value must be of type integer (default format) in n'


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "integer"}, 1.0, []),
        (
            {"type": "integer"},
            1.5,
            ['n: Invalid value: "number": n in body must be of type integer: "number"', CHECKED],
        ),
        (
            {"type": "integer"},
            2**63,
            ['n: Invalid value: "number": n in body must be of type integer: "number"', CHECKED],
        ),
        ({"type": "number", "maximum": 2.5}, 3, ["n: Invalid value: 3: n in body should be less than or equal to 2"]),
        (
            {"type": "number", "maximum": 2.5},
            2.75,
            ["n: Invalid value: 2.75: n in body should be less than or equal to 2.5"],
        ),
        (
            {"type": "number", "maximum": 1e6},
            2e6,
            ["n: Invalid value: 2e+06: n in body should be less than or equal to 1e+06"],
        ),
        (
            {"type": "number", "multipleOf": 0.1},
            1,
            ["n: Invalid value: 0: factor MultipleOf declared for n must be positive: 0"],
        ),
        ({"type": "number", "enum": [1]}, 1.9, []),
        ({"enum": ["a"]}, 97, []),
        ({"type": "string", "format": "byte"}, ["x"], []),
        (
            {"nullable": True, "type": "string", "enum": ["a"]},
            None,
            ['n: Unsupported value: null: supported values: "a"'],
        ),
    ],
)
def test_a_number_is_refused_with_these_words(schema: dict[str, Any], value: Any, said: list[str]) -> None:
    compiled = compile_schema({"type": "object", "properties": {"n": schema}})
    assert [str(error) for error in schema_errors({"n": value}, compiled)] == said
