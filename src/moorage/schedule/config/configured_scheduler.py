"""Make a scheduler from its configuration. Kubernetes: profile.NewMap and scheduler.New."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.columns.cluster import Cluster
from moorage.match.evaluation.accounts import Evaluations
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
from moorage.schedule.framework.plugin import Profile
from moorage.schedule.plugins.devices.sliced_searches import SlicedSearches
from moorage.schedule.plugins.spread_domains import DefaultSelectors
from moorage.schedule.preemption.preemption import NAME as PREEMPTION
from moorage.schedule.queue_timers import Backoff


class ConfiguredProfile(msgspec.Struct, frozen=True):
    """One `schedulerName`: its plugins, their arguments, and the rows of other packages' plugins."""

    name: str = DEFAULT_SCHEDULER
    order: PluginOrder = DEFAULT_ORDER
    args: Mapping[str, Any] = msgspec.field(default_factory=dict)
    third_party: Mapping[str, Row] = msgspec.field(default_factory=dict)

    @property
    def preemption(self) -> DefaultPreemptionArgs | None:
        """Return DefaultPreemption's arguments; None if it is off."""
        return self.args.get(PREEMPTION, DefaultPreemptionArgs()) if self.order.preempts else None


class ConfigurationProblem(NamedTuple):
    """A mistake in a configuration, or a note; the line is 0 if it was not read from a file."""

    source: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.text}" if self.line else f"{self.source}: {self.text}"


class ConfigurationError(Exception):
    """A configuration that cannot be used, with at least one problem."""

    def __init__(self, problems: tuple[ConfigurationProblem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class Configuration(msgspec.Struct, frozen=True):
    """Profiles, backoff, and notes about settings that have no effect."""

    profiles: tuple[ConfiguredProfile, ...] = (ConfiguredProfile(),)
    backoff: Backoff = Backoff()
    notes: tuple[ConfigurationProblem, ...] = ()

    def make_profiles(
        self,
        gates: GateSet,
        selectors: DefaultSelectors | None = None,
        evaluations: Evaluations | None = None,
        sliced: SlicedSearches | None = None,
    ) -> dict[str, Profile]:
        shared = Shared(gates, program_cache(gates, evaluations), selectors, sliced, evaluations)
        return {
            profile.name: make_profile(profile.name, shared, profile.order, profile.args, profile.third_party)
            for profile in self.profiles
        }

    def make_scheduler(
        self,
        cluster: Cluster,
        gates: GateSet,
        selectors: DefaultSelectors | None = None,
        evaluations: Evaluations | None = None,
        sliced: SlicedSearches | None = None,
    ) -> Scheduler:
        """Make the scheduler of all profiles; `evaluations` and `sliced` take care of what may take long."""
        preemption = {profile.name: profile.preemption for profile in self.profiles}
        profiles = self.make_profiles(gates, selectors, evaluations, sliced)
        return Scheduler(profiles, cluster, preemption=preemption, backoff=self.backoff)


DEFAULT_CONFIGURATION = Configuration()
