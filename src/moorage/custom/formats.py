"""Check strings against the formats that a schema may ask for.

Every check takes time linear in the text. Kubernetes: kube-openapi, pkg/validation/strfmt; apiextensions-apiserver,
validation/formats.go. Other formats are ignored; dashes in a format's name do not count.
"""

from collections.abc import Callable

from moorage.custom.mail_address import is_email
from moorage.match.cel.libraries.ip_address import AddressError, parse_address
from moorage.match.cel.libraries.url_value import URLError, parse_request_uri
from moorage.model.go.integers import read_int, wrap64
from moorage.model.go.times import DurationError, parse_duration
from moorage.model.names import byte_length
from moorage.model.text.patterns import Pattern, whole
from moorage.model.text.readers import reads_text

_HEX = "[0-9a-fA-F]"
_SHORT_NAME = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_COLOR_PART = r"\s*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*"
_LETTER = r"a-zA-Z0-9\p{S}\p{L}"
_is_single_label, _is_label = whole(f"[{_LETTER}]-?[{_LETTER}]*"), whole(f"[{_LETTER}](?:[{_LETTER}-]*[{_LETTER}])?")
_is_top_label = whole(r"[a-zA-Z\p{L}]{2,}")
_MAX_HOSTNAME, _MAX_LABEL = 255, 63
_is_card_number = whole(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_DATE = Pattern(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = Pattern(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_is_mac_address = whole(
    rf"{_HEX}{{2}}(?:(?::{_HEX}{{2}}){{2,}}|(?:-{_HEX}{{2}}){{2,}})|{_HEX}{{4}}(?:\.{_HEX}{{4}})+|{_HEX}+"
)
_MAC_DIGITS, _MAC_SEPARATORS = (12, 16, 40), str.maketrans("", "", ":.-")
_SEPARATORS = str.maketrans("", "", "\t\n\f\r -")
_is_isbn10_number, _is_isbn13_number = whole("[0-9]{9}[0-9X]"), whole("[0-9]{13}")
_is_prefix_length = whole("[0-9]{1,8}")
_DURATION = Pattern(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_DIGITS = frozenset("0123456789")
_SECOND = 1_000_000_000
#: Names of units, of which the last may go on in any way, and their nanoseconds.
_DURATION_UNITS = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 1_000),
    (("ms", "milli"), 1_000_000),
    (("s", "sec"), _SECOND),
    (("m", "min"), 60 * _SECOND),
    (("h", "hr", "hour"), 3_600 * _SECOND),
    (("d", "day"), 86_400 * _SECOND),
    (("w", "wk", "week"), 7 * 86_400 * _SECOND),
)


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def _is_hostname(text: str) -> bool:
    """Check a host name of at most 255 bytes in labels of at most 63; symbols and letters of any script are allowed."""
    *labels, top = text.split(".")
    if byte_length(text) > _MAX_HOSTNAME or any(byte_length(label) > _MAX_LABEL for label in (*labels, top)):
        return False
    return _is_top_label(top) and all(map(_is_label, labels)) if labels else _is_single_label(top)


@reads_text("http", "://", "a", "/", "%41", "?")
def _is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except URLError:
        return False
    return True


def _without_leading_zeros(text: str) -> str:
    """Return an address whose decimal parts have no leading zeros: Kubernetes still accepts those."""
    if "." not in text:
        return text
    before, colon, decimal = text.rpartition(":")
    return before + colon + ".".join(part.lstrip("0") or part[:1] for part in decimal.split("."))


def _is_address(text: str, *, sloppy: bool) -> bool:
    try:
        return not parse_address(_without_leading_zeros(text) if sloppy else text).zone
    except AddressError:
        return False


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x")
def _is_ipv4(text: str) -> bool:
    return "." in text and _is_address(text, sloppy=True)


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x")
def _is_ipv6(text: str) -> bool:
    return ":" in text and _is_address(text, sloppy=False)


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x")
def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not _is_prefix_length(bits) or not _is_address(address, sloppy=True):
        return False
    return int(bits) <= (128 if ":" in address else 32)


@reads_text("0", "a", ":", "-", ".", "00")
def _is_mac(text: str) -> bool:
    return len(text.translate(_MAC_SEPARATORS)) in _MAC_DIGITS and _is_mac_address(text)


@reads_text("9", "X", "-", " ")
def _is_isbn10(text: str) -> bool:
    digits = text.translate(_SEPARATORS)
    if not _is_isbn10_number(digits):
        return False
    return sum(place * (10 if digit == "X" else int(digit)) for place, digit in enumerate(digits, 1)) % 11 == 0


@reads_text("9", "7", "-", " ")
def _is_isbn13(text: str) -> bool:
    digits = text.translate(_SEPARATORS)
    if not _is_isbn13_number(digits):
        return False
    return sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(digits)) % 10 == 0


@reads_text("4", "1", "-", "x")
def _is_card(text: str) -> bool:
    digits = "".join(letter for letter in text if letter in _DIGITS)
    if not _is_card_number(digits):
        return False
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(map(int, digits[::-2]))) % 10 == 0


def _is_date(text: str) -> bool:
    date = _DATE.fullmatch(text)
    if not date:
        return False
    year, month, day = map(int, date.groups())
    if not 1 <= month <= 12:
        return False
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS[month - 1] + leap


@reads_text("2020-01-01", "t", "10:00:00", ".", "0", "z")
def _is_date_time(text: str) -> bool:
    """Return whether a date, a T and a time make up the text; what follows another T is not looked at."""
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    clock = _TIME.fullmatch(parts[1])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


@reads_text("1", "0", " ", "s", "day", "µ", ".", "h")
def duration_of(text: str) -> int | None:
    """Return the nanoseconds of a duration as Go writes it, or of the parts in words, as in `3 days`; else None."""
    try:
        return parse_duration(text)
    except DurationError:
        parts = [(read_int(part[1]), part[2]) for part in _DURATION.finditer(text)]
    total, is_duration = 0, False
    for number, word in parts:
        if number is None:
            return None
        for unit in _units_of(word.lower()):
            total, is_duration = total + number * unit, True
    return wrap64(total) if is_duration else None


def _units_of(word: str) -> list[int]:
    return [nanos for names, nanos in _DURATION_UNITS if word in names or word.startswith(names[-1])]


def _at_most(limit: int, accepts: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: len(text) <= limit and accepts(text)


_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": whole(f"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": whole(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid3": whole(f"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid4": whole(f"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "uuid5": whole(f"{_HEX}{{8}}-?{_HEX}{{4}}-?5{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    "ssn": whole("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": whole(f"#?(?:{_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": whole(rf"rgb\({_COLOR_PART},{_COLOR_PART},{_COLOR_PART}\)"),
    "byte": whole(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": _is_date,
    "duration": lambda text: duration_of(text) is not None,
    "datetime": _is_date_time,
    "k8sshortname": _at_most(63, whole(_SHORT_NAME)),
    "k8slongname": _at_most(253, whole(rf"{_SHORT_NAME}(?:\.{_SHORT_NAME})*")),
}
_NUMBER_FORMATS = {"integer": frozenset(("int32", "int64")), "number": frozenset(("float", "double"))}


def is_known_format(name: str, types: tuple[str, ...]) -> bool:
    """Return whether a format means something for values of these types; others are ignored."""
    only = types[0] if len(types) == 1 else ""
    if only in _NUMBER_FORMATS:
        return name in _NUMBER_FORMATS[only]
    return only in ("", "string") and name.replace("-", "") in _FORMATS


def format_check(name: str) -> Callable[[str], bool] | None:
    """Return the check of a format of strings, or None for a format of numbers."""
    return _FORMATS.get(name.replace("-", ""))
