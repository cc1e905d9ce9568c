"""Find the labels that the template of a pool lacks, without which autoscalers misjudge lowered pods.

An autoscaler that starts a pool at zero knows its nodes by the template only. Taints that the template does not mirror
look like none: the autoscaler buys nodes that the pods do not fit, or none that they would fit.
Kubernetes: Cluster Autoscaler's template node, Karpenter's NodePool. Differs: startup taints are left out, because they
are gone before pods come. Instance types are not needed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.attach.formats import MIRRORED
from moorage.attach.mirror import mirror_labels
from moorage.attach.tolerations import Pair
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.node import Taint
from moorage.pools.documents import CloudGroups, NodeGroup, NodePool
from moorage.pools.node_groups import labels_and_taints
from moorage.pools.node_template import Scaler, WrittenAt

Raw = dict[str, Any]


class PoolTemplate(NamedTuple):
    """What the nodes of a pool have in common when they start."""

    scaler: Scaler
    name: str
    place: WrittenAt
    labels: Mapping[str, str]
    taints: Sequence[Taint]

    @property
    def kind(self) -> str:
        return "NodePool" if self.scaler is Scaler.KARPENTER else "NodeGroup"

    @property
    def pairs(self) -> set[Pair]:
        return {Pair(taint.key, taint.effect) for taint in self.taints}


def template_in(raw: Raw, place: WrittenAt) -> PoolTemplate | None:
    """Return the template of a NodePool or NodeGroup; None if it cannot be read, which reading pools reports."""
    is_pool = raw.get("kind") == "NodePool"
    try:
        if is_pool:
            pool = convert_view(raw, NodePool)
            made = pool.spec.template
            return PoolTemplate(Scaler.KARPENTER, pool.metadata.name, place, made.metadata.labels, made.spec.taints)
        group = convert_view(raw, NodeGroup)
    except ConversionError:
        return None
    made_of = group.spec.template
    return PoolTemplate(
        Scaler.CLUSTER_AUTOSCALER, group.metadata.name, place, made_of.metadata.labels, made_of.spec.taints
    )


def templates_of_cloud(value: Any, place: WrittenAt) -> list[PoolTemplate]:
    """Return the templates of AutoScalingGroups, by their tags. Raises ConversionError."""
    groups = convert_view(value, CloudGroups).AutoScalingGroups
    return [
        PoolTemplate(Scaler.CLUSTER_AUTOSCALER, each.AutoScalingGroupName, place, *labels_and_taints(each))
        for each in groups
    ]


def lacking_labels(template: PoolTemplate, pairs: Collection[Pair] | None = None) -> dict[str, str]:
    """Return the labels of the mirror that a template lacks or has otherwise; only those of these pairs, if given."""
    taints = [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in template.taints
        if pairs is None or Pair(taint.key, taint.effect) in pairs
    ]
    own = dict(template.labels) if pairs is None else {}
    wanted = mirror_labels({"metadata": {"labels": own}, "spec": {"taints": taints}})
    del wanted[MIRRORED]
    return {key: value for key, value in wanted.items() if template.labels.get(key) != value}
