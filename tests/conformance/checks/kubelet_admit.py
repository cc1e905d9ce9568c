"""kubelet_admit.json: what a kubelet says of a pod that was bound to its node."""

from typing import Any

from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.run.admission import Admission, Load


def check_kubelet_admit(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    gates = gates_from({"TaintTolerationComparisonOperators": given["comparisonOperators"]})
    load = Load(convert_view(other, Pod) for other in given["otherPods"] or [])
    refusal = Admission(gates).refuse(convert_view(given["pod"], Pod), convert_view(given["node"], Node), load)
    got = {
        "admit": refusal is None,
        "reason": refusal.reason if refusal else "",
        "message": refusal.message if refusal else "",
    }
    return None if got == want else f"{given}: got {got}, want {want}"
