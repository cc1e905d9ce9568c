"""Number versions so that integers compare as they do: the ordered integer of labels and thresholds.

It is (major × 10^12 + minor × 10^6 + patch) × 2, plus 1 for a release, so that every version compares rightly with
every release. Kubernetes: node affinity's Gt and Lt, which compare 64-bit integers.
Differs: of two pre-releases of a version neither is less; a part of a million or more has no number.
"""

from typing import Final

from moorage.match.semver import Version, version_or_none

#: Each part of a version is below this.
PART: Final = 10**6


def ordered_integer(text: str) -> int | None:
    """Return the number of a version, however short it is written; None for other texts and versions without one."""
    version = version_or_none(text)
    return None if version is None else _number(version)


def threshold(text: str) -> int | None:
    """Return the number with which the numbers of all versions compare rightly; None if no such number exists."""
    version = version_or_none(text)
    return None if version is None or version.pre else _number(version)


def _number(version: Version) -> int | None:
    if max(version.major, version.minor, version.patch) >= PART:
        return None
    return (version.major * PART**2 + version.minor * PART + version.patch) * 2 + (not version.pre)
