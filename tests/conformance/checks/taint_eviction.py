"""taint_eviction.json: when a pod has to leave a node with NoExecute taints."""

from typing import Any

import msgspec

from moorage.match.taint_eviction import Eviction, When, decide_eviction
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import gates_from
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration


def check_taint_eviction(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    gates = gates_from({"TaintTolerationComparisonOperators": given["comparisonOperators"]})
    tolerations = compile_tolerations(msgspec.convert(given["tolerations"] or [], tuple[Toleration, ...]), gates)
    taints = msgspec.convert(given["taints"] or [], tuple[Taint, ...])
    got = as_recorded(decide_eviction(taints, tolerations), sum(taint.effect == "NoExecute" for taint in taints))
    return None if got == want else f"{given}: got {got}, want {want}"


def as_recorded(eviction: Eviction, no_execute_taints: int) -> dict[str, Any]:
    """The decision in the fields of the vectors; what was not computed there is absent there."""
    recorded: dict[str, Any] = {"decision": eviction.when.value, "noExecuteTaints": no_execute_taints}
    if not no_execute_taints:
        return recorded
    recorded["allTolerated"] = eviction.all_tolerated
    if not eviction.all_tolerated:
        return recorded
    used = msgspec.to_builtins(eviction.used)
    recorded["usedTolerations"] = [
        {name: value for name, value in one.items() if value not in ("", None)} for one in used
    ]
    recorded["rawMinTolerationNs"] = str(eviction.nanoseconds)
    if eviction.when is When.AFTER:
        recorded["seconds"] = eviction.seconds
    return recorded
