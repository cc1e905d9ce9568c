"""Read the causes of refusals: one for each thing that is in the way on a node, from what its plugin compares."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from moorage.columns.resources import PODS
from moorage.match.node_selector import gate_obstacle
from moorage.model.gates import GateSet
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE
from moorage.plan.explain.groups import Refused
from moorage.plan.explain.sentence.causes import CORDONED, Cause, Room, ShortOf, TooManyPods
from moorage.plan.explain.sentence.labels import label_causes
from moorage.plan.explain.sentence.neighbours import (
    KEPT_FREE,
    affinity_cause,
    binding_causes,
    device_cause,
    feature_cause,
    limit_causes,
    name_cause,
    other_cause,
    port_causes,
    restriction_cause,
    spread_causes,
    zone_causes,
)
from moorage.plan.explain.sentence.taints import taint_causes
from moorage.plan.explain.sentence.words import KeyNames
from moorage.schedule.candidates import Candidates
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.plugins.inter_pod_affinity import InterPodAffinity
from moorage.schedule.plugins.node_affinity import ENFORCED_REASON, NodeAffinity
from moorage.schedule.plugins.node_declared_features import NodeDeclaredFeatures
from moorage.schedule.plugins.node_name import NodeName
from moorage.schedule.plugins.node_ports import NodePorts
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit
from moorage.schedule.plugins.node_unschedulable import NodeUnschedulable
from moorage.schedule.plugins.pod_topology_spread import PodTopologySpread
from moorage.schedule.plugins.taint_toleration import TaintToleration
from moorage.schedule.plugins.volumes.node_volume_limits import NodeVolumeLimits
from moorage.schedule.plugins.volumes.volume_binding import VolumeBinding
from moorage.schedule.plugins.volumes.volume_restrictions import VolumeRestrictions
from moorage.schedule.plugins.volumes.volume_zone import VolumeZone
from moorage.schedule.preemption.nominations import NominatedPods

_HARD = frozenset({NO_SCHEDULE, NO_EXECUTE})


class CauseReader:
    """Reads the causes of one shape of pods; all nodes of a group have the same ones."""

    def __init__(self, candidates: Candidates, gates: GateSet) -> None:
        self._candidates, self._cluster, self._gates = candidates, candidates.cluster, gates
        self._wants = {item.plugin.name: item.prepared.want for item in candidates.filters}

    @cached_property
    def labels(self) -> KeyNames:
        return KeyNames({key for _, node in self._cluster.nodes for key in node.metadata.labels})

    @cached_property
    def taints(self) -> KeyNames:
        return KeyNames({taint.key for _, node in self._cluster.nodes for taint in node.spec.taints})

    @property
    def shortened(self) -> dict[str, str]:
        """The keys that were named shorter, by these names."""
        read = (self.__dict__.get(name) for name in ("labels", "taints"))
        return {short: key for names in read if names is not None for short, key in names.shortened.items()}

    def causes(self, group: Refused) -> dict[Cause, Any]:
        """Return what is in the way on the nodes of a group, each with what they have."""
        slot = self._cluster.nodes.slot_of[group.nodes[0]]
        causes: dict[Cause, Any] = {}
        for refusal in group.refusals:
            read = dict(self._of(refusal, slot)) or {other_cause(refusal.plugin, refusal.verdict): None}
            causes.update(read)
        return causes

    def _of(self, refusal: Refusal, slot: int) -> Iterator[tuple[Cause, Any]]:
        name, verdict = refusal.plugin, refusal.verdict
        want, node = self._wants[name], self._cluster.nodes.node(slot)
        match name:
            case NodeResourcesFit.name:
                yield from self._room(want, slot)
            case TaintToleration.name:
                yield from taint_causes(want.all, want.all.untolerated(node.spec.taints, _HARD), self.taints)
            case NodeAffinity.name if verdict.reasons[0] != ENFORCED_REASON:
                yield from label_causes(want.required_of, node, self._gate, self.labels)
            case NodeUnschedulable.name:
                yield CORDONED, None
            case NodePorts.name:
                yield from port_causes(want, self._cluster, slot)
            case PodTopologySpread.name:
                yield from spread_causes(want, slot, self.labels)
            case InterPodAffinity.name:
                yield affinity_cause(want, verdict, self.labels), None
            case VolumeZone.name:
                yield from zone_causes(want, node, self.labels)
            case VolumeBinding.name:
                yield from binding_causes(want, self._cluster, slot, self.labels)
            case NodeVolumeLimits.name:
                yield from limit_causes(want, verdict, self._cluster, slot)
            case VolumeRestrictions.name:
                yield restriction_cause(want, verdict, self._cluster), None
            case DynamicResources.name if verdict.details:
                yield device_cause(want.needs_at(self._cluster, slot), verdict)
            case NodeDeclaredFeatures.name:
                yield feature_cause(want), None
            case NodeName.name:
                yield name_cause(want), None
            case NominatedPods.name:
                yield KEPT_FREE, None

    def _room(self, want: Any, slot: int) -> Iterator[tuple[Cause, Any]]:
        nodes = self._cluster.nodes
        if nodes.free(PODS)[slot] < 1:
            yield TooManyPods(), Room(int(nodes.free(PODS)[slot]), int(nodes.allocatable(PODS)[slot]))
        for resource, needed in want.needs:
            free, capacity = int(nodes.free(resource)[slot]), int(nodes.allocatable(resource)[slot])
            if free < needed and (capacity or resource not in want.backed):
                yield ShortOf(resource, needed), Room(free, capacity)

    @cached_property
    def _gate(self) -> str:
        affinity = self._candidates.shape.spec.affinity
        required = affinity.nodeAffinity if affinity is not None else None
        terms = required.requiredDuringSchedulingIgnoredDuringExecution if required is not None else None
        return gate_obstacle(terms, self._gates, "the scheduler") or ""
