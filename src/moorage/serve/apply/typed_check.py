"""Check that an applied document fits the schema, which unlike other writes must know every field.

Kubernetes: structured-merge-diff, typed/validate.
"""

import json
from typing import Any

from moorage.model.schema.merge_schema import Scalar
from moorage.serve.apply.ownership_schema import FieldOwnershipSchema
from moorage.serve.apply.path_elements import render_element

_UNTYPED_SCALARS = frozenset({"Quantity", "IntOrString", "Time", "MicroTime"})


def check(value: Any, schema: FieldOwnershipSchema) -> list[str]:
    """What is wrong, as `path: reason`; empty if nothing is."""
    return [f"{path}: {reason}" if path else reason for path, reason in _check(value, schema, "")]


def render_problems(problems: list[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    return "\n".join(["errors:", *(f"  {problem}" for problem in problems)])


def _check(value: Any, schema: FieldOwnershipSchema, path: str) -> list[tuple[str, str]]:
    if value is None or schema.is_untyped:
        return []
    if schema.is_scalar:
        reason = _scalar_problem(value, schema.type)
        return [(path, reason)] if reason else []
    if schema.is_list:
        if not isinstance(value, list):
            return [(path, f"expected list, got &{{{_go(value)}}}")]
        return _check_elements(value, schema, path)
    if not isinstance(value, dict):
        return [(path, f"expected map, got &{{{_go(value)}}}")]
    problems: list[tuple[str, str]] = []
    for name in sorted(value):
        if schema.is_struct and name not in schema.fields:
            problems.append((f"{path}.{name}", "field not declared in schema"))
        else:
            problems += _check(value[name], schema.child(name), f"{path}.{name}")
    return problems


def _check_elements(items: list[Any], schema: FieldOwnershipSchema, path: str) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    seen: set[str] = set()
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        if schema.divides_lists:
            try:
                element = schema.item_element(item)
            except ValueError as error:
                problems.append((path, f"element {index}: {error}"))
                return problems
            where = path + render_element(element)
            if element in seen:
                problems.append((path, f"duplicate entries for key {render_element(element)}"))
            seen.add(element)
        problems += _check(item, schema.element, where)
    return problems


def _scalar_problem(value: Any, type_: Any) -> str:
    json_type = type_.json_type if isinstance(type_, Scalar) else ""
    if isinstance(type_, Scalar) and type_.definition in _UNTYPED_SCALARS:
        return f"expected any scalar, got &{{{_go(value)}}}" if isinstance(value, dict | list) else ""
    if json_type in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"expected numeric (int or float), got {_go_type(value)}"
    elif json_type == "boolean":
        if not isinstance(value, bool):
            return f"expected boolean, got &{{{_go(value)}}}"
    elif not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    return ""


def _go_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "map[string]interface {}" if isinstance(value, dict) else "[]interface {}"


def _go(value: Any) -> str:
    """A value as Go prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_go(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go, value))}]"
    return "<nil>" if value is None else str(value)


def _go_syntax(value: Any) -> str:
    """A value as it would be written in a Go program."""
    if isinstance(value, dict):
        members = ", ".join(f"{json.dumps(name)}:{_go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{members}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    return json.dumps(value) if isinstance(value, str) else "interface {}(nil)" if value is None else _go(value)
