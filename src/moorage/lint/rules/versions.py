"""Find versions in comparisons (KEP-5721) that parse as pre-releases: `> 5.15.0-91-generic` does not mean what it says.

`1.36.0-rc.1` and `1.36.0-0` are meant as pre-releases; `5.15.0-91-generic`, `1.30.5-gke.1014001` and
`1.29.0-eks-5e0fdde` are builds after the release, yet parse as pre-releases and sort below it. `facts` reports the
taints and labels of nodes that meet such a comparison.
Kubernetes: blang/semver, which follows semver.org.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from moorage.lint.subject import Complaint, Subject, node_requirements, toleration_lists
from moorage.match.comparison import VERSION
from moorage.match.operators import BY_NAME, NODE_SELECTOR, TOLERATION, OperatorPlace, comparison_of
from moorage.match.semver import version_or_none

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.match.semver import Version


def check_versions(subject: Subject) -> Iterator[Complaint]:
    for listed in toleration_lists(subject):
        for index, toleration in enumerate(listed.tolerations):
            if _compares_versions(toleration.operator, TOLERATION):
                yield from _check(toleration.operator, toleration.value, f"{listed.path}[{index}].value")
    for path, requirement in node_requirements(subject):
        if _compares_versions(requirement.operator, NODE_SELECTOR) and len(requirement.values) == 1:
            yield from _check(requirement.operator, requirement.values[0], f"{path}.values[0]")


def _check(operator: str, value: str, path: str) -> Iterator[Complaint]:
    version = version_or_none(value)
    if version is None or not is_distribution_build(version):
        return
    base = base_of(version)
    consequence = BY_NAME[operator].prerelease.format(base=base, value=value)
    yield Complaint(
        "version-is-prerelease",
        path,
        f"{value} parses as a pre-release of {base} and sorts below it: {consequence}",
        f"compare with a release, such as {base}: parts with letters are compared as text, so that 100-x is below 91-x",
    )


def _compares_versions(operator: str, place: OperatorPlace) -> bool:
    comparison = comparison_of(operator, place)
    return comparison is not None and comparison.kind is VERSION


#: The first word of what is meant as a pre-release.
_PRERELEASE = re.compile(
    "(a|alpha|b|beta|c|canary|cr|dev|ea|experimental|m|milestone|next|nightly|pre|preview"
    "|prerelease|rc|snapshot|test|unstable)(?![a-z])",
    re.IGNORECASE,
)


def is_distribution_build(version: Version) -> bool:
    """True if the version parses as a pre-release though it was not meant as one."""
    if not version.pre:
        return False
    first = version.pre[0]
    if isinstance(first, int):
        return first != 0  # `-0` is how people write "and its pre-releases"
    return _PRERELEASE.match(first) is None


def base_of(version: Version) -> str:
    return f"{version.major}.{version.minor}.{version.patch}"


def same_base(one: Version, other: Version) -> bool:
    return (one.major, one.minor, one.patch) == (other.major, other.minor, other.patch)
