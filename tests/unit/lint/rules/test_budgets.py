"""Budgets that block every drain, and budgets that protect nothing; what is not known is not judged."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, pod, stream, workload

BLOCKS, MATCHES_NOTHING = "budget-allows-no-eviction", "budget-matches-nothing"


def budget(limit: str, selector: str = "{matchLabels: {app: web}}", namespace: str = "default") -> str:
    chosen = f"  selector: {selector}\n" if selector else ""
    return (
        f"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: b, namespace: {namespace}}}\n"
        f"spec:\n  {limit}\n{chosen}"
    )


def rules(*documents: str) -> list[str]:
    return [finding.rule for finding in lint(stream(*documents)) if finding.rule.startswith("budget-")]


def deployment(replicas: str = "  replicas: 3\n", kind: str = "Deployment") -> str:
    return workload(kind, "", spec=replicas)


@pytest.mark.parametrize("limit", ["maxUnavailable: 0", "maxUnavailable: 0%", "minAvailable: 100%"])
def test_a_budget_that_never_allows_an_eviction(limit: str) -> None:
    assert rules(budget(limit)) == [BLOCKS]
    assert rules(budget(limit), deployment()) == [BLOCKS]


@pytest.mark.parametrize(
    ("limit", "replicas", "blocks"),
    [
        ("minAvailable: 3", 3, True),
        ("minAvailable: 2", 3, False),
        ("minAvailable: 4", 3, True),
        ("minAvailable: 1", 0, False),
        ("minAvailable: 60%", 1, True),
        ("minAvailable: 60%", 2, True),
        ("minAvailable: 60%", 3, False),
        ("maxUnavailable: 1%", 1, False),
        ("maxUnavailable: 1", 1, False),
    ],
)
def test_a_budget_is_compared_with_the_replicas_of_the_input(limit: str, replicas: int, blocks: bool) -> None:
    assert rules(budget(limit), deployment(f"  replicas: {replicas}\n")) == [BLOCKS] * blocks


def test_the_usual_trap_is_explained() -> None:
    (found,) = lint(stream(budget("minAvailable: 1"), deployment("")))
    assert found.message == (
        "minAvailable: 1 keeps the only pod that it selects (Deployment default/web: 1): none can be evicted, and a "
        "drain of their nodes waits for ever"
    )
    assert found.hint == "write maxUnavailable: 1 instead, or give the workload a second replica"


def test_pods_that_cannot_be_counted_are_not_judged() -> None:
    scaler = (
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: s}\n"
        "spec: {scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}, minReplicas: 3, maxReplicas: 5}\n"
    )
    assert rules(budget("minAvailable: 1"), scaler, deployment("")) == []
    assert rules(budget("minAvailable: 1"), deployment("", kind="DaemonSet")) == []
    assert rules(budget("minAvailable: 1")) == []


def test_a_budget_that_matches_nothing() -> None:
    wrong = budget("maxUnavailable: 1", "{matchLabels: {app: wbe}}")
    found = [finding for finding in lint(stream(wrong, deployment())) if finding.rule == MATCHES_NOTHING]
    assert [finding.hint for finding in found] == ["did you mean app=web?"]
    (found_elsewhere, _) = lint(stream(budget("maxUnavailable: 1", namespace="other"), deployment()))
    assert found_elsewhere.hint == "Deployment default/web has them: a budget counts pods of its own namespace only"
    assert rules(budget("maxUnavailable: 1", "")) == [MATCHES_NOTHING]
    assert rules(wrong) == []


@pytest.mark.parametrize(
    "selector",
    [
        "{}",
        "{matchExpressions: [{key: app, operator: Exists}]}",
        "{matchExpressions: [{key: pod-template-hash, operator: Exists}]}",
    ],
)
def test_selectors_that_match(selector: str) -> None:
    assert rules(budget("maxUnavailable: 1", selector), deployment()) == []


def test_pods_may_come_from_custom_resources_and_bare_pods_count() -> None:
    wrong = budget("maxUnavailable: 1", "{matchLabels: {app: kafka}}")
    custom = "apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: k}\n"
    assert rules(wrong, deployment(), custom) == []
    assert rules(budget("minAvailable: 1"), pod("", metadata=", labels: {app: web}")) == [BLOCKS]
