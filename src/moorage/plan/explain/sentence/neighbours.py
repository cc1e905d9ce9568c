"""Tell what keeps a pod from nodes beside labels, taints and room: other pods, volumes, devices, ports."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from moorage.columns.cluster import Cluster
from moorage.columns.codes import ABSENT
from moorage.match.pod_affinity import PodAffinityTermMatcher
from moorage.model.types.node import Node
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim
from moorage.model.well_known.labels import HOSTNAME
from moorage.plan.explain.sentence.causes import Cause, Devices, Excluding, Plain, Spread, VolumeLimit
from moorage.plan.explain.sentence.words import KeyNames, cut, listed, value_text
from moorage.schedule.framework.plugin import Verdict
from moorage.schedule.plugins.inter_pod_affinity import AFFINITY_REASON, ANTI_AFFINITY_REASON
from moorage.schedule.plugins.node_ports import is_taken
from moorage.schedule.plugins.pod_topology_spread import complaint, skew_at
from moorage.schedule.plugins.volumes.node_volume_limits import exceeded
from moorage.schedule.plugins.volumes.volume_needs import required_of
from moorage.schedule.plugins.volumes.volume_restrictions import DISK_CONFLICT
from moorage.schedule.plugins.volumes.volume_zone import elsewhere

Told = Iterator[tuple[Cause, Any]]
_NODE = "node"


def port_causes(want: Any, cluster: Cluster, slot: int) -> Told:
    """Yield the host ports that are in use on a node."""
    for port in want:
        if is_taken(port, cluster, slot):
            name = f"host port {port[2]}/{port[1]}"
            yield (
                Plain(
                    f"Needs {name}, which is in use on ",
                    "every",
                    "",
                    f"{name}, which is in use",
                    f"has {name} in use",
                    f"have {name} in use",
                ),
                None,
            )


def spread_causes(want: Any, slot: int, names: KeyNames) -> Told:
    """Yield the topology spread constraints that a node would break."""
    for constraint, domain in zip(want.constraints.hard, want.hard, strict=True):
        if complaint(constraint, domain, slot) is None:
            continue
        name = "nodes" if constraint.key == HOSTNAME else names.name(constraint.key)
        if domain.column.codes[slot] == ABSENT:
            lacks = f"has no label {name}, over which it spreads"
            yield (
                Plain(
                    f"Spreads over {name}, a label that ",
                    "no",
                    " has",
                    f"the label {name}, over which it spreads",
                    lacks,
                    lacks.replace("has", "have", 1),
                ),
                None,
            )
        else:
            few = domain.domains < constraint.min_domains
            domains = f"{domain.domains} of {constraint.min_domains} minDomains" if few else ""
            yield Spread(name, constraint.max_skew, domains), skew_at(constraint, domain, slot)


def affinity_cause(want: Any, verdict: Verdict, names: KeyNames) -> Cause:
    """Return which rule about other pods refuses a node: one of the pod itself, or one of the pods there."""
    reason = verdict.reasons[0]
    if reason == AFFINITY_REASON:
        return _affinity(want.terms.required_affinity, names)
    if reason == ANTI_AFFINITY_REASON:
        return _anti_affinity(want.terms.required_anti_affinity, names)
    return Plain(
        "The anti-affinity of other pods keeps it away from ",
        "every",
        "",
        "pods that keep it away by their anti-affinity",
        "has pods that keep it away",
        "have pods that keep it away",
    )


def _affinity(terms: tuple[PodAffinityTermMatcher, ...], names: KeyNames) -> Plain:
    others = "has no pod that its affinity asks for", "have no pod that its affinity asks for"
    near = [_near(term, names) for term in terms]
    shares = listed([f"its {place} with {pods}" for place, pods in near])
    ((place, pods), *more) = near
    if more:
        return Plain(f"Has to share {shares}; ", "no", " has all of these", "the pods of its affinity", *others)
    lacks = f"{pods}, with which it has to share its {place}"
    if place == _NODE:
        return Plain(f"Has to share {shares}; ", "no", " has such a pod", lacks, *others)
    return Plain(f"Has to share {shares}; there is no such pod in the {place} of ", "any", "", lacks, *others)


def _anti_affinity(terms: tuple[PodAffinityTermMatcher, ...], names: KeyNames) -> Plain:
    others = "has pods that it avoids", "have pods that it avoids"
    near = [_near(term, names) for term in terms]
    shares = listed([f"its {place} with {pods}" for place, pods in near], "or")
    ((place, pods), *more) = near
    if more:
        return Plain(f"Must not share {shares}; ", "every", " has one of these", "pods that it avoids", *others)
    lacks = f"{pods}, with which it must not share its {place}"
    if place == _NODE:
        return Plain(f"Must not share {shares}; ", "every", " has such a pod", lacks, *others)
    return Plain(f"Must not share {shares}; there is such a pod in the {place} of ", "every", "", lacks, *others)


def _near(term: PodAffinityTermMatcher, names: KeyNames) -> tuple[str, str]:
    return _place(term.topologyKey, names), cut(str(term.selector)) or "any pod"


def _place(key: str, names: KeyNames) -> str:
    return _NODE if key == HOSTNAME else names.name(key)


# -- volumes and devices ----------------------------------------------------------------------------------------------


def zone_causes(want: Any, node: Node, names: KeyNames) -> Told:
    """Yield the volumes that are in another zone than the node."""
    for topology, _ in elsewhere(want, node.metadata.labels):
        where = f"{names.name(topology.key)} {listed(sorted(topology.values), 'or')}"
        volume = cut(topology.volume)
        yield (
            Plain(
                f"Its volume {volume} is in {where}; ",
                "no",
                " is",
                f"its volume {volume} in {where}",
                "is not where its volume is",
                "are not where its volume is",
            ),
            None,
        )


def binding_causes(want: Any, cluster: Cluster, slot: int, names: KeyNames) -> Told:
    """Yield the claims whose volume cannot be used on a node, and the one for which there is no volume."""
    for volume in want.bound:
        if volume.explain(cluster, slot) is not None:
            claim, only = cut(volume.claim), _only_for(volume.volume, names)
            yield (
                Plain(
                    f"The volume of its claim {claim} is only for {only}; "
                    if only
                    else f"The volume of its claim {claim} is out of reach of ",
                    "no" if only else "every",
                    " is there" if only else "",
                    f"the volume of its claim {claim}, which is elsewhere",
                    "cannot use its volume",
                    "cannot use its volume",
                ),
                None,
            )
    choice = want.find(cluster, slot)
    if choice.need is not None:
        claim, asks = cut(choice.need.claim.metadata.name), _asked(choice.need.claim)
        yield (
            Plain(
                f"Its claim {claim} ({asks}) finds no volume on ",
                "any",
                "",
                f"a volume for its claim {claim}",
                "has no volume for it",
                "have no volume for it",
            ),
            None,
        )
    if want.missing is not None:
        claim, volume = map(cut, want.missing)
        yield (
            Plain(
                f"Its claim {claim} is bound to volume {volume}, which does not exist",
                "",
                "",
                f"volume {volume}, which does not exist",
                "has no volume for it",
                "have no volume for it",
            ),
            None,
        )


def _only_for(volume: PersistentVolume, names: KeyNames) -> str:
    """Return the label that the nodes of a volume have; empty if its affinity has several requirements."""
    required = required_of(volume)
    terms = required.nodeSelectorTerms if required is not None else ()
    if len(terms) != 1 or len(terms[0].matchExpressions) != 1 or terms[0].matchFields:
        return ""
    (expression,) = terms[0].matchExpressions
    if expression.operator != "In":
        return ""
    return f"{names.name(expression.key)}={listed([value_text(one) for one in sorted(expression.values)], 'or')}"


def _asked(claim: PersistentVolumeClaim) -> str:
    """Return how much a claim asks for, and of which class."""
    amount = claim.spec.resources.requests.get("storage")
    parts = [str(amount) if amount is not None else "", f"class {claim.spec.storageClassName or 'none'}"]
    return ", ".join(cut(part) for part in parts if part)


def limit_causes(want: Any, verdict: Verdict, cluster: Cluster, slot: int) -> Told:
    """Yield the drivers of which a node has as many volumes as it may; or that a claim is not there."""
    if not verdict.details:
        yield other_cause("NodeVolumeLimits", verdict), None
    for excess in exceeded(want, cluster, slot):
        yield VolumeLimit(cut(excess.driver)), excess.limit


def restriction_cause(want: Any, verdict: Verdict, cluster: Cluster) -> Cause:
    if verdict.reasons[0] == DISK_CONFLICT:
        return Plain(
            "Its disk is in use on ",
            "every",
            "",
            "its disk, which is in use",
            "has its disk in use",
            "have its disk in use",
        )
    claim = want.conflict(cluster)
    name = cut(claim[1]) if claim is not None else ""
    return Plain(
        f"Its claim {name} is ReadWriteOncePod, and another pod uses it",
        "",
        "",
        f"its ReadWriteOncePod claim {name}, which is in use",
        "cannot use its claim",
        "cannot use its claim",
    )


def device_cause(want: Any, verdict: Verdict) -> tuple[Cause, Any]:
    """Return the request for devices that a node cannot meet; where there are several, that they cannot be met."""
    requests = [one for _, compiled in want.waiting for alternatives in compiled.requests for one in alternatives]
    if len(requests) == 1 and len(verdict.gaps) == 1 and not requests[0].all_devices:
        count = max(requests[0].count, 1)
        return Devices(count, cut(requests[0].view.deviceClassName)), round(count * (1 - verdict.gaps[0]))
    asked = _devices(requests) if not any(len(one) > 1 for _, each in want.waiting for one in each.requests) else ""
    return Plain(
        f"Needs {asked or 'devices for its claims'}; ",
        "no",
        " can give it all of them",
        asked or "devices for its claims",
        "has no devices that it can use",
        "have no devices that it can use",
    ), None


def _devices(requests: Sequence[Any]) -> str:
    """Write how many devices of each class are asked for; empty if all devices that there are."""
    if any(one.all_devices for one in requests):
        names = {cut(one.view.deviceClassName) for one in requests}
        return f"all devices of class {names.pop()}" if len(requests) == 1 else ""
    counts: Counter[str] = Counter()
    for one in requests:
        counts[cut(one.view.deviceClassName)] += max(one.count, 1)
    return listed([f"{count} device{'s' if count > 1 else ''} of class {name}" for name, count in counts.items()])


def feature_cause(want: tuple[str, ...]) -> Cause:
    features = cut(", ".join(want))
    return Plain(
        f"Needs a node that declares {features}; ",
        "no",
        " does",
        f"the feature {features}",
        "does not declare the features that it needs",
        "do not declare the features that it needs",
    )


def name_cause(node: str) -> Cause:
    name = cut(node)
    return Excluding(f"Is only for node {name}", "", "", f"its node, {name}", "is not its node", "are not its node")


#: Nodes with pods that were nominated for them.
KEPT_FREE = Plain(
    "The room on ",
    "every",
    " is kept for pods that were nominated for it",
    "room that is kept for nominated pods",
    "keeps its room for nominated pods",
    "keep their room for nominated pods",
)


def other_cause(plugin: str, verdict: Verdict) -> Cause:
    """Return the refusal of any other plugin in its own words."""
    reason = (verdict.reasons or ("refused",))[0].removeprefix("node(s) ")
    return Plain(
        f"{plugin} refuses ",
        "every",
        f": {reason}",
        f"{plugin} ({reason})",
        f"is refused by {plugin}",
        f"are refused by {plugin}",
    )
