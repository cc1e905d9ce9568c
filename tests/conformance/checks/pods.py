"""validate_pod.json: everything the API server says about a new pod, and the message a client gets.

The vectors were recorded from defaults and strategy alone, so no plugin runs and no metadata is completed.
"""

from typing import Any

from moorage.admit.admission import Admitted, admit
from moorage.model.gates import gates_from

_COMPARISON = "TaintTolerationComparisonOperators"


def check_validate_pod(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    pod = {"apiVersion": "v1", "kind": "Pod", **given["pod"]}
    answer = admit(pod, None, gates_from({_COMPARISON: given["comparisonOperators"]}), plugins=(), request=None)
    if isinstance(answer, Admitted):
        return f"admitted, want {want['errors']}" if want["errors"] else None
    errors, message = [str(error) for error in answer.errors], answer.status["message"]
    if want.get("unordered"):
        # Go visited a map: the errors come in any order, and in the message in the order in which they came.
        same = sorted(errors) == sorted(want["errors"]) and sorted(message) == sorted(want.get("message", message))
    else:
        same = errors == want["errors"] and message == want.get("message", message)
    return None if same else f"got {errors}, {message!r}, want {want}"
