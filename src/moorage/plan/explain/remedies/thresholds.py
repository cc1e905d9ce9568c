"""How far a threshold has to be moved: an operator and the value on the node → the nearest value that holds.

In: `Lt`, `Gt`, `SemverLt`, `SemverGt`, `SemverEq` and a taint's or label's value. Out: the value for the pod's side,
and the other way round.
"""

from moorage.match.numeric import parse_int64
from moorage.match.semver import SemverError, Version, parse_tolerant

_MOST, _LEAST = 2**63 - 1, -(2**63)
NUMERIC, SEMVER = ("Lt", "Gt"), ("SemverLt", "SemverGt", "SemverEq")
ORDERED = NUMERIC + SEMVER


def wanted_value(operator: str, actual: str) -> str | None:
    """The nearest value for which `actual OPERATOR value` holds; None if there is none."""
    if operator in NUMERIC:
        return _moved(actual, 1 if operator == "Lt" else -1)
    version = _version(actual)
    if version is None:
        return None
    if operator == "SemverEq":
        return str(_plain(version))
    return _above(version) if operator == "SemverLt" else _below(version)


def actual_value(operator: str, wanted: str) -> str | None:
    """The nearest value on the node for which `value OPERATOR wanted` holds."""
    if operator in NUMERIC:
        return _moved(wanted, -1 if operator == "Lt" else 1)
    version = _version(wanted)
    if version is None:
        return None
    if operator == "SemverEq":
        return str(_plain(version))
    return _below(version) if operator == "SemverLt" else _above(version)


def distance(operator: str, before: str, after: str) -> float:
    """How far apart two thresholds are, to tell a small move from a large one."""
    if operator in NUMERIC:
        first, second = _integer(before), _integer(after)
        return float(abs(second - first)) if first is not None and second is not None else 0.0
    old, new = _version(before), _version(after)
    if old is None or new is None:
        return 0.0
    return abs((new.major - old.major) * 1e12 + (new.minor - old.minor) * 1e6 + (new.patch - old.patch))


def _integer(text: str) -> int | None:
    try:
        return parse_int64(text)
    except ValueError:
        return None


def _moved(text: str, by: int) -> str | None:
    number = _integer(text)
    if number is None or not _LEAST <= number + by <= _MOST:
        return None
    return str(number + by)


def _version(text: str) -> Version | None:
    try:
        return parse_tolerant(text)
    except SemverError:
        return None


def _plain(version: Version) -> Version:
    return Version(version.major, version.minor, version.patch, version.pre)


def _above(version: Version) -> str:
    """A version above this one that people would write: its release, or the next patch."""
    if version.pre:
        return f"{version.major}.{version.minor}.{version.patch}"
    return f"{version.major}.{version.minor}.{version.patch + 1}"


def _below(version: Version) -> str | None:
    if version.patch:
        return f"{version.major}.{version.minor}.{version.patch - 1}"
    # Below x.y.0 there is no release that all who number versions have made; its first pre-release is.
    return None if version.pre else f"{version.major}.{version.minor}.0-0"
