"""Lowered pods leave when their original tolerations do not accept a value any more: what watch and the page count."""

from tests.unit.attach.workloads import toleration
from tests.unit.plan.attached_worlds import STAYS_ABOVE_950, lowered_pod, spot

from moorage.match.taint_eviction import When, no_execute
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.watch.eviction_causes import eviction_cause, eviction_clock


def cause(value: str, *tolerations: dict[str, object]) -> tuple[str, str]:
    pod = convert_view(lowered_pod("p", "n", *tolerations), Pod)
    node = convert_view(spot("n", value, "NoExecute"), Node)
    return eviction_cause(pod, node, 0.0)


def test_the_inequality_is_named() -> None:
    assert cause("940", STAYS_ABOVE_950) == (
        "spot=940:NoExecute",
        "940 > 950 is false (taint spot=940, toleration Gt 950)",
    )
    expression = toleration("CEL", "taint.value.startsWith('8')", effect="NoExecute")
    assert "the expression is not true" in cause("940", expression)[1]


def test_a_value_that_is_accepted_lets_the_pod_stay() -> None:
    pod = convert_view(lowered_pod("p", "n", STAYS_ABOVE_950), Pod)
    node = convert_view(spot("n", "960", "NoExecute"), Node)
    assert eviction_clock(pod, no_execute(node), 0.0).when is When.NEVER
