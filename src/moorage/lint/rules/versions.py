"""Find versions in comparisons that parse as pre-releases: `> 5.15.0-91-generic` does not mean what it says.

In: tolerations and node affinity with the operators of KEP-5721. Out: `version-is-prerelease` at the pod's side;
`facts` reports the node's side, where a taint or label meets such a comparison. Kubernetes: blang/semver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.subject import Complaint, Subject, node_requirements
from moorage.match.comparison import VERSION
from moorage.match.operators import BY_NAME, NODE_SELECTOR, TOLERATION, OperatorPlace, comparison_of
from moorage.match.semver import SemverError, parse_tolerant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.match.semver import Version


def check_versions(subject: Subject) -> Iterator[Complaint]:
    if subject.pods is not None:
        for index, toleration in enumerate(subject.pods.spec.tolerations):
            if _compares_versions(toleration.operator, TOLERATION):
                path = f"{subject.pods.spec_path}.tolerations[{index}].value"
                yield from _check(toleration.operator, toleration.value, path)
    for path, requirement in node_requirements(subject):
        if _compares_versions(requirement.operator, NODE_SELECTOR) and len(requirement.values) == 1:
            yield from _check(requirement.operator, requirement.values[0], f"{path}.values[0]")


def _check(operator: str, value: str, path: str) -> Iterator[Complaint]:
    try:
        version = parse_tolerant(value)
    except SemverError:
        return
    if not is_distribution_build(version):
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
    """Return whether the version parses as a pre-release though it does not look like one."""
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
