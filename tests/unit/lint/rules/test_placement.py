"""Selectors that no node of the input matches, and PriorityClasses that are not there."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, node, pod, stream, workload

from moorage.admit.world import missing_text
from moorage.lint.finding import Finding, Severity
from moorage.model.kinds import KINDS

HIGH = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 5\n"
AFFINITY = (
    "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: driver, operator: SemverGt, values: ['%s']}]}]}}}\n"
)


def found(rule: str, *documents: str) -> list[Finding]:
    return [finding for finding in lint(stream(*documents)) if finding.rule == rule]


def test_a_selector_that_no_given_node_matches() -> None:
    nodes = node("a", labels="{disk: ssd}"), node("b", labels="{disk: hdd}")
    (unmatched,) = found("node-selector-unmatched", *nodes, pod("  nodeSelector: {disk: nvme}\n"))
    assert unmatched.message.startswith("none of the 2 nodes of the input matches, so that the pods stay Pending")
    assert unmatched.hint == "nodes have disk: hdd, ssd"
    assert unmatched.place.path == "spec.nodeSelector"
    (unmatched,) = found("node-selector-unmatched", *nodes, pod("  nodeSelector: {dsik: ssd}\n"))
    assert unmatched.hint == "did you mean disk?"
    assert not found("node-selector-unmatched", *nodes, pod("  nodeSelector: {disk: ssd}\n"))


def test_affinity_with_versions_is_matched_as_the_scheduler_does() -> None:
    given = node("a", labels="{driver: 1.2.3}")
    assert not found("node-selector-unmatched", given, pod(AFFINITY % "1.2.0"))
    (unmatched,) = found("node-selector-unmatched", given, pod(AFFINITY % "2.0.0"))
    assert "1.2.3 > 2.0.0 is false" in unmatched.message


def test_what_is_not_judged_by_nodes() -> None:
    selector = "  nodeSelector: {disk: nvme}\n"
    assert not found("node-selector-unmatched", pod(selector))
    given = node("a")
    assert not found("node-selector-unmatched", given, workload("DaemonSet", f"    {selector}"))
    assert not found("node-selector-unmatched", given, pod(f"{selector}  nodeName: a\n"))
    assert not found(
        "node-selector-unmatched", given, workload("Deployment", f"    {selector}", spec="  replicas: 0\n")
    )
    assert found("node-selector-unmatched", given, workload("Deployment", f"    {selector}"))


def test_a_class_that_is_not_among_the_given_ones() -> None:
    (missing,) = found("priority-class-missing", HIGH, pod("  priorityClassName: hihg\n"))
    assert missing.severity is Severity.WARNING
    assert missing.message == missing_text(KINDS.PRIORITY_CLASS, "hihg", KINDS.POD) + "; the input has high"
    assert missing.hint == "did you mean high?"
    assert not found("priority-class-missing", HIGH, pod("  priorityClassName: high\n"))


def test_without_classes_a_note_is_made_once() -> None:
    (note,) = found(
        "priority-class-missing",
        pod("  priorityClassName: high\n", name="a"),
        pod("  priorityClassName: high\n", name="b"),
    )
    assert note.severity is Severity.INFO
    assert note.message == missing_text(KINDS.PRIORITY_CLASS, "high", KINDS.POD) + " (and 1 more name it)"


@pytest.mark.parametrize(
    "body", ["", "  priorityClassName: system-node-critical\n", "  priorityClassName: low\n  priority: 5\n"]
)
def test_classes_that_need_not_be_given(body: str) -> None:
    assert not found("priority-class-missing", HIGH, pod(body))
