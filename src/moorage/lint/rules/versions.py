"""Find versions in comparisons that parse as pre-releases: `> 5.15.0-91-generic` does not mean what it says.

In: tolerations and node affinity with the operators of KEP-5721. Out: `version-is-prerelease` at the pod's side;
`facts` reports the node's side, where a taint or label meets such a comparison. Kubernetes: blang/semver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.facts.node_requirements import node_requirements
from moorage.lint.facts.prereleases import base_of, is_distribution_build
from moorage.lint.subject import Complaint, Subject
from moorage.match.comparison import VERSION
from moorage.match.operators import BY_NAME, NODE_SELECTOR, TOLERATION, OperatorPlace, comparison_of
from moorage.match.semver import SemverError, parse_tolerant

if TYPE_CHECKING:
    from collections.abc import Iterator


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
