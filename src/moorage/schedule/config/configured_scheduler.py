"""A scheduler's configuration, and the scheduler made of it. Kubernetes: profile.NewMap and scheduler.New."""

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.columns.cluster import Cluster
from moorage.model.gates import GateSet
from moorage.schedule.config.default_profile import (
    DEFAULT_ORDER,
    DEFAULT_SCHEDULER,
    PluginOrder,
    Row,
    Shared,
    make_profile,
    program_cache,
)
from moorage.schedule.config.plugin_args import DefaultPreemptionArgs
from moorage.schedule.cycle import Scheduler
from moorage.schedule.framework.profile import Profile
from moorage.schedule.plugins.spread.default_selector import DefaultSelectors
from moorage.schedule.preemption.preemption import NAME as PREEMPTION
from moorage.schedule.preemption.preemption import PreemptionArgs
from moorage.schedule.queue.backoff import Backoff


class ConfiguredProfile(msgspec.Struct, frozen=True):
    """One `schedulerName`: its plugins, their arguments, and the rows of other packages' plugins."""

    name: str = DEFAULT_SCHEDULER
    order: PluginOrder = DEFAULT_ORDER
    args: Mapping[str, Any] = msgspec.field(default_factory=dict)
    third_party: Mapping[str, Row] = msgspec.field(default_factory=dict)

    @property
    def preemption(self) -> PreemptionArgs | None:
        """Return DefaultPreemption's arguments; None if it is off."""
        if not self.order.preempts:
            return None
        args = self.args.get(PREEMPTION)
        if not isinstance(args, DefaultPreemptionArgs):
            return PreemptionArgs()
        return PreemptionArgs(args.minCandidateNodesPercentage, args.minCandidateNodesAbsolute)


class Note(msgspec.Struct, frozen=True):
    """Something in a configuration that is accepted and means less than its author may think."""

    source: str
    line: int
    text: str


class Configuration(msgspec.Struct, frozen=True):
    """Profiles, backoff, and notes about settings that have no effect."""

    profiles: tuple[ConfiguredProfile, ...] = (ConfiguredProfile(),)
    backoff: Backoff = Backoff()
    notes: tuple[Note, ...] = ()

    def make_profiles(self, gates: GateSet, selectors: DefaultSelectors | None = None) -> dict[str, Profile]:
        shared = Shared(gates, program_cache(gates), selectors)
        return {one.name: make_profile(one.name, shared, one.order, one.args, one.third_party) for one in self.profiles}

    def make_scheduler(self, cluster: Cluster, gates: GateSet, selectors: DefaultSelectors | None = None) -> Scheduler:
        preemption = {one.name: one.preemption for one in self.profiles}
        return Scheduler(self.make_profiles(gates, selectors), cluster, preemption=preemption, backoff=self.backoff)


DEFAULT_CONFIGURATION = Configuration()
