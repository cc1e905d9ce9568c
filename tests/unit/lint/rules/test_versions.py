"""Versions that parse as pre-releases, at the pod's side and at the node's."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, node, pod, stream, tolerating

RULE = "version-is-prerelease"


def found(text: str) -> list[tuple[str, str]]:
    return [(finding.place.path, finding.message) for finding in lint(text) if finding.rule == RULE]


@pytest.mark.parametrize("operator", ["SemverGt", "SemverLt", "SemverEq"])
@pytest.mark.parametrize(
    "version",
    [
        "5.15.0-91-generic",
        "1.30.5-gke.1014001",
        "v1.29.0-eks-5e0fdde",
        "4.18.0-305.el8.x86",
        "5.15.0-1",
        "1.2.3-custom",
    ],
)
def test_a_build_of_a_distribution_asked_for(operator: str, version: str) -> None:
    ((path, message),) = found(tolerating(f"{{key: kernel, operator: {operator}, value: {version}}}"))
    assert path == "spec.tolerations[0].value"
    assert message.startswith(f"{version} parses as a pre-release of ")


@pytest.mark.parametrize(
    "version",
    ["5.15.0", "1.36.0-rc.1", "1.36.0-beta2", "1.36.0-alpha", "1.36.0-0", "1.36.0-RC1", "1.0.0+91", "1.36", "v2-pre"],
)
def test_releases_and_pre_releases_that_are_meant(version: str) -> None:
    assert found(tolerating(f"{{key: kernel, operator: SemverGt, value: '{version}'}}")) == []


def affinity(operator: str, version: str, kind: str = "Pod") -> str:
    expression = f"{{key: kernel, operator: {operator}, values: ['{version}']}}"
    if kind == "PersistentVolume":
        return (
            "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec:\n  capacity: {storage: 1Gi}\n"
            "  accessModes: [ReadWriteOnce]\n  local: {path: /data}\n"
            f"  nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}}}\n"
        )
    terms = f"{{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}"
    return pod(f"  affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}}}\n")


@pytest.mark.parametrize("kind", ["Pod", "PersistentVolume"])
def test_node_affinity_of_pods_and_volumes(kind: str) -> None:
    ((path, _),) = found(affinity("SemverGt", "5.15.0-91-generic", kind))
    assert path.endswith("nodeSelectorTerms[0].matchExpressions[0].values[0]")
    assert found(affinity("SemverGt", "5.15.0", kind)) == []


@pytest.mark.parametrize(
    ("operator", "wanted", "outcome"),
    [
        ("SemverGt", "5.15.0", "does not match SemverGt 5.15.0"),
        ("SemverLt", "5.15.0", "matches SemverLt 5.15.0"),
        ("SemverEq", "5.15.0", "does not match SemverEq 5.15.0"),
    ],
)
def test_a_label_or_taint_that_meets_its_base(operator: str, wanted: str, outcome: str) -> None:
    labelled = node("n1", labels="{kernel: 5.15.0-91-generic}")
    tainted = node("n1", "{key: kernel, value: 5.15.0-91-generic, effect: NoSchedule}")
    ((path, message),) = found(stream(labelled, affinity(operator, wanted)))
    assert path == "metadata.labels[kernel]"
    assert outcome in message
    ((path, message),) = found(stream(tolerating(f"{{key: kernel, operator: {operator}, value: {wanted}}}"), tainted))
    assert path == "spec.taints[0].value"
    assert outcome in message


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("5.15.0-91-generic", "5.14.0"),
        ("5.15.0-91-generic", "6.0.0"),
        ("5.15.0-rc.1", "5.15.0"),
        ("5.15.91", "5.15.0"),
        ("nothing", "5.15.0"),
    ],
)
def test_values_whose_place_is_no_surprise(value: str, wanted: str) -> None:
    assert found(stream(node("n1", labels=f"{{kernel: {value}}}"), affinity("SemverGt", wanted))) == []


def test_a_label_nobody_compares_is_nobodys_business() -> None:
    assert found(stream(node("n1", labels="{other: 5.15.0-91-generic}"), affinity("SemverGt", "5.15.0"))) == []
