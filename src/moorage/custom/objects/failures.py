"""Collect what a value fails at, and count the checks that it passed.

Kubernetes: kube-openapi, pkg/validation/validate/result.go; apiextensions-apiserver, validation/validation.go. Errors
with the same text are reported once. The number decides which alternative of anyOf or oneOf comes closest.
"""

from typing import Any, NamedTuple

from moorage.model.field_error import AsJSON, ErrorKind, FieldError, not_supported, required, too_long, too_many
from moorage.model.field_error import invalid as invalid_value
from moorage.model.go.quoting import go_json, go_quote

#: The path of errors that are not about a field: Kubernetes prints an absent path so.
NO_PATH = "<nil>"


#: Errors of one object that are reported; the others would only fill the answer.
_MAX_ERRORS = 1000
#: The members of an enumeration that an error lists. Differs: Kubernetes lists all of them.
_MAX_MEMBERS = 500


class Failure(NamedTuple):
    """An error, and the text by which equal ones are recognised."""

    text: str
    error: FieldError


class Result:
    """Failures of a value, without repetitions, and how many checks were made on the way."""

    __slots__ = ("failures", "matches")

    def __init__(self, matches: int = 0) -> None:
        self.failures: dict[str, FieldError] = {}
        self.matches = matches

    @property
    def is_full(self) -> bool:
        """Whether no more failures are reported, so that there is no use in looking for them."""
        return len(self.failures) >= _MAX_ERRORS

    def add(self, failure: Failure) -> None:
        if not self.is_full:
            self.failures.setdefault(failure.text, failure.error)

    def merge(self, other: "Result") -> None:
        for failure in other.failures.items():
            self.add(Failure(*failure))
        self.matches += other.matches


class ValuePlace(NamedTuple):
    """Where a value is: the path of the part that is validated, empty for an object, and the path inside of it."""

    base: str
    path: str

    def at_property(self, name: str) -> "ValuePlace":
        return ValuePlace(self.base, f"{self.path}.{name}" if self.path else name)

    def at_key(self, name: str) -> "ValuePlace":
        """Return the place of a property that has no name in the schema: below the root it starts with a dot."""
        return ValuePlace(self.base, f"{self.path}.{name}")

    def at_item(self, number: int) -> "ValuePlace":
        return ValuePlace(self.base, f"{self.path}[{number}]")

    @property
    def field(self) -> str:
        """Return the path that an error names."""
        inside = self.path.removeprefix(".")
        if not inside:
            return self.base or NO_PATH
        return f"{self.base}.{inside}" if self.base else inside

    def failure(self, value: Any, words: str) -> Failure:
        text = f"{self.path} in body {words}"
        return Failure(text, invalid_value(self.field, value, text))

    def wrong_type(self, expected: str, actual: str) -> Failure:
        text = f"{self.path} in body must be of type {expected}: {go_quote(actual)}"
        return Failure(text, FieldError(ErrorKind.TYPE_INVALID, self.field, go_quote(actual), text))

    def missing(self, name: str) -> Failure:
        there = self.at_key(name)
        return Failure(f"{there.path} in body is required", required(there.field))

    def not_in_enum(self, value: Any, allowed: tuple[Any, ...]) -> Failure:
        shown = [item if isinstance(item, str) else go_json(item) for item in allowed[:_MAX_MEMBERS]]
        rendered = value if isinstance(value, str | float) else AsJSON(value)
        return Failure(f"{self.path} in body should be one of {shown}", not_supported(self.field, rendered, shown))

    def forbidden_property(self, name: str) -> Failure:
        text = f"{self.path}.{name} in body is a forbidden property"
        return Failure(text, invalid_value(self.field, name, text))

    def longer_than(self, limit: int) -> Failure:
        return Failure(f"{self.path} in body should be at most {limit} chars long", too_long(self.field, limit))

    def more_than(self, limit: int, actual: int, what: str) -> Failure:
        return Failure(f"{self.path} in body should have at most {limit} {what}", too_many(self.field, actual, limit))

    def general(self, text: str) -> Failure:
        """Return a failure that names no field: of a combinator, or of a number that its type cannot hold."""
        return Failure(text, invalid_value(self.base or NO_PATH, "", text))
