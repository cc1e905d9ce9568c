"""Custom objects by random schemas: pruning and defaulting are done once, validation agrees with a plain one."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from tests.laws.random_schemas import is_valid, random_schema, random_value

from moorage.custom.objects.correlation import Correlation, list_type_errors
from moorage.custom.objects.decoding import (
    apply_defaults,
    decode_request,
    decode_stored,
    drop_nulls,
    prune,
    write_as_go,
)
from moorage.custom.objects.validate import schema_errors
from moorage.custom.structural import MAX_DEPTH, SchemaTooDeepError, compile_schema

Raw = dict[str, Any]
SEEDS = range(150)


def example(seed: int) -> tuple[Raw, list[Raw]]:
    """A schema of an object with a spec, and some objects."""
    chance = Random(seed)
    spec = random_schema(chance)
    return {"type": "object", "properties": {"spec": spec}}, [{"spec": random_value(chance, spec)} for _ in range(8)]


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def test_pruning_twice_is_pruning_once_and_tells_what_it_does() -> None:
    for seed in SEEDS:
        raw, objects = example(seed)
        schema = compile_schema(raw)
        for obj in objects:
            before = copied(obj)
            removed = prune(obj, schema)
            assert bool(removed) == (obj != before)
            assert prune(obj, schema) == []


def test_decoding_is_done_once() -> None:
    for seed in SEEDS:
        raw, objects = example(seed)
        schema = compile_schema(raw)
        for obj in objects:
            decode_request(obj, schema)
            once = copied(obj)
            decode_stored(obj, schema)
            assert obj == once
            assert write_as_go(obj) == obj


def without(schema: Any, keyword: str) -> Any:
    if isinstance(schema, dict):
        return {name: without(item, keyword) for name, item in schema.items() if name != keyword}
    return [without(item, keyword) for item in schema] if isinstance(schema, list) else schema


def disagreements(forgotten: str = "") -> int:
    """How often validation, by schemas without a keyword, says other than the plain validator by the whole schemas."""
    found = 0
    for seed in SEEDS:
        raw, objects = example(seed)
        schema = compile_schema(without(raw, forgotten))
        for obj in objects:
            prune(obj, schema)
            drop_nulls(obj, schema)
            apply_defaults(obj, schema)
            found += (not schema_errors(obj, schema)) != is_valid(obj, raw)
    return found


def test_validation_agrees_with_a_plain_validator() -> None:
    assert disagreements() == 0


@pytest.mark.parametrize(
    "keyword",
    ["maxLength", "pattern", "enum", "minimum", "multipleOf", "required", "oneOf", "anyOf", "allOf", "maxItems"],
)
def test_the_plain_validator_notices_a_keyword_that_is_forgotten(keyword: str) -> None:
    assert disagreements(keyword) > 0


def test_an_update_has_no_errors_that_a_new_object_has_not_and_none_for_what_it_leaves_alone() -> None:
    for seed in SEEDS:
        raw, objects = example(seed)
        schema = compile_schema(raw)
        for obj in objects:
            prune(obj, schema)
        for old, new in pairwise(objects):
            told = set(map(str, schema_errors(new, schema)))
            assert set(map(str, schema_errors(new, schema, Correlation(new, old, schema)))) <= told
            same = Correlation(new, copied(new), schema)
            assert not same.unchanged or not schema_errors(new, schema, same)


def test_defaults_make_an_empty_object_valid() -> None:
    for seed in SEEDS:
        chance = Random(seed)
        properties: Raw = {}
        for name in ("alpha", "beta", "gamma"):
            schema = random_schema(chance, 1)
            values = [value for _ in range(20) if is_valid(value := random_value(chance, schema, 0), schema)]
            if values and values[0] is not None:
                properties[name] = {**schema, "default": values[0]}
        compiled = compile_schema({"type": "object", "properties": properties, "required": [*properties]})
        obj: Raw = {}
        apply_defaults(obj, compiled)
        assert schema_errors(obj, compiled) == []
        once = copied(obj)
        apply_defaults(obj, compiled)
        assert obj == once


def nested(depth: int) -> Raw:
    schema: Raw = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_schemas_that_are_too_deep_are_refused() -> None:
    compile_schema(nested(MAX_DEPTH - 1))
    for depth in (MAX_DEPTH + 1, 100_000):
        with pytest.raises(SchemaTooDeepError):
            compile_schema(nested(depth))


def test_deep_objects_of_deep_schemas_are_validated() -> None:
    schema = compile_schema(nested(MAX_DEPTH - 1))
    obj: Any = 5
    for _ in range(MAX_DEPTH - 1):
        obj = {"a": obj}
    decode_request(obj, schema)
    assert len(schema_errors(obj, schema, Correlation(obj, copied(obj), schema))) == 0
    assert len(schema_errors(obj, schema)) == 1


def test_hostile_objects_are_bounded() -> None:
    pattern = "(a+)+$|(.*x){20}|[^b]{1,500}c{1,100}"
    item = {"type": "string", "pattern": pattern, "anyOf": [{"pattern": pattern}, {"maxLength": 3}]}
    schema = compile_schema(
        {
            "type": "object",
            "properties": {"l": {"type": "array", "x-kubernetes-list-type": "set", "items": item}, "s": item},
        }
    )
    obj = {"l": [f"{'a' * 20}{number}!" for number in range(3000)], "s": "a" * 100_000 + "!"}
    found = schema_errors(obj, schema)
    assert 0 < len(found) <= 1000
    assert list_type_errors(obj, schema) == []
