"""Random structural schemas, values that nearly fit them, and a validator that says only yes or no."""

from __future__ import annotations

import re
from random import Random
from typing import Any

Raw = dict[str, Any]

_NAMES = ("alpha", "beta", "gamma", "delta")
_STRINGS = ("", "a", "ab", "abc", "red", "B7", "é", "10.0.0.1")


def random_schema(chance: Random, depth: int = 3) -> Raw:
    """A schema as CRD validation accepts it."""
    kinds = ["string", "integer", "number", "boolean", "any", "int-or-string"]
    kind = chance.choice([*kinds, "object", "object", "map", "array"] if depth else kinds)
    schema: Raw = {"type": kind}
    if kind == "any":
        schema = {"x-kubernetes-preserve-unknown-fields": True}
    elif kind == "int-or-string":
        schema = {"x-kubernetes-int-or-string": True}
    elif kind == "object":
        names = chance.sample(_NAMES, chance.randint(1, 4))
        schema["properties"] = {name: random_schema(chance, depth - 1) for name in names}
        if chance.random() < 0.4:
            schema["required"] = chance.sample(names, 1)
        if chance.random() < 0.2:
            schema["x-kubernetes-preserve-unknown-fields"] = True
        if chance.random() < 0.2:
            schema["oneOf"] = [{"required": [name]} for name in names[:2]]
        _maybe(chance, schema, 0.2, maxProperties=2)
    elif kind == "map":
        schema = {"type": "object", "additionalProperties": random_schema(chance, depth - 1)}
        _maybe(chance, schema, 0.3, minProperties=1)
    elif kind == "array":
        schema["items"] = random_schema(chance, depth - 1)
        _maybe(chance, schema, 0.4, maxItems=2)
        _maybe(chance, schema, 0.2, minItems=1)
    elif kind == "string":
        _constrain_string(chance, schema)
    elif kind in ("integer", "number"):
        _constrain_number(chance, schema)
    if chance.random() < 0.15:
        schema["nullable"] = True
    return schema


def _maybe(chance: Random, schema: Raw, likely: float, **fields: Any) -> None:
    if chance.random() < likely:
        schema.update(fields)


def _constrain_string(chance: Random, schema: Raw) -> None:
    _maybe(chance, schema, 0.3, maxLength=chance.randint(0, 3))
    _maybe(chance, schema, 0.3, minLength=chance.randint(0, 2))
    _maybe(chance, schema, 0.3, pattern=chance.choice(["^[a-z]*$", "b", "^.{1,2}$"]))
    _maybe(chance, schema, 0.2, enum=["a", "red"])
    _maybe(chance, schema, 0.2, anyOf=[{"maxLength": 1}, {"pattern": "^a"}])
    _maybe(chance, schema, 0.1, **{"not": {"enum": ["ab"]}})


def _constrain_number(chance: Random, schema: Raw) -> None:
    whole = schema["type"] == "integer"
    _maybe(chance, schema, 0.4, minimum=chance.choice([0, 1, -3] if whole else [0.5, -1.5]))
    _maybe(chance, schema, 0.4, maximum=chance.choice([2, 5] if whole else [1.5, 4]))
    _maybe(chance, schema, 0.2, exclusiveMaximum=True)
    _maybe(chance, schema, 0.2, multipleOf=2)
    _maybe(chance, schema, 0.2, allOf=[{"maximum": 3}, {"minimum": -2}])


def random_value(chance: Random, schema: Raw, wrong: float = 0.15) -> Any:
    """A value that has the schema's shape, but for some surprises."""
    if chance.random() < wrong:
        return chance.choice([None, 1, 2.5, "x", True, [], {}, {"unknown": 1}, ["a", {}]])
    kind = schema.get("type")
    if kind == "object":
        if "additionalProperties" in schema:
            names = chance.sample(_NAMES, chance.randint(0, 3))
            return {name: random_value(chance, schema["additionalProperties"], wrong) for name in names}
        made = {
            name: random_value(chance, below, wrong)
            for name, below in schema["properties"].items()
            if chance.random() < 0.7
        }
        if chance.random() < wrong:
            made["unknown"] = {"x": [1, {"y": None}]}
        return made
    if kind == "array":
        return [random_value(chance, schema["items"], wrong) for _ in range(chance.randint(0, 3))]
    if kind == "integer":
        return chance.choice([-3, 0, 1, 2, 4, 7, 2.0])
    if kind == "number":
        return chance.choice([-2, 0, 0.5, 1.5, 3, 4.25, 8])
    if kind == "boolean":
        return chance.random() < 0.5
    return chance.choice([*_STRINGS, 5] if kind is None else _STRINGS)


def is_valid(value: Any, schema: Raw) -> bool:
    """Whether a value fits, told as plainly as JSON Schema tells it; numbers as Kubernetes compares them."""
    return _is_of_type(value, schema) and (
        value is None or (_fits_values(value, schema) and _fits_junctors(value, schema) and _fits_below(value, schema))
    )


def _is_of_type(value: Any, schema: Raw) -> bool:
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, str) or _is_integer(value) or (value is None and bool(schema.get("nullable")))
    if kind is None:
        return True
    if value is None:
        return bool(schema.get("nullable"))
    accepts = {
        "string": isinstance(value, str),
        "integer": _is_integer(value),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    return accepts[kind]


def _is_integer(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value % 1 == 0)


def _fits_values(value: Any, schema: Raw) -> bool:
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str):
        return (
            len(value) <= schema.get("maxLength", 99)
            and len(value) >= schema.get("minLength", 0)
            and re.search(schema.get("pattern", "").replace("$", r"\Z"), value) is not None
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    low, high = schema.get("minimum", -99), schema.get("maximum", 99)
    if isinstance(value, int):
        low, high = int(low), int(high)
    below = value < high if schema.get("exclusiveMaximum") else value <= high
    return bool(low <= value and below and value % schema.get("multipleOf", 0.25) == 0)


def _fits_junctors(value: Any, schema: Raw) -> bool:
    fits = [sum(is_valid(value, one) for one in schema.get(name, [])) for name in ("anyOf", "oneOf", "allOf")]
    return (
        ("anyOf" not in schema or fits[0] > 0)
        and ("oneOf" not in schema or fits[1] == 1)
        and fits[2] == len(schema.get("allOf", []))
        and not ("not" in schema and is_valid(value, schema["not"]))
    )


def _fits_below(value: Any, schema: Raw) -> bool:
    if isinstance(value, list):
        size_fits = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 99)
        return size_fits and all(is_valid(one, schema["items"]) for one in value if "items" in schema)
    if not isinstance(value, dict):
        return True
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", 99):
        return False
    if not value.keys() >= set(schema.get("required", ())):
        return False
    other, named = schema.get("additionalProperties"), schema.get("properties", {})
    return all(
        is_valid(one, named[name]) if name in named else other is None or is_valid(one, other)
        for name, one in value.items()
    )
