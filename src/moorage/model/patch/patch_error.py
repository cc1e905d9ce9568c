"""Define the errors of patches and their answers, compare JSON values as Go does, and bound a document's depth.

Kubernetes: apiserver's handlers/patch.go. Differs: upstream answers a bad strategic merge patch with 500, this is 422,
because the client is at fault; where upstream hides what was wrong with a JSON patch, the answer has it as a cause.
"""

from collections.abc import Callable, Hashable
from typing import Any

from moorage.model.api_error import ApiError, bad_request, failure, request_too_large
from moorage.model.go.foreign_value import ForeignValue
from moorage.model.text.json_text import json_type

BAD_REQUEST, TOO_LARGE, UNPROCESSABLE = 400, 413, 422
#: Deeper than any document of the API, and shallow enough for every recursion over it.
MAX_LEVELS = 200
#: No object of the API has this many, and each takes a hundred times as long to check as to send.
MAX_CONTAINERS = 250_000
_GENERIC = "the server rejected our request due to an error in our request"


class PatchError(Exception):
    """A patch is malformed or does not fit its document. `hidden` texts are not upstream's."""

    def __init__(self, message: str, code: int = UNPROCESSABLE, *, hidden: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hidden = hidden


def refusal(error: PatchError) -> ApiError:
    if error.code == BAD_REQUEST:
        return bad_request(error.message)
    if error.code == TOO_LARGE:
        return request_too_large(error.message)
    if error.hidden:
        cause = {"message": error.message, "field": "patch"}
        return failure(error.code, "Invalid", _GENERIC, {"causes": [cause]})
    return failure(error.code, "Invalid", error.message)


def check_depth(document: Any) -> None:
    """Raise PatchError for a document of too many levels, or of too many objects and lists."""
    level, count = [document], 0
    for _ in range(MAX_LEVELS):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += [item for item in value.values() if isinstance(item, dict | list)]
            elif isinstance(value, list):
                inner += [item for item in value if isinstance(item, dict | list)]
        if not inner:
            return
        level = inner
        count += len(inner)
        if count > MAX_CONTAINERS:
            raise too_many_containers()
    raise too_deep()


def too_many_containers() -> PatchError:
    return PatchError(f"the document has more than {MAX_CONTAINERS} objects and lists", TOO_LARGE)


def too_deep() -> PatchError:
    return PatchError("the document would be nested too deeply", UNPROCESSABLE, hidden=True)


def not_decoded(value: Any, what: str = "value of type map[string]interface {}") -> str:
    """Return the text of Go's decoder about a value of another type than expected."""
    return f"json: cannot unmarshal {json_type(value)} into Go {what}"


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
    if isinstance(value, ForeignValue):
        return value.go_type
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
