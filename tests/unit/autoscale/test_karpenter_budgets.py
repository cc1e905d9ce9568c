"""The cases of Karpenter's own test of budgets (pkg/apis/v1/nodepool_budgets_test.go), as facts."""

from datetime import UTC, datetime

import pytest

from moorage.autoscale.karpenter.budgets import (
    DRIFTED,
    EMPTY,
    UNDERUTILIZED,
    allowed_disruptions,
    is_active,
    next_change,
)
from moorage.model.go.integers import INT32_MAX
from moorage.pools.node_template import Disruption, DisruptionBudget

HOUR = 3600.0
ALWAYS = "* * * * *"
REASONS = (EMPTY, UNDERUTILIZED, DRIFTED)


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> float:
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()


NOON = at(2000, 6, 15, 12, 30, 30)


def budgets(first: str = ALWAYS, third: str = ALWAYS, last: str = "@weekly") -> list[DisruptionBudget]:
    return [
        DisruptionBudget("10", (), first, HOUR),
        DisruptionBudget("100", (), first, HOUR),
        DisruptionBudget("100%", (), first, HOUR),
        DisruptionBudget("15", (DRIFTED, UNDERUTILIZED), third, HOUR),
        DisruptionBudget("5", (DRIFTED,), third, HOUR),
        DisruptionBudget("0", REASONS, last, HOUR),
    ]


def allowed(given: list[DisruptionBudget], reason: str, nodes: int = 100, now: float = NOON) -> int:
    return allowed_disruptions(Disruption("WhenEmpty", 0.0, None, tuple(given)), nodes, reason, now)


def test_a_budget_of_zero_for_all_reasons_allows_nothing() -> None:
    assert [allowed(budgets(last=ALWAYS), reason) for reason in REASONS] == [0, 0, 0]


def test_budgets_that_are_not_in_force_allow_everything() -> None:
    assert [allowed(budgets("@yearly", "@yearly", "@yearly"), reason) for reason in REASONS] == [INT32_MAX] * 3


def test_budgets_of_a_reason_that_are_not_in_force_are_left_out() -> None:
    assert [allowed(budgets(third="@yearly"), reason) for reason in REASONS] == [10, 10, 10]


def test_a_budget_without_reasons_is_for_all() -> None:
    assert [allowed(budgets()[:1], reason) for reason in REASONS] == [10, 10, 10]


def test_the_smallest_budget_of_each_reason_counts() -> None:
    given = [*budgets(), DisruptionBudget("4", (EMPTY,), ALWAYS, HOUR)]
    assert [allowed(given, reason) for reason in REASONS] == [4, 10, 5]


@pytest.mark.parametrize(("nodes", "expected"), [(10, 1), (0, 0), (11, 2), (1, 1), (100, 10)])
def test_percentages_are_rounded_up(nodes: int, expected: int) -> None:
    assert allowed([DisruptionBudget("10%")], EMPTY, nodes) == expected


@pytest.mark.parametrize(
    ("budget", "now", "expected"),
    [
        (DisruptionBudget("10", (), "@daily", 1800.0), at(2000, 5, 30, 23), False),
        (DisruptionBudget("10"), NOON, True),
        (DisruptionBudget("10", (), ALWAYS, HOUR), NOON, True),
        (DisruptionBudget("10", (), "@yearly", HOUR), NOON, False),
        (DisruptionBudget("10", (), "@yearly", 24 * HOUR), at(2001, 1, 1, 12, 30, 30), True),
        (DisruptionBudget("10", (), "@daily", 48 * HOUR), at(2024, 1, 7), True),
        (DisruptionBudget("10", (), "30 6 * * SUN", 6 * HOUR), at(2024, 1, 7), False),
    ],
)
def test_when_a_budget_is_in_force(budget: DisruptionBudget, now: float, expected: bool) -> None:
    assert is_active(budget, now) is expected


@pytest.mark.parametrize("minutes", [0, 30, 59, 60, 61, 119, 1439])
def test_the_next_change_is_when_a_budget_begins_or_ends_to_be_in_force(minutes: int) -> None:
    budget, now = DisruptionBudget("0", (), "0 1 * * *", HOUR), at(2024, 1, 7) + minutes * 60.0
    changes = next_change(budget, now)
    assert changes is not None
    assert changes > now
    states = {is_active(budget, now + seconds) for seconds in range(0, int(changes - now), 60)}
    assert states == {is_active(budget, now)}
    assert is_active(budget, changes + 1) is not is_active(budget, now)
