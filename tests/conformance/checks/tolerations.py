"""tolerates_taint.json: does a toleration match a taint, with the gates on and off."""

from typing import Any

import msgspec

from moorage.match.tolerations import compile_toleration
from moorage.model.gates import gates_from
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration


def check_tolerates_taint(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]["tolerates"]
    gates = gates_from(
        {
            "TaintTolerationComparisonOperators": given["comparisonOperators"],
            "TaintTolerationNodeAffinitySemverComparisonOperators": given["semverOperators"],
        }
    )
    matcher = compile_toleration(msgspec.convert(given["toleration"], Toleration), gates)
    taint = msgspec.convert(given["taint"], Taint)
    got, why = matcher.match(taint), matcher.explain(taint)
    if got != (why is None):
        return f"match is {got}, but explain says {why!r}"
    return None if got == want else f"{given['toleration']} on {given['taint']}: got {got} ({why}), want {want}"
