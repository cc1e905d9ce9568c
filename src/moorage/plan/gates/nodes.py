"""Find the nodes that a pod may use and that a volume can be reached from, under some gates.

Only taints and node affinity count: what else a node lacks may be there tomorrow.
"""

import msgspec

from moorage.match.node_selector import compile_node_selector, compile_required_node_affinity
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import PodSpec, Toleration
from moorage.model.types.storage import PersistentVolume

_KEEPING_OUT = frozenset({"NoExecute", "NoSchedule"})


class Nodes:
    """Nodes. Each distinct set of tolerations and affinity is evaluated once."""

    def __init__(self, by_name: dict[str, Node]) -> None:
        self.by_name = by_name
        self._compiled: dict[tuple[tuple[Toleration, ...], GateSet], TolerationSet] = {}
        self._found: dict[tuple[bytes, GateSet], list[str]] = {}

    def tolerations(self, spec: PodSpec, gates: GateSet) -> TolerationSet:
        key = tuple(spec.tolerations), gates
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = compile_tolerations(spec.tolerations, gates)
        return compiled

    def open_to(self, spec: PodSpec, gates: GateSet) -> list[str]:
        """Return the nodes that the pod may be scheduled on."""
        affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
        key = msgspec.msgpack.encode(("pod", spec.tolerations, spec.nodeSelector, affinity)), gates
        found = self._found.get(key)
        if found is None:
            required = compile_required_node_affinity(spec.nodeSelector, spec.affinity, gates)
            tolerations = self.tolerations(spec, gates)
            keeps_out: dict[tuple[Taint, ...], bool] = {}
            found = self._found[key] = []
            for name, node in self.by_name.items():
                taints = tuple(node.spec.taints)
                if taints not in keeps_out:
                    keeps_out[taints] = bool(tolerations.untolerated(taints, _KEEPING_OUT))
                if not keeps_out[taints] and required.match(node.metadata.labels, name):
                    found.append(name)
        return found

    def reached_by(self, volume: PersistentVolume, gates: GateSet) -> list[str]:
        """Return the nodes that satisfy the volume's node affinity."""
        affinity = volume.spec.nodeAffinity
        if affinity is None or affinity.required is None:
            return list(self.by_name)
        key = msgspec.msgpack.encode(("volume", affinity.required)), gates
        found = self._found.get(key)
        if found is None:
            selector = compile_node_selector(affinity.required, gates)
            found = [name for name, node in self.by_name.items() if selector.match(node.metadata.labels, name)]
            self._found[key] = found
        return found
