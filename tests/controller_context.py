"""A context to construct controllers with."""

from moorage.control.framework.controller import CheckPolicy, ControllerContext
from moorage.match.evaluation.accounts import Evaluations
from moorage.model.gates import GateSet, default_gates
from moorage.telemetry.metrics import Metrics


def controller_context(
    gates: GateSet | None = None,
    metrics: Metrics | None = None,
    *,
    simulates_storage: bool = False,
    evaluations: Evaluations | None = None,
    check_policy: CheckPolicy | None = None,
) -> ControllerContext:
    return ControllerContext(
        gates or default_gates(),
        metrics or Metrics(),
        lambda: 0.5,
        simulates_storage,
        evaluations,
        check_policy=check_policy,
    )
