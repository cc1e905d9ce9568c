"""Versions asked for that parse as pre-releases: `SemverGt 5.15.0-91-generic` does not mean what it says.

In: tolerations and node affinity with Semver operators. Out: `version-is-prerelease` at the pod's side; `facts` says it
at the node's side, where a taint or label meets such a comparison. Kubernetes: blang/semver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.facts.node_requirements import node_requirements
from moorage.lint.facts.prereleases import base_of, is_distribution_build
from moorage.lint.subject import Complaint, Subject
from moorage.match.semver import SemverError, parse_tolerant

if TYPE_CHECKING:
    from collections.abc import Iterator

SEMVER_OPERATORS = ("SemverLt", "SemverGt", "SemverEq")


def check_versions(subject: Subject) -> Iterator[Complaint]:
    if subject.pods is not None:
        for index, toleration in enumerate(subject.pods.spec.tolerations):
            if toleration.operator in SEMVER_OPERATORS:
                path = f"{subject.pods.spec_path}.tolerations[{index}].value"
                yield from _check(toleration.operator, toleration.value, path)
    for path, requirement in node_requirements(subject):
        if requirement.operator in SEMVER_OPERATORS and len(requirement.values) == 1:
            yield from _check(requirement.operator, requirement.values[0], f"{path}.values[0]")


def _check(operator: str, value: str, path: str) -> Iterator[Complaint]:
    try:
        version = parse_tolerant(value)
    except SemverError:
        return
    if not is_distribution_build(version):
        return
    base = base_of(version)
    yield Complaint(
        "version-is-prerelease",
        path,
        f"{value} parses as a pre-release of {base} and sorts below it: {_consequence(operator, value, base)}",
        f"compare with a release, such as {base}: parts with letters are compared as text, so that 100-x is below 91-x",
    )


def _consequence(operator: str, value: str, base: str) -> str:
    if operator == "SemverGt":
        return f"{base} itself counts as newer than {value}"
    if operator == "SemverLt":
        return f"{base} itself is not below {value}, and other builds of {base} may or may not be"
    return f"{base} and its other builds are not equal to {value}"
