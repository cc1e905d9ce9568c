"""Print JSON values as Go's `%v` and `%s` do, name their Go types, and compare them as Go does."""

from collections.abc import Callable, Hashable
from typing import Any

from moorage.serve.patch.patch_error import PatchError

_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map[string]interface {}"}


def go_value(value: Any, other: Callable[[Any], str] | None = None) -> str:
    """`%v`: maps sorted by key, no quotes. `other` prints what is neither text nor map nor list."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{go_value(value[name], other)}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_value(item, other) for item in value) + "]"
    if other is not None:
        return other(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _go_float(value)
    return "<nil>" if value is None else str(value)


def go_string(value: Any) -> str:
    """`%s`, which marks values that are not strings."""
    return go_value(
        value, lambda other: f"%!s({go_type(other)}={go_value(other)})" if other is not None else "%!s(<nil>)"
    )


def go_type(value: Any) -> str:
    return "%!s(<nil>)" if value is None else _TYPES.get(type(value), "[]interface {}")


def token(value: Any) -> Hashable:
    """Equal for values that Go finds equal: of one type and the same. Raises PatchError for maps and lists."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        raise PatchError(f"elements and merge keys of lists that are merged cannot be of type {go_type(value)}")
    return (type(value), value)


def _go_float(value: float) -> str:
    """`%v` of a float64: `%g` with the fewest digits, and an exponent from 1e+21 on."""
    digits = repr(value)
    if 1e-4 <= abs(value) < 1e21 or value == 0:
        return str(int(value)) if value.is_integer() else digits
    mantissa, _, exponent = f"{value:e}".partition("e") if "e" not in digits else digits.partition("e")
    sign = "-" if exponent.startswith("-") else "+"
    return f"{mantissa}e{sign}{exponent.lstrip('+-').zfill(2)}"
