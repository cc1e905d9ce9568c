"""What the NoExecute taints of a node mean for a pod: `match.taint_eviction`, asked once per distinct case.

In: taints, a pod. Out: an `Eviction`. Tolerations are compiled under the controller manager's own gates, expressions
in a cache of their own, which is bounded as everything here is. What cannot be compared is told in the log, once for
each node and taint, with the first pod that was affected; failed expressions are told and counted. Kubernetes:
GetMatchingTolerations, as pkg/controller/tainteviction calls it.
"""

from moorage.client.protocol import Object
from moorage.control.framework.toleration_reader import TolerationReader
from moorage.match.taint_eviction import Eviction, decide_eviction
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.pod import Pod
from moorage.model.types.scheduling import Taint, Toleration
from moorage.telemetry.metrics import Metrics

_REMEMBERED = 4096
Taints = tuple[Taint, ...]
Tolerations = tuple[Toleration, ...]


class EvictionDecider:
    """See the module."""

    def __init__(self, gates: GateSet, metrics: Metrics) -> None:
        name = "taint-eviction-controller"
        self._reader = TolerationReader(gates, metrics, name, "taint_eviction_controller", "taint-eviction")
        self._compiled: dict[Tolerations, TolerationSet] = {}
        self._decided: dict[tuple[Taints, Tolerations], tuple[Eviction, TolerationSet]] = {}

    def decide(self, taints: Taints, pod: Object, node: str) -> Eviction:
        """When the pod has to go. `taints` are the node's NoExecute taints."""
        view: Pod = pod.view
        case = (taints, tuple(view.spec.tolerations))
        decided = self._decided.get(case)
        if decided is None:
            if len(self._decided) >= _REMEMBERED:
                self._decided.clear()
            tolerations = self._compile(case[1])
            decided = decide_eviction(taints, tolerations), tolerations
            self._decided[case] = decided
        eviction, tolerations = decided
        if not eviction.all_tolerated:
            self._reader.tell_unreadable(tolerations, taints, node, pod=pod.key)
        return eviction

    def _compile(self, tolerations: Tolerations) -> TolerationSet:
        compiled = self._compiled.get(tolerations)
        if compiled is None:
            if len(self._compiled) >= _REMEMBERED:
                self._compiled.clear()
            reader = self._reader
            compiled = compile_tolerations(tolerations, reader.gates, reader.programs, reader.evaluation_failed)
            self._compiled[tolerations] = compiled
        return compiled
