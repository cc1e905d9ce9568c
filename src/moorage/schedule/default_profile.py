"""Kubernetes' default plugins, all in one place, in the order in which they run.

In: the scheduler's gates. Out: a `Profile`. The order matters twice: the first plugin to refuse a node gives the reason
that is counted in the event, and cheap filters that say no for good come before dear ones.
Kubernetes: apis/config/v1/default_plugins.go. Differs: dynamic resource allocation is not there.
"""

from typing import Any

import msgspec

from moorage.model.gates import TAINT_TOLERATION_CEL, GateSet
from moorage.schedule.default_selector import DefaultSelectors
from moorage.schedule.plugin import Plugin
from moorage.schedule.plugins.image_locality import ImageLocality
from moorage.schedule.plugins.inter_pod_affinity import InterPodAffinity
from moorage.schedule.plugins.node_affinity import NodeAffinity
from moorage.schedule.plugins.node_name import NodeName
from moorage.schedule.plugins.node_ports import NodePorts
from moorage.schedule.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit
from moorage.schedule.plugins.node_unschedulable import NodeUnschedulable
from moorage.schedule.plugins.node_volume_limits import NodeVolumeLimits
from moorage.schedule.plugins.pod_topology_spread import PodTopologySpread
from moorage.schedule.plugins.taint_toleration import TaintToleration
from moorage.schedule.plugins.volume_binding import VolumeBinding
from moorage.schedule.plugins.volume_restrictions import VolumeRestrictions
from moorage.schedule.plugins.volume_zone import VolumeZone
from moorage.schedule.profile import Profile

DEFAULT_SCHEDULER = "default-scheduler"


class Enabled(msgspec.Struct, frozen=True):
    """A plugin's place in the profile: whether it filters, and its weight if it scores."""

    plugin: Plugin[Any]
    filters: bool
    weight: int = 0


def default_profile(
    gates: GateSet, name: str = DEFAULT_SCHEDULER, selectors: DefaultSelectors | None = None
) -> Profile:
    """The profile of a scheduler that nobody configured."""
    return profile_of(name, default_plugins(gates, program_cache(gates), selectors))


def default_plugins(gates: GateSet, programs: Any, selectors: DefaultSelectors | None = None) -> tuple[Enabled, ...]:
    """The default plugins in run order.

    `programs` is where all of them keep compiled expressions; `selectors` are the Services and controllers by which
    pods without spread constraints are spread.
    """
    return (
        # Cordoned nodes are out for nearly every pod, and one comparison tells.
        Enabled(NodeUnschedulable(gates, programs), filters=True),
        # A pod that names its node has nothing more to choose.
        Enabled(NodeName(), filters=True),
        # Taints keep whole pools of nodes away, and no eviction changes that. A soft taint weighs most of all scores:
        # somebody put it there to keep pods off.
        Enabled(TaintToleration(gates, programs), filters=True, weight=3),
        # Labels, too, are final. What users prefer counts twice what the scheduler thinks of by itself.
        Enabled(NodeAffinity(gates), filters=True, weight=2),
        # From here on eviction may help. Ports are a look-up.
        Enabled(NodePorts(), filters=True),
        # The commonest reason of all; when a node is refused for resources, nobody asks about its volumes or domains.
        Enabled(NodeResourcesFit(), filters=True, weight=1),
        # Volumes: first what other pods use and how many there are, which eviction may change; then where they can be
        # reached from, which it does not.
        Enabled(VolumeRestrictions(), filters=True),
        Enabled(NodeVolumeLimits(), filters=True),
        Enabled(VolumeBinding(gates), filters=True),
        Enabled(VolumeZone(), filters=True),
        # What depends on pods elsewhere comes last, because it is the dearest; spreading is a count per domain, ...
        Enabled(PodTopologySpread(gates, programs, selectors), filters=True, weight=2),
        # ... and affinity several of them.
        Enabled(InterPodAffinity(), filters=True, weight=2),
        # Scores only, after everything that filters: how evenly resources would be used, ...
        Enabled(NodeResourcesBalancedAllocation(), filters=False, weight=1),
        # ... and whether the image is there, which saves a download and nothing else.
        Enabled(ImageLocality(), filters=False, weight=1),
    )


def profile_of(name: str, plugins: tuple[Enabled, ...]) -> Profile:
    return Profile(
        name,
        tuple(enabled.plugin for enabled in plugins if enabled.filters),
        tuple((enabled.plugin, enabled.weight) for enabled in plugins if enabled.weight),
    )


def program_cache(gates: GateSet) -> Any:
    """One cache of compiled expressions; None where the gate is off, because CEL takes long to import."""
    if not gates.enabled(TAINT_TOLERATION_CEL):
        return None
    from moorage.match.cel import ProgramCache

    return ProgramCache()
