"""Count the pods that kubelets refuse, and name workloads whose pods are refused again and again."""

from collections import Counter

from moorage.match.taint_eviction import gate_in_the_way
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.run.admission import Refusal
from moorage.telemetry.logs import get_logger
from moorage.telemetry.pod_loops import PodLoops

_LOG = get_logger("kubelet")


class Refusals:
    """Refused pods by reason, and those `again` that were made for refused ones."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        self.again: Counter[str] = Counter()
        self._loops = PodLoops()

    def note(self, pod: Pod, node: Node, refusal: Refusal, now: float) -> None:
        """Count a refused pod, and log its workload once if the pod replaces a refused one."""
        self.counted[refusal.reason] += 1
        loop = self._loops.ended(pod.metadata, now)
        if loop is None:
            return
        self.again[refusal.reason] += 1
        if loop.is_news:
            gate = gate_in_the_way(pod.spec, node)
            hint = f"; the feature gate {gate} is off in the kubelet" if gate else ""
            _LOG.error(loop.text("refused by their kubelet", f"{refusal.reason}: {refusal.message}{hint}"))
