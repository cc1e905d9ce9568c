"""Say in Karpenter's words why a pod fits no NodePool.

Kubernetes: Karpenter, addToNewNodeClaim, InstanceTypeFilterError and Taints.ToleratesPod. Differs: what the scheduler's
plugins say beyond taints, requirements and resources is told in their words; requirements of NodePools are not listed.
"""

from collections.abc import Sequence

import msgspec

from moorage.autoscale.node_kinds import NodeKinds
from moorage.columns.cluster import PodRecord
from moorage.columns.resources import PODS, request_quantities
from moorage.model.types.node import Taint
from moorage.pools.growth import Growth
from moorage.pools.node_template import Pool
from moorage.schedule.diagnosis import Refusal

NO_POOLS = "nodepool requirements filtered out all available instance types"
_FIT, _TAINTS, _AFFINITY, _NAME = "NodeResourcesFit", "TaintToleration", "NodeAffinity", "NodeName"
_REQUIREMENTS = frozenset({_AFFINITY, _NAME})


def reason_of_pool(record: PodRecord, pool: Pool, growth: Growth, kinds: NodeKinds) -> str:
    """Return why a pool does not start a node for a pod."""
    named = f"(NodePool={pool.name})"
    if pool.replicas is not None:
        return f"static nodepools start no nodes for pods {named}"
    more = growth.more_nodes
    if more is not None and more <= 0:
        return f"node limits have been exhausted for nodepool {named}"
    numbers = kinds.of_pool[pool.name].tolist()
    allowed = [number for number in numbers if not growth.why_not(kinds.kinds[number].template)]
    if not allowed:
        return f"all available instance types exceed limits for nodepool {named}"
    refusals = {number: kinds.refusals(record, kinds.kinds[number]) for number in allowed}
    taints = untolerated(record, pool, kinds)
    if taints:
        return "; ".join(f"did not tolerate taint (taint={_shown(taint)})" for taint in taints)
    return _of_types(record, list(refusals.values()))


def untolerated(record: PodRecord, pool: Pool, kinds: NodeKinds) -> list[Taint]:
    """Return the taints of a pool's nodes that a pod does not tolerate, by the plugin's answer."""
    number = int(kinds.of_pool[pool.name][0])
    refused = [one for one in kinds.refusals(record, kinds.kinds[number]) if one.plugin == _TAINTS]
    if not refused:
        return []
    said = " ".join((*refused[0].verdict.reasons, *refused[0].verdict.details))
    taints = [taint for taint in kinds.kinds[number].template.taints if taint.key in said]
    return taints or list(kinds.kinds[number].template.taints)


def _of_types(record: PodRecord, refusals: Sequence[Sequence[Refusal]]) -> str:
    """Return which criteria no kind of node meets, alone or together."""
    plugins = [{refusal.plugin for refusal in each} for each in refusals]
    asked = {name: str(amount) for name, amount in sorted(request_quantities(record.pod.spec).items())}
    resources = f"resources={msgspec.json.encode({**asked, PODS: '1'}).decode()}"
    others = [names - _REQUIREMENTS - {_FIT} for names in plugins]
    if all(others):
        said = [
            reason for each in refusals for one in each if one.plugin in set.union(*others) for reason in one.reasons
        ]
        return "; ".join(dict.fromkeys(said))
    meets = [not names & _REQUIREMENTS for names in plugins]
    fits = [_FIT not in names for names in plugins]
    if not any(meets) and not any(fits):
        return f"no instance type met the scheduling requirements or had enough resources, {resources}"
    if not any(meets):
        return f"no instance type met all requirements, {resources}"
    if not any(fits):
        return f"no instance type has enough resources, {resources}"
    if not any(met and fit for met, fit in zip(meets, fits, strict=True)):
        return f"no instance type which met the scheduling requirements had the required resources, {resources}"
    return "no instance type satisfies the pod beside the other pods: topology spread, pod affinity or ports"


def _shown(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
