"""tolerationSeconds beside a threshold."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, tolerating

RULE = "toleration-seconds-evicts"


def messages(toleration: str) -> list[str]:
    return [finding.message for finding in lint(tolerating(toleration)) if finding.rule == RULE]


@pytest.mark.parametrize(
    ("toleration", "said"),
    [
        (
            "{key: p, operator: Lt, value: '5', effect: NoExecute, tolerationSeconds: 30}",
            "30 s after the taint is seen, although p < 5",
        ),
        (
            "{key: p, operator: Gt, value: '5', effect: NoExecute, tolerationSeconds: 0}",
            "evicted at once, although p > 5 holds",
        ),
        (
            "{key: v, operator: SemverGt, value: 1.2.3, effect: NoExecute, tolerationSeconds: 1}",
            "although v > 1.2.3 holds",
        ),
        (
            "{key: v, operator: SemverEq, value: 1.2.3, effect: NoExecute, tolerationSeconds: 1}",
            "although v = 1.2.3 holds",
        ),
        (
            "{expression: \"taint.key == 'p' && int(taint.value) < 5\", tolerationSeconds: 9}",
            "although the expression holds",
        ),
    ],
)
def test_evicts_although_it_holds(toleration: str, said: str) -> None:
    (message,) = messages(toleration)
    assert said in message


@pytest.mark.parametrize(
    "toleration",
    [
        "{key: p, operator: Lt, value: '5', effect: NoExecute}",
        "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}",
        "{key: p, operator: Equal, value: '5', effect: NoExecute, tolerationSeconds: 30}",
        "{expression: \"taint.key.startsWith('node.kubernetes.io/')\", tolerationSeconds: 300}",
        "{expression: \"taint.key == 'p' && int(taint.value) < 5\"}",
    ],
)
def test_toleration_seconds_without_threshold_have_no_finding(toleration: str) -> None:
    assert messages(toleration) == []
