"""The cases of Karpenter's own tests of eviction costs and of its annotation do-not-disrupt, as facts."""

from typing import Any

import pytest

from moorage.autoscale.karpenter.candidates import eviction_cost, protected_until
from moorage.autoscale.karpenter.consolidation import Totals, is_balanced
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import DO_NOT_DISRUPT

COST = "controller.kubernetes.io/pod-deletion-cost"
START = "2026-01-01T00:00:00Z"
BEGUN, FOREVER = 1_767_225_600.0, float("inf")


def pod(annotations: dict[str, str], **spec: Any) -> Pod:
    about = {"name": "p", "namespace": "default", "annotations": annotations}
    return convert_view({"metadata": about, "spec": spec, "status": {"startTime": START}}, Pod)


def test_a_pod_costs_one() -> None:
    assert eviction_cost(pod({})) == 1.0
    assert eviction_cost(pod({}, priority=0)) == 1.0
    assert eviction_cost(pod({COST: "0"})) == 1.0


@pytest.mark.parametrize(("text", "sign"), [("100", 1), ("-100", -1), ("99999999999999", 1), ("-1e30", -1)])
def test_a_deletion_cost_raises_and_lowers_it(text: str, sign: int) -> None:
    assert (eviction_cost(pod({COST: text})) - 1.0) * sign > 0


def test_a_higher_deletion_cost_costs_more() -> None:
    costs = [eviction_cost(pod({COST: text})) for text in ("101", "100", "99")]
    assert costs == sorted(costs, reverse=True)


def test_priorities_raise_and_lower_it() -> None:
    assert eviction_cost(pod({}, priority=1)) > 1.0 > eviction_cost(pod({}, priority=-1))


def test_it_is_between_bounds() -> None:
    assert eviction_cost(pod({COST: "2147483647"}, priority=2_000_000_000)) == 10.0
    assert eviction_cost(pod({COST: "-2147483647"}, priority=-2_147_483_648)) == -10.0


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1" * 50, "0x"])
def test_a_deletion_cost_that_is_no_number_counts_nothing(text: str) -> None:
    assert eviction_cost(pod({COST: text})) == 1.0


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("true", FOREVER),
        ("5m", BEGUN + 300),
        ("1h", BEGUN + 3600),
        ("1h30m", BEGUN + 5400),
        ("", 0.0),
        ("false", 0.0),
        ("invalid", 0.0),
        ("-5m", 0.0),
        ("0s", 0.0),
    ],
)
def test_until_when_a_pod_is_protected(text: str, until: float) -> None:
    assert protected_until(pod({DO_NOT_DISRUPT: text})) == until


@pytest.mark.parametrize(
    ("savings", "cost", "expected"),
    [
        (0.5, 1.0, True),
        (0.05, 1.0, True),
        (0.049, 1.0, False),
        (0.0, 1.0, False),
        (-1.0, 1.0, False),
        (1.0, 10.0, True),
    ],
)
def test_balance_asks_for_half_the_share_of_what_is_disrupted(savings: float, cost: float, expected: bool) -> None:
    """A tenth of the disruption has to save a twentieth of the price."""
    assert is_balanced(savings, cost, Totals(1.0, 10.0)) is expected


def test_nothing_is_balanced_without_a_price() -> None:
    assert not is_balanced(1.0, 1.0, Totals(0.0, 10.0))
