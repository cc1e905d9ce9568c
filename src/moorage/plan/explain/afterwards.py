"""Say what happens to a pod on a node that the scheduler chose: whether it is evicted or refused there.

A toleration with `tolerationSeconds` lets the scheduler choose a node that the pod has to leave again. Where components
have other gates, the controller manager may evict what the scheduler placed, and the kubelet refuse it, because each
reads tolerations and node affinity with its own gates. Kubernetes: "Version Skew Strategy" of KEP-5471, KEP-5721 and
KEP-5500.
"""

from collections.abc import Iterator

from moorage.match.node_selector import compile_required_node_affinity, gate_obstacle
from moorage.match.taint_eviction import When, decide_eviction
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import Component
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.simulation.simulation import Settings

_EXECUTE = frozenset({NO_EXECUTE})


def troubles_on(node: Node, pod: Pod, settings: Settings) -> Iterator[str]:
    """Yield why a pod that the scheduler puts on the node does not stay or start there."""
    scheduler, manager, kubelet = map(
        settings.gates_of, (Component.SCHEDULER, Component.CONTROLLER_MANAGER, Component.KUBELET)
    )
    taints, spec = node.spec.taints, pod.spec
    if manager == scheduler:
        eviction = decide_eviction(taints, compile_tolerations(spec.tolerations, manager)) if taints else None
        if eviction is not None and eviction.when is When.AFTER:
            yield f"it would be evicted {eviction.seconds:,} s later, as would pods in its stead: {eviction.because}"
    else:
        tolerations = compile_tolerations(spec.tolerations, manager, component="the controller manager")
        lost = tolerations.untolerated(taints, _EXECUTE)
        if lost and decide_eviction(taints, tolerations).when is When.NOW:
            yield f"it would be evicted at once, as would pods in its stead: {tolerations.explain(lost[0])}"
    if kubelet == scheduler:
        return
    tolerations = compile_tolerations(spec.tolerations, kubelet, component="the kubelet")
    lost = tolerations.untolerated(taints, _EXECUTE)
    if lost:
        yield f"its node would refuse it (phase Failed): {tolerations.explain(lost[0])}"
    required = spec.affinity.nodeAffinity if spec.affinity is not None else None
    terms = required.requiredDuringSchedulingIgnoredDuringExecution if required is not None else None
    obstacle = gate_obstacle(terms, kubelet)
    affinity = compile_required_node_affinity(spec.nodeSelector, spec.affinity, kubelet)
    if obstacle and not affinity.match(node.metadata.labels, node.metadata.name):
        yield f"its node would refuse it (phase Failed): {obstacle} in the kubelet"
