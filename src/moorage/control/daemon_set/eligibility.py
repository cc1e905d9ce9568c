"""Templates of DaemonSets, compiled under the controller manager's gates.

In: DaemonSets. Out: `DaemonTemplate`s that say which nodes fit. Kubernetes: NodeShouldRunDaemonPod; expressions are
ours.
"""

from moorage.control.framework.toleration_reader import TolerationReader
from moorage.match.daemon_pods import DaemonTemplate
from moorage.model.gates import GateSet
from moorage.model.types.node import Node
from moorage.model.types.pod import PodSpec
from moorage.telemetry.metrics import Metrics


class Eligibility:
    """See the module."""

    def __init__(self, gates: GateSet, metrics: Metrics) -> None:
        name = "daemonset-controller"
        self._reader = TolerationReader(gates, metrics, name, "daemonset_controller", "DaemonSet")

    @property
    def evaluation_errors(self) -> int:
        return self._reader.evaluation_errors

    def compile(self, spec: PodSpec) -> DaemonTemplate:
        reader = self._reader
        return DaemonTemplate(spec, reader.gates, reader.programs, reader.evaluation_failed)

    def tell_unreadable(self, template: DaemonTemplate, node: Node, daemon_set: str) -> None:
        """Say in the log which of the node's taints should be compared and cannot."""
        self._reader.tell_unreadable(template.tolerations, node.spec.taints, node.metadata.name, daemonset=daemon_set)
