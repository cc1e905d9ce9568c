"""Tolerations that do nothing, and tolerations that only look like it."""

from __future__ import annotations

import re

import pytest
from tests.unit.lint.linting import lint, tolerating

NEVER = "toleration-never-matches"
REDUNDANT = "toleration-redundant"
U64 = 2**64 - 1


def found(rule: str, *tolerations: str, metadata: str = "") -> list[tuple[str, str]]:
    findings = lint(tolerating(*tolerations, metadata=metadata))
    return [(finding.place.path, finding.message) for finding in findings if finding.rule == rule]


@pytest.mark.parametrize(
    "toleration",
    [
        "{key: a, operator: Gt, value: '9223372036854775807'}",
        "{key: a, operator: Lt, value: '-9223372036854775808'}",
        "{key: a, operator: Lt, value: '0'}",
        "{key: a, operator: Lt, value: '-5', effect: NoSchedule}",
        "{key: a, operator: SemverLt, value: 0.0.0-0}",
        f"{{key: a, operator: SemverGt, value: {U64}.{U64}.{U64}}}",
        f"{{key: a, operator: SemverEq, value: 1.0.0-{'x' * 60}}}",
        "{key: a, operator: SemverEq, value: 1.0.0-rc-}",
        "{expression: \"taint.effect == 'noschedule'\"}",
        "{expression: \"taint.key == 'a' && taint.key == 'b'\"}",
        "{expression: \"taint.key == '' || taint.value == '-5'\"}",
        "{expression: \"taint.effect in ['NoSchedul', 'x'] && taint.key == 'a'\"}",
        "{expression: \"taint.effect.startsWith('no') && taint.key == 'a'\"}",
        "{expression: \"taint.key == 'a' && false\"}",
    ],
)
def test_no_taint_can_match(toleration: str) -> None:
    assert len(found(NEVER, toleration)) == 1


@pytest.mark.parametrize(
    "toleration",
    [
        "{operator: Exists}",
        "{key: a, value: ''}",
        "{key: a, operator: Gt, value: '9223372036854775806'}",
        "{key: a, operator: Gt, value: '-1'}",
        "{key: a, operator: Lt, value: '1'}",
        "{key: a, operator: Lt, value: '9223372036854775807'}",
        "{key: a, operator: SemverLt, value: 0.0.0}",
        "{key: a, operator: SemverLt, value: 0.0.0-1}",
        f"{{key: a, operator: SemverGt, value: {U64}.{U64}.{U64}-rc}}",
        "{key: a, operator: SemverEq, value: 1.0.0+build}",
        "{key: a, operator: Gt, value: x}",
        "{expression: \"taint.effect == 'NoSchedule' && taint.key == 'a'\"}",
        "{expression: \"taint.key == 'a' || taint.key == 'b'\"}",
        "{expression: \"taint.key != 'a' && taint.key != 'b' && taint.key.startsWith('x')\"}",
        "{expression: \"taint.key.matches('^zone-a[12]-rack-[0-9]+$')\"}",
    ],
)
def test_some_taint_can_match(toleration: str) -> None:
    assert found(NEVER, toleration) == []


@pytest.mark.parametrize(
    ("tolerations", "index"),
    [
        (["{key: a, operator: Exists}", "{key: a, value: x}"], 1),
        (["{key: a, value: x}", "{key: a, operator: Exists}"], 0),
        (["{operator: Exists}", "{key: a, operator: Gt, value: '5', effect: NoSchedule}"], 1),
        (["{key: a, operator: Gt, value: '5'}", "{key: a, operator: Gt, value: '7'}"], 1),
        (["{key: a, operator: Lt, value: '7'}", "{key: a, operator: Lt, value: '5'}"], 1),
        (["{key: a, operator: Gt, value: '5'}", "{key: a, value: '6'}"], 1),
        (["{key: a, operator: SemverGt, value: '5'}", "{key: a, operator: Gt, value: '5'}"], 1),
        (["{key: a, operator: SemverGt, value: 1.2.3}", "{key: a, operator: SemverEq, value: 1.2.4}"], 1),
        (["{key: a, operator: SemverEq, value: v1.2}", "{key: a, value: 1.2.0}"], 1),
        (["{key: a, operator: Exists, effect: NoExecute}", "{key: a, value: x, effect: NoExecute}"], 1),
        (
            [
                "{key: a, operator: Exists, effect: NoSchedule}",
                "{key: a, operator: Exists, effect: NoExecute}",
                "{key: a, operator: Exists, effect: PreferNoSchedule}",
                "{key: a, value: x}",
            ],
            3,
        ),
    ],
)
def test_one_that_others_cover(tolerations: list[str], index: int) -> None:
    assert [path for path, _ in found(REDUNDANT, *tolerations)] == [f"spec.tolerations[{index}]"]


@pytest.mark.parametrize(
    ("third", "first", "second"),
    [
        (
            "{key: a, operator: Gt, value: '3'}",
            "{key: a, operator: Gt, value: '5'}",
            "{key: a, operator: Lt, value: '6'}",
        ),
        ("{key: a, operator: Gt, value: '5'}", "{key: a, operator: Gt, value: '6'}", "{key: a, value: '6'}"),
        (
            "{key: a, operator: Gt, value: '3', effect: NoSchedule}",
            "{key: a, operator: Gt, value: '5'}",
            "{key: a, operator: Lt, value: '7'}",
        ),
        (
            "{key: a, operator: SemverLt, value: 3.0.0}",
            "{key: a, operator: SemverLt, value: 2.0.0}",
            "{key: a, operator: SemverGt, value: 1.9.9}",
        ),
    ],
)
def test_two_that_together_cover_a_third(third: str, first: str, second: str) -> None:
    ((path, message),) = found(REDUNDANT, first, second, third)
    assert path == "spec.tolerations[2]"
    assert re.match(r"tolerations\[0\] \(.+\) and tolerations\[1\] \(.+\) together match every taint that", message)


def test_three_that_together_cover_a_fourth() -> None:
    effects = ("NoSchedule", "NoExecute", "PreferNoSchedule")
    parts = [f"{{key: a, operator: Exists, effect: {effect}}}" for effect in effects]
    ((_, message),) = found(REDUNDANT, *parts, "{key: a, value: x}")
    assert "tolerations[0] (a Exists:NoSchedule), tolerations[1] (a Exists:NoExecute) and tolerations[2]" in message
    assert message.endswith("together match every taint that a Equal x matches")


@pytest.mark.parametrize(
    "tolerations",
    [
        ["{key: a, operator: Equal, value: '900'}", "{key: a, operator: Gt, value: '900'}"],
        ["{key: a, operator: Gt, value: '5'}", "{key: a, operator: Lt, value: '5'}"],
        [
            "{key: a, operator: Gt, value: '5', effect: NoSchedule}",
            "{key: a, operator: Gt, value: '7', effect: NoExecute}",
        ],
        ["{key: a, operator: Gt, value: '5'}", "{key: b, operator: Gt, value: '7'}"],
        ["{key: a, operator: Lt, value: '3'}", "{key: a, operator: SemverLt, value: 2.0.0-rc.1}", "{key: a, value: x}"],
        ["{key: a, operator: Gt, value: '3'}", "{key: a, operator: SemverGt, value: '4.5'}"],
        ["{key: a, value: '1.0'}", "{key: a, value: 1.0.0}"],
        # tolerationSeconds tell them apart.
        [
            "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}",
            "{key: a, operator: Exists, effect: NoSchedule}",
        ],
        [
            "{key: a, value: x, effect: NoExecute, tolerationSeconds: 30}",
            "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}",
        ],
        [
            "{key: a, value: x, effect: NoExecute}",
            "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}",
        ],
        # What an expression matches is not known, and so it covers nothing and is not covered.
        ["{expression: \"taint.key == 'a'\"}", "{key: a, operator: Exists}"],
        [
            "{key: a, value: x, effect: NoExecute, tolerationSeconds: 30}",
            "{expression: \"taint.key == 'a'\"}",
            "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}",
        ],
    ],
)
def test_every_one_is_needed(tolerations: list[str]) -> None:
    assert found(REDUNDANT, *tolerations) == []


def test_seconds_behind_one_that_matches_more_never_count() -> None:
    late = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}"
    ((path, message),) = found(REDUNDANT, "{operator: Exists}", late)
    assert path == "spec.tolerations[1]"
    assert message.startswith("its tolerationSeconds: 300 never counts: tolerations[0] (every taint) comes first")
    assert found(REDUNDANT, late, "{operator: Exists}") == []


def test_one_that_is_refused_anyway_is_not_called_redundant() -> None:
    assert found(REDUNDANT, "{operator: Exists}", "{key: a, operator: Exists, tolerationSeconds: 5}") == []


def test_duplicates_are_named_as_such() -> None:
    same = "{key: a, operator: Exists}"
    assert found(REDUNDANT, same, same) == [("spec.tolerations[1]", "the same toleration is already in tolerations[0]")]


def test_what_controllers_add_to_pods_is_nothing_the_author_can_change() -> None:
    added = [
        f"{{key: node.kubernetes.io/{name}, operator: Exists, effect: NoSchedule}}"
        for name in ("disk-pressure", "memory-pressure", "unschedulable")
    ]
    owned = ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}]"
    assert found(REDUNDANT, "{operator: Exists}", *added, metadata=owned) == []
    assert len(found(REDUNDANT, "{operator: Exists}", *added)) == 3


def test_very_many_tolerations_are_not_compared_with_each_other() -> None:
    many = [f"{{key: a, operator: Gt, value: '{number}'}}" for number in range(200)]
    assert found(REDUNDANT, *many) == []
