"""Schemas and objects of a few bytes that would be gigabytes of work."""

from typing import Any

import pytest

from moorage.admit.apply.ownership_schema import check, fits
from moorage.custom.objects import validate
from moorage.custom.objects.decoding import apply_defaults
from moorage.custom.objects.validate import schema_errors
from moorage.custom.structural import compile_schema
from moorage.model.kinds import KINDS
from moorage.serve.apply.kind_schema import ownership_schema
from moorage.serve.custom.columns import compile_path

MANY: dict[str, Any] = {f"f{number}": {"type": "string", "default": "x" * 100} for number in range(1000)}
LISTED = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object", "properties": MANY}}}}


def test_defaults_end_where_an_object_is_full() -> None:
    schema = compile_schema(LISTED)
    few: dict[str, Any] = {"l": [{}, {}]}
    many: dict[str, Any] = {"l": [{} for _ in range(100_000)]}
    assert apply_defaults(few, schema)
    assert [len(item) for item in few["l"]] == [1000, 1000]
    assert not apply_defaults(many, schema)
    assert sum(map(len, many["l"])) < 50_000
    few = {"l": [{}]}
    assert not apply_defaults(few, schema, room=1000)
    assert None not in few["l"][0].values()


def test_an_error_lists_some_members_of_a_long_enumeration() -> None:
    schema = compile_schema({"type": "array", "items": {"type": "string", "enum": [f"v{n}" for n in range(9000)]}})
    errors = schema_errors(["nope"] * 100 + ["v8999"], schema)
    assert len(errors) == 100
    assert all(len(str(error)) < 5000 for error in errors)


def test_validation_stops_at_the_limit_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    plain = validate._check_type

    def check_type(value: Any, *arguments: Any) -> None:
        looked.append(value)
        plain(value, *arguments)

    monkeypatch.setattr(validate, "_check_type", check_type)
    wrong = {"type": "string"}
    assert len(schema_errors([1] * 100_000, compile_schema({"type": "array", "items": wrong}))) == 1000
    values = {f"k{number}": 1 for number in range(100_000)}
    assert len(schema_errors(values, compile_schema({"type": "object", "additionalProperties": wrong}))) == 1000
    assert len(looked) < 3000


def test_what_is_applied_has_a_thousand_problems_at_most() -> None:
    schema = ownership_schema(KINDS.CONFIG_MAP)
    many: dict[str, Any] = {"data": {f"k{number}": 1 for number in range(50_000)}}
    assert len(check(many, schema)) == 1000
    assert not fits(many, schema)
    assert len(check({"metadata": {"finalizers": [1] * 50_000}}, schema)) == 1000
    assert check({"data": {"a": "b"}}, schema) == []


def test_a_printer_column_looks_at_some_values_only() -> None:
    large = {"a": [[{"b": number}] for number in range(100_000)], "c": {"d": 7}}
    assert compile_path(".a[*][*].b")(large) == [0]
    assert compile_path("..d")(large) == [7]
    assert compile_path(".a[*][*].zz")(large) == []
    assert compile_path(".a..zz")(large) == []
