"""Implement the format library: `format.<name>()`, `format.named(<string>)` and `validate(<string>)`.

Kubernetes: apiserver/pkg/cel/library/format.go and pkg/cel/format.go; uuid, byte, date and datetime are kube-openapi's
strfmt. `validate` returns none when all is well, else the complaints. Its actual cost takes each format's own pattern
length, its estimate the longest allowed one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

from moorage.match.cel.functions import (
    REGEX_FACTOR,
    STRING_FACTOR,
    Argument,
    CallEstimate,
    actual_size,
    ceil_factor,
    row,
)
from moorage.match.cel.libraries.url_value import uri_errors
from moorage.match.cel.types import FORMAT
from moorage.match.cel.values import OPTIONAL_NONE, OpaqueValue, OptionalValue
from moorage.model.names import (
    dns1035_label_errors,
    dns1123_label_errors,
    dns1123_subdomain_errors,
    label_key_errors,
    label_value_errors,
)
from moorage.model.text.patterns import Pattern, whole
from moorage.model.text.readers import reads_text

_MAX_PATTERN_LENGTH = 128
_is_uuid = whole(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_is_base64 = whole(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE = Pattern(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = Pattern(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")


@dataclass(frozen=True, slots=True)
class NamedFormat(OpaqueValue):
    """A value of type kubernetes.NamedFormat. `pattern_size` is the length of the pattern it is charged by."""

    cel_type = FORMAT
    name: str
    complaints: Callable[[str], list[str]]
    pattern_size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _prefix_of(complaints: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """As generateName is checked: a trailing dash is taken for a letter (with the character before it)."""

    def check(text: str) -> list[str]:
        if len(text.encode("utf-8", "surrogatepass")) > 1 and text.endswith("-"):
            text = text[:-2] + "a"
        return complaints(text)

    return check


def _unless(valid: Callable[[str], object], complaint: str) -> Callable[[str], list[str]]:
    return lambda text: [] if valid(text) else [complaint]


def _is_date(text: str) -> bool:
    parts = _DATE.fullmatch(text)
    if parts is None:
        return False
    year, month, day = map(int, parts.groups())
    try:
        # Go knows a year 0, which was a leap year as 2000 was; Python's calendar starts at 1.
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True


@reads_text("2020-01-01", "t", "10:00:00", ".", "0", "z", "+01:00")
def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    clock = _TIME.fullmatch(parts[1])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


FORMATS = {
    "dns1123Label": NamedFormat("DNS1123Label", dns1123_label_errors, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", dns1123_subdomain_errors, 60),
    "dns1035Label": NamedFormat("DNS1035Label", dns1035_label_errors, 30),
    "qualifiedName": NamedFormat("QualifiedName", label_key_errors, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix_of(dns1123_label_errors), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix_of(dns1123_subdomain_errors), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix_of(dns1035_label_errors), 30),
    "labelValue": NamedFormat("LabelValue", label_value_errors, 40),
    "uri": NamedFormat("URI", uri_errors, 1103),
    "uuid": NamedFormat("uuid", _unless(_is_uuid, "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _unless(_is_base64, "invalid base64"), 84),
    "date": NamedFormat("date", _unless(_is_date, "invalid date"), 71),
    "datetime": NamedFormat("datetime", _unless(_is_datetime, "invalid datetime"), 71),
}


def _named(name: str) -> OptionalValue:
    return OptionalValue.of(FORMATS[name]) if name in FORMATS else OPTIONAL_NONE


def _validate(named: NamedFormat, text: str) -> OptionalValue:
    complaints = named.complaints(text)
    return OptionalValue.of(complaints) if complaints else OPTIONAL_NONE


def _validate_estimate(_: Argument, text: Argument) -> CallEstimate:
    return CallEstimate(text.size.by_factor(STRING_FACTOR).by_factor(_MAX_PATTERN_LENGTH * REGEX_FACTOR))


def _validate_cost(values: Sequence[Any]) -> int:
    named, text = values
    if not isinstance(named, NamedFormat):
        return 1
    return ceil_factor(actual_size(text) + 1, STRING_FACTOR) * ceil_factor(named.pattern_size, REGEX_FACTOR)


FUNCTIONS = (
    row(
        "NamedFormat.validate(string) -> optional_type(list(string))",
        "format-validate",
        _validate,
        _validate_estimate,
        _validate_cost,
    ),
    row("format.named(string) -> optional_type(NamedFormat)", "format-named", _named),
    *(row(f"format.{name}() -> NamedFormat", f"format.{name}", partial(FORMATS.get, name)) for name in FORMATS),
)
