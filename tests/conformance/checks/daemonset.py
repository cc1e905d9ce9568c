"""daemonset.json: on which nodes a DaemonSet's pods run, and which tolerations its controller gives them."""

from typing import Any

import msgspec

from moorage.match.daemon_pods import DaemonTemplate, daemon_tolerations
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import PodSpec


def check_daemonset(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    gates = gates_from({"TaintTolerationComparisonOperators": given["comparisonOperators"]})
    spec = convert_view(given["podSpec"], PodSpec)
    fit = DaemonTemplate(spec, gates).fits(convert_view(given["node"], Node))
    tolerations = msgspec.to_builtins(daemon_tolerations(spec.tolerations, host_network=spec.hostNetwork))
    got = {
        "shouldRun": fit.should_run,
        "shouldContinueRunning": fit.should_continue,
        "tolerations": [{name: value for name, value in one.items() if value not in ("", None)} for one in tolerations],
    }
    return None if got == want else f"{given}: got {got}, want {want}"
