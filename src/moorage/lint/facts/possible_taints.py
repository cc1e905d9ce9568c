"""Build a finite list of taints that tells tolerations apart.

Two sets of these tolerations match the same taints exactly if they match the same taints of the list, so "no taint
matches" and "the others match as much" need a few dozen taints. A toleration asks whether a value is a given text, or
on which side of a threshold its number or version is: one value for each threshold and each interval between them
stands for all. A taint's value is a label value: never negative, without `+`, at most 63 bytes.
Kubernetes: validateNodeTaints decides what a node can have.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache

from moorage.match.comparison import CANONICAL_INTEGER, VERSION
from moorage.match.numeric import NumberError, parse_canonical_int64
from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.semver import Version, version_or_none
from moorage.model.names import label_value_errors
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
ANY_OTHER_KEY = "moorage.example/any-other-key"
_MAX_INT64, _MAX_UINT64 = 2**63 - 1, 2**64 - 1
_HIGHEST_VERSION = f"{_MAX_UINT64}.{_MAX_UINT64}.{_MAX_UINT64}"


def possible_taints(tolerations: Sequence[Toleration]) -> list[Taint]:
    plain = [toleration for toleration in tolerations if not toleration.expression]
    keys = dict.fromkeys(toleration.key for toleration in plain if toleration.key)
    taints: list[Taint] = []
    for key in keys:
        values = possible_values(
            tuple((t.operator, t.value) for t in plain if t.key == key or (not t.key and t.operator != "Exists"))
        )
        taints += [Taint(key, value, effect) for effect in EFFECTS for value in values]
    if any(not toleration.key for toleration in plain):
        taints += [Taint(ANY_OTHER_KEY, "", effect) for effect in EFFECTS]
    return taints


@lru_cache(maxsize=1024)
def possible_values(wanted: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return a text for every interval that these (operator, value) pairs cut the label values into."""
    exact = {value: None for operator, value in wanted if operator in ("", "Equal")}
    numbers, versions = _thresholds(wanted)
    texts = dict.fromkeys(["", *exact, _word_outside(exact)])
    for number in numbers:
        texts.update(dict.fromkeys(str(near) for near in (number - 1, number, number + 1)))
    if versions:
        texts["0.0.0-0"] = texts[_HIGHEST_VERSION] = None
    for version in versions:
        texts[_text_outside(version, exact)] = None
        if (above := _next_above(version)) is not None:
            texts[str(above)] = None
    return tuple(text for text in texts if not label_value_errors(text))


def _thresholds(wanted: Iterable[tuple[str, str]]) -> tuple[list[int], list[Version]]:
    """Return every number and version at which the answer may change. `7` is a number and the version 7.0.0."""
    numbers: dict[int, None] = {0: None, _MAX_INT64: None}
    versions: dict[Version, None] = {}
    for operator, value in wanted:
        comparison = comparison_of(operator, TOLERATION)
        kind = comparison.kind if comparison is not None else None
        if kind is not VERSION:
            with suppress(NumberError):
                numbers[parse_canonical_int64(value)] = None
        version = None if kind is CANONICAL_INTEGER or operator == "Exists" else version_or_none(value)
        if version is not None:
            versions[Version(version.major, version.minor, version.patch, version.pre)] = None
            numbers[version.major] = None
    return list(numbers), list(versions)


def _word_outside(exact: Iterable[str]) -> str:
    """Return a text that is no number, no version and none of the given ones."""
    taken = set(exact)
    word = "some-word"
    while word in taken:
        word += "-x"
    return word


def _text_outside(version: Version, exact: Iterable[str]) -> str:
    """Write the version as a text that is no integer and none of the given: 7.0.0, v7.0.0, 07.0.0, 007.0.0, …"""
    taken = set(exact)
    for text in (str(version), f"v{version}"):
        if text not in taken:
            return text
    text = f"0{version}"
    while text in taken:
        text = f"0{text}"
    return text


def _next_above(version: Version) -> Version | None:
    """Return the lowest version above this one: after 1.2.3 comes 1.2.4-0, after 1.2.3-rc comes 1.2.3-rc.0."""
    if version.pre:
        return Version(version.major, version.minor, version.patch, (*version.pre, 0))
    if version.patch < _MAX_UINT64:
        return Version(version.major, version.minor, version.patch + 1, (0,))
    if version.minor < _MAX_UINT64:
        return Version(version.major, version.minor + 1, 0, (0,))
    if version.major < _MAX_UINT64:
        return Version(version.major + 1, 0, 0, (0,))
    return None
