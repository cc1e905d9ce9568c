"""Refuse resizes of pods that their node cannot carry out: undeclared features, another system, too little capacity.

Kubernetes: plugin/pkg/admission/nodedeclaredfeatures and podresize. Differs: only `pods/resize` is looked at, because
a plain update cannot change what needs a declared feature.
"""

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw
from moorage.admit.world import AdmissionWorld
from moorage.columns.resources import CPU, MEMORY, amounts, pod_requests
from moorage.model.api_error import forbidden
from moorage.model.declared_features import missing_features, needed_to_update
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import OS

_NODE_CAPACITY, _UNSUPPORTED_PLATFORM = "NodeCapacity", "UnsupportedPlatform"


def _node_of(pod: Pod, world: AdmissionWorld) -> Node | None:
    """Return the node of a bound pod; None if it is not known and may exist. Raises Forbidden."""
    name = pod.spec.nodeName
    node = world.node(name)
    if node is None and not world.assumes(KINDS.NODE, name, KINDS.POD):
        raise Forbidden(f"node {go_quote(name)} not found")
    return node


class NodeDeclaredFeatureValidator(Plugin):
    """Refuses a resize that needs a feature which the pod's node does not declare."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def resize(self, new: Raw, view: Pod, old_view: Pod) -> None:
        needed = needed_to_update(old_view.spec, view.spec) if view.spec.nodeName else ()
        node = _node_of(view, self._world) if needed else None
        if node is None:
            return
        missing = missing_features(needed, node.status.declaredFeatures)
        if missing:
            where = f"which are not available on node {go_quote(node.metadata.name)}"
            raise Forbidden(f"pod update requires features {', '.join(missing)} {where}")


class PodResizeValidator(Plugin):
    """Refuses a resize on a node of another system than Linux, or beyond what the node has at all."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def resize(self, new: Raw, view: Pod, old_view: Pod) -> None:
        if not view.spec.nodeName or view.spec == old_view.spec:
            return
        node = _node_of(view, self._world)
        if node is None:
            return
        system = node.metadata.labels.get(OS, "linux")
        if system != "linux":
            name = go_quote(node.metadata.name)
            text = f"pod resize is only supported on linux nodes, node {name} is {go_quote(system)}"
            _refuse(view, text, _UNSUPPORTED_PLATFORM)
        requests, allocatable = pod_requests(view.spec), amounts(node.status.allocatable)
        texts = [
            f"{name}, requested: {requests[name]}, allocatable: {allocatable.get(name, 0)}"
            for name in (CPU, MEMORY)
            if requests.get(name, 0) > allocatable.get(name, 0)
        ]
        if texts:
            _refuse(view, f"node didn't have enough allocatable resources: {'; '.join(texts)}", _NODE_CAPACITY)


def _refuse(pod: Pod, text: str, cause: str) -> None:
    error = forbidden(KINDS.POD, pod.metadata.name, text)
    error.status["details"]["causes"] = [{"reason": cause}]
    raise error
