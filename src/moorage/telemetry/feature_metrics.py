"""`kubernetes_feature_enabled` for each gate. Differs: has the component as a label."""

from collections.abc import Mapping

from moorage.model.gates import GATES, Component, GateSet
from moorage.telemetry.metrics import Metrics

NAME = "kubernetes_feature_enabled"


def add_feature_metrics(metrics: Metrics, gates: Mapping[Component, GateSet]) -> None:
    values: dict[tuple[str, ...], float] = {
        (gate.name, gate.stage.value, component.value): float(switched.enabled(gate))
        for component, switched in gates.items()
        for gate in GATES
        if component in gate.components
    }
    said = "This metric records the data about the stage and enablement of a k8s feature."
    metrics.gauge_function(NAME, said, lambda: values, ("name", "stage", "component"))
