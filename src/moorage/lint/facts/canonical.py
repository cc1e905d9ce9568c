"""What somebody probably meant: `007` → `7`, `1e3` → `1000`, `containerd://2.1.4` → `2.1.4`.

In: a text that is no canonical integer, or no semantic version. Out: the nearest one, or None where a guess would be
worse than silence. Kubernetes: says only that it is invalid.
"""

from __future__ import annotations

import re

from moorage.match.numeric import NumberError, parse_canonical_int64
from moorage.match.semver import SemverError, parse_tolerant

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)(?:\.0*)?", re.ASCII)
_SCIENTIFIC = re.compile(r"([+-]?[1-9][0-9]*)[eE]\+?([0-9]{1,2})", re.ASCII)
_VERSION = re.compile(r"v?([0-9]+(?:\.[0-9]+){0,2})(-[0-9A-Za-z][0-9A-Za-z.-]*)?", re.ASCII)
_LONGEST = 100


def canonical_number(text: str) -> str | None:
    """The integer in canonical form, if the text is one in another form."""
    if len(text) > _LONGEST:
        return None
    plain = text.strip().replace("_", "").replace(",", "")
    if found := _SCIENTIFIC.fullmatch(plain):
        candidate = found[1].removeprefix("+") + "0" * int(found[2])
    elif found := _INTEGER.fullmatch(plain):
        digits = found[2].lstrip("0") or "0"
        candidate = f"-{digits}" if found[1] == "-" and digits != "0" else digits
    else:
        return None
    try:
        parse_canonical_int64(candidate)
    except NumberError:
        return None
    return candidate


def nearest_version(text: str) -> str | None:
    """The first thing in the text that is a version, with what follows the dash if that parses too."""
    found = _VERSION.search(text[:_LONGEST].strip())
    if found is None:
        return None
    numbers = found[1] + ".0" * (2 - found[1].count("."))
    for candidate in (numbers + (found[2] or ""), numbers):
        try:
            parse_tolerant(candidate)
        except SemverError:
            continue
        return candidate if candidate != text else None
    return None
