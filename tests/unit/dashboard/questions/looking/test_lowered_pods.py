"""The panel of a lowered pod: its original tolerations, why it waits, and what if."""

from tests.unit.attach.workloads import toleration
from tests.unit.dashboard.questions.looking.test_looking import asked
from tests.unit.plan.attached_worlds import ABOVE_950, EXPRESSION, STAYS_ABOVE_950, deployment, lowered_pod, spot
from tests.unit.plan.planning import Plan, Raw

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.model.types.view import ATTACHED

OFF = {"AllAlpha": False}


def base_of(*documents: Raw) -> Base:
    plan = Plan(*documents, gates=OFF)
    return Base(plan.planner, plan.simulation, plan.outcome)


def test_the_panel_shows_original_tolerations() -> None:
    expression = EXPRESSION | {"key": "gpu"}
    base = base_of(spot("high", "960", "NoExecute"), lowered_pod("p", "high", STAYS_ABOVE_950, expression))
    told = asked("tolerations", base, pod="default/p", node="high")
    first, second = told["tolerations"]
    assert first["toleration"] == "spot Gt 950:NoExecute"
    assert first["here"] == [{"taint": "spot=960:NoExecute", "why": "960 > 950 is true", "counts": True}]
    assert second["toleration"] == "gpu CEL \"taint.value.startsWith('9')\":NoSchedule"
    assert (first["never"], second["never"], told["untolerated"]) == ("", "", [])


def test_why_it_waits_is_the_threshold() -> None:
    base = base_of(spot("low", "900"), deployment("train", ABOVE_950))
    (line,) = base.plan.pods
    told = asked("waiting", base, pod=line.key)
    assert told["sentence"] == "Tolerates spot > 950; the only node has 900."


def test_the_explanation_offers_what_the_user_writes() -> None:
    base = base_of(spot("low", "900"), deployment("train", ABOVE_950))
    (line,) = base.plan.pods
    parts = list(parts_of(QUESTIONS["explain"], base, {"pod": line.key}))
    assert "Gt 950 → Gt 899" in str(parts)
    assert ATTACHED not in str(parts)
    assert "nodeAffinity" not in str(parts)


def test_what_if_a_value_changes() -> None:
    base = base_of(
        spot("high", "960", "NoExecute"),
        lowered_pod("p", "high", STAYS_ABOVE_950),
        deployment("train", toleration("Gt", "930")),
    )
    change = {"taint": {"nodes": ["high"], "key": "spot", "value": "940", "effect": "NoExecute"}}
    parts = list(parts_of(QUESTIONS["what-if"], base, {"changes": [change]}))
    assert "940 > 950 is false (taint spot=940, toleration Gt 950)" in str(parts)
    assert "moorage.dev" not in str(parts)
