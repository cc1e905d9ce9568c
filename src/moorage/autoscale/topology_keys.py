"""Say by which labels nodes differ for pods that are spread, or that look at other pods."""

from moorage.model.types.pod import Affinity, PodSpec


def keys_read_by(spec: PodSpec) -> set[str]:
    """Return the keys of node labels by which nodes differ for a pod that is spread or looks at other pods."""
    keys = affinity_keys(spec.affinity) | {one.topologyKey for one in spec.topologySpreadConstraints}
    if spec.topologySpreadConstraints:  # which may count the nodes that the pod selects only
        keys |= spec.nodeSelector.keys()
        selected = spec.affinity.nodeAffinity if spec.affinity is not None else None
        required = selected.requiredDuringSchedulingIgnoredDuringExecution if selected is not None else None
        for term in required.nodeSelectorTerms if required is not None else ():
            keys |= {expression.key for expression in term.matchExpressions}
    return keys


def affinity_keys(affinity: Affinity | None) -> set[str]:
    """Return the keys of the topologies of required pod affinity and anti-affinity."""
    if affinity is None:
        return set()
    return {
        term.topologyKey
        for pods in (affinity.podAffinity, affinity.podAntiAffinity)
        if pods is not None
        for term in pods.requiredDuringSchedulingIgnoredDuringExecution
    }
