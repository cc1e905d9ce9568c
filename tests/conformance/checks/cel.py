"""cel_taint.json and cel_spec.json: expressions over taints as Kubernetes judges them, and the language's own suite."""

import base64
import math
import re
from types import SimpleNamespace
from typing import Any

from tests.conformance.checks.cel_strings_latest import FUNCTIONS as STRINGS_LATEST

from moorage.match.cel import CelError, Environment, Program, compile_expression, render_issues, taint_environment
from moorage.match.cel import types as cel_types
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, MAX_LENGTH
from moorage.match.cel.libraries import strings
from moorage.match.cel.program import NOT_INSTANTIATED, TOO_COMPLEX
from moorage.match.cel.values import CelMap, Duration, OptionalValue, Timestamp, UInt
from moorage.model.field_error import forbidden, internal_error, invalid, too_long

_PATH = "spec.tolerations[0].expression"
_PLACES = re.compile(r"ERROR: <input>:\S+: Syntax error")


def check_cel_taint(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    source = _expression(given)
    got = _judge(source, given["taints"])
    if "Syntax error" in want.get("error", ""):
        # Only where a syntax error is found is promised, not how it is worded.
        places = _PLACES.findall(want["error"])
        same = got["compile"] == "error" and _PLACES.findall(got["error"]) == places
        return None if same else f"{source!r}: {got.get('error')}, want {want['error']}"
    for key in sorted(got.keys() | want.keys()):
        if key == "maxCostUnbounded":
            continue
        if got.get(key) != want.get(key):
            return f"{source[:200]!r}: {key} is {got.get(key)}, want {want.get(key)}"
    return None


def _expression(given: dict[str, Any]) -> str:
    if "expression" in given:
        return str(given["expression"])
    repeat = given["expressionRepeat"]
    return str(repeat.get("prefix", "") + repeat["unit"] * repeat["count"] + repeat.get("suffix", ""))


def _judge(source: str, taints: list[dict[str, str]]) -> dict[str, Any]:
    if len(source.encode()) > MAX_LENGTH:
        return {"compile": "too-long", "validationError": str(too_long(_PATH, MAX_LENGTH))}
    program = compile_expression(source, taint_environment())
    if not isinstance(program, Program):
        error = render_issues(source, program)
        internal = error.startswith(NOT_INSTANTIATED)
        complaint = internal_error(_PATH, error) if internal else invalid(_PATH, source, error)
        return {"compile": "error", "error": error, "validationError": str(complaint)}
    judged: dict[str, Any] = {
        "compile": "ok",
        "minCost": str(program.estimate.min),
        "maxCost": str(program.estimate.max),
        "results": [_evaluate(program, taint) for taint in taints],
    }
    if program.exceeds_cost_limit:
        judged["validationError"] = str(forbidden(_PATH, TOO_COMPLEX))
    return judged


def _evaluate(program: Program, taint: dict[str, str]) -> dict[str, Any]:
    try:
        result, cost = program.evaluate_with_cost(SimpleNamespace(**taint))
    except CelError as error:
        return {"cost": error.cost, "error": str(error)}
    return {"cost": cost, "result": result}


# -- the language's suite

_SPEC_FUNCTIONS = tuple(row for row in KUBERNETES_FUNCTIONS if row not in strings.FUNCTIONS) + STRINGS_LATEST
_TYPES = {
    "int": cel_types.INT,
    "uint": cel_types.UINT,
    "double": cel_types.DOUBLE,
    "bool": cel_types.BOOL,
    "string": cel_types.STRING,
    "bytes": cel_types.BYTES,
    "null": cel_types.NULL,
    "dyn": cel_types.DYN,
    "duration": cel_types.DURATION,
    "timestamp": cel_types.TIMESTAMP,
}


def check_cel_spec(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    environment = Environment(
        _SPEC_FUNCTIONS,
        variables={name: _read_type(text) for name, text in given["declare"].items()},
        container=given.get("container") or "",
        homogeneous=False,
        strict_presence=True,
    )
    label = f"{given['file']}/{given['section']}/{given['name']}: {given['expr'][:200]!r}"
    program = compile_expression(given["expr"], environment, checked=given["typeChecked"])
    if not isinstance(program, Program):
        return None if want.get("error") else f"{label}: {render_issues(given['expr'], program)}"
    try:
        got = program.run({name: _read_value(value) for name, value in given["bindings"].items()})
    except CelError as error:
        return None if want.get("error") else f"{label}: {error}"
    if want.get("error"):
        return f"{label}: gave {got!r}, want an error"
    return None if _same(got, want["value"]) else f"{label}: gave {got!r}, want {want['value']}"


def _read_type(text: str) -> cel_types.Type:
    name, _, rest = text.partition("(")
    if not rest:
        return _TYPES.get(text, cel_types.DYN)
    parts = [_read_type(part) for part in _split_top(rest[:-1])]
    if name == "list":
        return cel_types.list_of(parts[0])
    if name == "map":
        return cel_types.map_of(parts[0], parts[1])
    if name == "type":
        return cel_types.type_of(parts[0])
    return cel_types.opaque(name, *parts)


def _split_top(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()]


def _read_value(value: dict[str, Any]) -> Any:
    kind: str = value["type"]
    raw: Any = value.get("value")
    if kind == "int":
        return int(raw)
    if kind == "uint":
        return UInt(raw)
    if kind == "double":
        return float(raw)
    if kind == "bytes":
        return base64.b64decode(raw)
    if kind == "list":
        return [_read_value(item) for item in raw]
    if kind == "map":
        return CelMap([(_read_value(key), _read_value(item)) for key, item in raw])
    return raw


def _same(got: Any, want: dict[str, Any]) -> bool:
    """Whether a value is the one wanted, type included."""
    kind: str = want["type"]
    raw: Any = want.get("value")
    if kind == "double":
        wanted = float(raw)
        return type(got) is float and (got == wanted or (math.isnan(got) and math.isnan(wanted)))
    if kind == "list":
        return isinstance(got, list) and len(got) == len(raw) and all(map(_same, got, raw))
    if kind == "map":
        if not isinstance(got, CelMap) or len(got) != len(raw):
            return False
        return all(key in got and _same(got.find(key), item) for key, item in ((_read_value(k), v) for k, v in raw))
    if kind == "type":
        return isinstance(got, cel_types.Type) and got.name == raw
    if isinstance(got, Duration | Timestamp | OptionalValue):
        return bool(_show_time(got) == raw)
    wanted_value = _read_value(want)
    return type(got) is type(wanted_value) and bool(got == wanted_value)


def _show_time(value: Any) -> Any:
    return value.nanos if isinstance(value, Duration | Timestamp) else value
