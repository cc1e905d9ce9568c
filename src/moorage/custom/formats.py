"""Check strings against the formats that a schema may ask for, mail addresses among them.

Kubernetes: kube-openapi, pkg/validation/strfmt; apiextensions-apiserver, validation/formats.go. Other formats are
ignored; dashes in a format's name do not count. `email` follows Go's net/mail.ParseAddress (RFC 5322): `a@b.c`,
`Name <a@b.c>`, quoted local parts, comments, groups of one. Encoded words in names are not decoded.
"""

import re
from collections.abc import Callable

from moorage.match.cel.libraries.ip_address import AddressError, parse_address
from moorage.match.cel.libraries.url_value import URLError, parse_request_uri
from moorage.match.cel.patterns import search
from moorage.model.go.integers import fits_int64, wrap64
from moorage.model.go.times import DurationError, parse_duration
from moorage.model.names import byte_length

_SPECIAL = frozenset('()[];@\\,<>":')
_SPACE = " \t"


class _NotAnAddressError(Exception):
    pass


def is_email(text: str) -> bool:
    """Return whether the text is one mail address."""
    reader = _Reader(text)
    try:
        addresses = reader.read_address(groups=True)
        reader.skip_comments()
    except _NotAnAddressError:
        return False
    return addresses == 1 and not reader.rest


class _Reader:
    """What is left of the text. Methods that read raise _NotAnAddressError."""

    def __init__(self, text: str) -> None:
        self.rest = text

    def read_address(self, *, groups: bool) -> int:
        """Read an address, or a group if those are allowed. Returns how many addresses that is."""
        self._skip_space()
        before = self.rest
        try:
            self._read_plain_address()
        except _NotAnAddressError:
            self.rest = before
        else:
            self._skip_space()
            if self.rest.startswith("("):
                self._read_comment()
            return 1
        if not self.rest.startswith("<"):
            self._read_phrase()
        self._skip_space()
        if groups and self._consume(":"):
            return self._read_group()
        self._expect("<")
        self._read_plain_address()
        self._expect(">")
        return 1

    def skip_comments(self) -> None:
        self._skip_space()
        while self.rest.startswith("("):
            self._read_comment()
            self._skip_space()

    def _read_group(self) -> int:
        self._skip_space()
        if self._consume(";"):
            return 0
        count = 0
        while True:
            self._skip_space()
            count += self.read_address(groups=False)
            self.skip_comments()
            if self._consume(";"):
                self.skip_comments()
                return count
            self._expect(",")

    def _read_plain_address(self) -> None:
        self._skip_space()
        if self.rest.startswith('"'):
            if self._read_quoted() == 0:
                raise _NotAnAddressError
        else:
            self._read_atom(strict=True)
        self._expect("@")
        self._skip_space()
        if self.rest.startswith("["):
            self._read_literal()
        else:
            self._read_atom(strict=True)

    def _read_phrase(self) -> None:
        words = 0
        while self.rest:
            if words:
                self.skip_comments()
            self._skip_space()
            before = self.rest
            try:
                if self.rest.startswith('"'):
                    self._read_quoted()
                else:
                    self._read_atom(strict=False)
            except _NotAnAddressError:
                self.rest = before
                break
            words += 1
        if not words:
            raise _NotAnAddressError

    def _read_atom(self, *, strict: bool) -> None:
        end = 0
        while end < len(self.rest) and _is_atom_letter(self.rest[end]):
            end += 1
        atom = self.rest[:end]
        if not atom or (strict and (atom[0] == "." or atom[-1] == "." or ".." in atom)):
            raise _NotAnAddressError
        self.rest = self.rest[end:]

    def _read_quoted(self) -> int:
        """Read a quoted string. Returns its length."""
        at, length = 1, 0
        while at < len(self.rest):
            letter = self.rest[at]
            if letter == '"':
                self.rest = self.rest[at + 1 :]
                return length
            if letter == "\\":
                at += 1
                letter = self.rest[at : at + 1]
            if not letter or not (_is_visible(letter) or letter in _SPACE):
                raise _NotAnAddressError
            at, length = at + 1, length + 1
        raise _NotAnAddressError

    def _read_literal(self) -> None:
        inside, bracket, after = self.rest[1:].partition("]")
        try:
            address = parse_address(inside)
        except AddressError:
            raise _NotAnAddressError from None
        if not bracket or address.zone:
            raise _NotAnAddressError
        self.rest = after

    def _read_comment(self) -> None:
        depth, at = 0, 0
        while at < len(self.rest):
            letter = self.rest[at]
            depth += (letter == "(") - (letter == ")")
            at += 2 if letter == "\\" else 1
            if depth == 0:
                self.rest = self.rest[at:]
                return
        raise _NotAnAddressError

    def _skip_space(self) -> None:
        self.rest = self.rest.lstrip(_SPACE)

    def _consume(self, letter: str) -> bool:
        if not self.rest.startswith(letter):
            return False
        self.rest = self.rest[1:]
        return True

    def _expect(self, letter: str) -> None:
        if not self._consume(letter):
            raise _NotAnAddressError


def _is_visible(letter: str) -> bool:
    return "!" <= letter <= "~" or letter >= "\x80"


def _is_atom_letter(letter: str) -> bool:
    return letter not in _SPECIAL and _is_visible(letter)


_HEX = "[0-9a-fA-F]"
_SHORT_NAME = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_COLOR_PART = r"\s*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*"
_HOSTNAME_LETTER = r"a-zA-Z0-9\p{S}\p{L}"
_HOSTNAME = (
    rf"^(?:[{_HOSTNAME_LETTER}](?:-?[{_HOSTNAME_LETTER}]{{0,62}})?"
    rf"|(?:[{_HOSTNAME_LETTER}](?:[{_HOSTNAME_LETTER}-]{{0,61}}[{_HOSTNAME_LETTER}])?\.)+[a-zA-Z\p{{L}}]{{2,63}})$"
)
_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MAC = re.compile(rf"({_HEX}{{2}})(?:([:-]){_HEX}{{2}})(?:\2{_HEX}{{2}})+|{_HEX}{{4}}(?:\.{_HEX}{{4}})+|{_HEX}+")
_MAC_DIGITS = (12, 16, 40)
_SEPARATORS = re.compile(r"[\t\n\f\r -]+")
_DURATION = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
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


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _is_hostname(text: str) -> bool:
    if byte_length(text) > 255 or any(byte_length(label) > 63 for label in text.split(".")):
        return False
    return search(_HOSTNAME, text)


def _is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except URLError:
        return False
    return True


def _without_leading_zeros(text: str) -> str:
    """Return an address whose decimal parts have no leading zeros: Kubernetes still accepts those."""
    return re.sub(r"(?<![0-9a-fA-F:])0+(?=[0-9])|(?<=:)0+(?=[0-9]+\.)", "", text) if "." in text else text


def _is_address(text: str, *, sloppy: bool) -> bool:
    try:
        return not parse_address(_without_leading_zeros(text) if sloppy else text).zone
    except AddressError:
        return False


def _is_ipv4(text: str) -> bool:
    return "." in text and _is_address(text, sloppy=True)


def _is_ipv6(text: str) -> bool:
    return ":" in text and _is_address(text, sloppy=False)


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not re.fullmatch("[0-9]{1,8}", bits) or not _is_address(address, sloppy=True):
        return False
    return int(bits) <= (128 if ":" in address else 32)


def _is_mac(text: str) -> bool:
    return _MAC.fullmatch(text) is not None and len(re.sub("[:.-]", "", text)) in _MAC_DIGITS


def _is_isbn10(text: str) -> bool:
    digits = _SEPARATORS.sub("", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    return sum(place * (10 if digit == "X" else int(digit)) for place, digit in enumerate(digits, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _SEPARATORS.sub("", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(digits)) % 10 == 0


def _is_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
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


def _is_date_time(text: str) -> bool:
    """Return whether a date, a T and a time make up the text; what follows another T is not looked at."""
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    clock = _TIME.fullmatch(parts[1])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


def duration_of(text: str) -> int | None:
    """Return the nanoseconds of a duration as Go writes it, or of the parts in words, as in `3 days`; else None."""
    try:
        return parse_duration(text)
    except DurationError:
        parts = _DURATION.findall(text)
    if not all(fits_int64(int(number[:32])) for number, _ in parts):
        return None
    durations = [int(number) * unit for number, word in parts for unit in _units_of(word.lower())]
    return wrap64(sum(durations)) if durations else None


def _units_of(word: str) -> list[int]:
    return [nanos for names, nanos in _DURATION_UNITS if word in names or word.startswith(names[-1])]


def _at_most(limit: int, accepts: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: len(text) <= limit and accepts(text)


_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matches(f"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid3": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid4": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "uuid5": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?5{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    "ssn": _matches("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": _matches(f"#?(?:{_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _matches(rf"rgb\({_COLOR_PART},{_COLOR_PART},{_COLOR_PART}\)"),
    "byte": _matches(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": _is_date,
    "duration": lambda text: duration_of(text) is not None,
    "datetime": _is_date_time,
    "k8sshortname": _at_most(63, _matches(_SHORT_NAME)),
    "k8slongname": _at_most(253, _matches(rf"{_SHORT_NAME}(?:\.{_SHORT_NAME})*")),
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
