"""Is the part after the dash a pre-release, or what a distribution calls its builds?

In: a parsed version. Out: whether its author can have meant a pre-release. `1.36.0-rc.1` and `1.36.0-0` are meant so;
`5.15.0-91-generic`, `1.30.5-gke.1014001` and `1.29.0-eks-5e0fdde` are builds *after* the release, yet parse as
pre-releases and sort below it. Kubernetes: blang/semver, which follows semver.org.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.match.semver import Version

_WORDS = frozenset(
    {
        "a",
        "alpha",
        "b",
        "beta",
        "c",
        "canary",
        "cr",
        "dev",
        "ea",
        "experimental",
        "m",
        "milestone",
        "next",
        "nightly",
        "pre",
        "preview",
        "prerelease",
        "rc",
        "snapshot",
        "test",
        "unstable",
    }
)


def is_distribution_build(version: Version) -> bool:
    """Whether the version parses as a pre-release though it does not look like one."""
    if not version.pre:
        return False
    first = version.pre[0]
    if isinstance(first, int):
        return first != 0  # `-0` is how people write "and its pre-releases"
    letters = first.lower()
    for end, character in enumerate(letters):
        if not "a" <= character <= "z":
            letters = letters[:end]
            break
    return letters not in _WORDS


def base_of(version: Version) -> str:
    return f"{version.major}.{version.minor}.{version.patch}"


def same_base(one: Version, other: Version) -> bool:
    return (one.major, one.minor, one.patch) == (other.major, other.minor, other.patch)
