"""Cluster Autoscaler as a controller: a look at the cluster every scan interval, as long as anything may have changed.

Kubernetes: Cluster Autoscaler, core/static_autoscaler.go (RunOnce), core/scaledown/unneeded and …/actuation. Differs:
a look is left out where nothing has changed since the last one and no time has run out: it would find the same.
"""

import math
from collections.abc import Sequence

from moorage.autoscale.cluster_autoscaler.buffers import BuffersOfClusterAutoscaler
from moorage.autoscale.cluster_autoscaler.estimate import Option
from moorage.autoscale.cluster_autoscaler.priorities import group_priorities
from moorage.autoscale.cluster_autoscaler.scale_down import ScaleDownSearch, Unneeded
from moorage.autoscale.cluster_autoscaler.scale_up import (
    ScaleUp,
    ScaleUpSearch,
    no_scale_up_text,
    reasons_text,
    scale_up_text,
)
from moorage.autoscale.controller import Leaving, NodeAutoscaler, Setup
from moorage.autoscale.disruption_budgets import BudgetCounts
from moorage.autoscale.node_kinds import NodeKind
from moorage.autoscale.options import ClusterAutoscalerOptions
from moorage.autoscale.snapshot import Trial
from moorage.autoscale.timeline import Refused
from moorage.client.protocol import Object
from moorage.columns.cluster import PodRecord
from moorage.control.framework.actions import NORMAL, Action, Report, note
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.world import World
from moorage.model.go.times import duration_text, seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.pools.growth import Growth
from moorage.pools.node_template import Scaler

TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
#: If all waiting pods are younger than this, more of them are expected.
_VERY_NEW = 2.0
_FOREVER = float("inf")
_NEVER = float("-inf")


class ClusterAutoscalerController(NodeAutoscaler):
    """Cluster Autoscaler."""

    name = "cluster-autoscaler"
    component = "cluster-autoscaler"
    scaler = Scaler.CLUSTER_AUTOSCALER
    leaving_taint = TO_BE_DELETED
    buffers_type = BuffersOfClusterAutoscaler
    room: BuffersOfClusterAutoscaler

    def __init__(self, context: ControllerContext, setup: Setup) -> None:
        super().__init__(context, setup)
        options = setup.options
        self.options = options if isinstance(options, ClusterAutoscalerOptions) else ClusterAutoscalerOptions()
        self.delete_delay = self.options.node_delete_delay_after_taint
        self._origin: float | None = None
        self._last_look = _NEVER
        self._planned = _FOREVER  # the time of the next look, as far as it is known
        self._seen = -1
        self._unneeded_since: dict[str, float] = {}
        self._unneeded: list[Unneeded] = []
        self._tried: dict[str, float] = {}  # nodes that could not go, and until when that is taken for granted
        self._last_scale_up = self._last_delete = self._last_failure = _NEVER
        #: Why nodes stay, by name, as far as they were looked at.
        self.needed: dict[str, str] = {}

    @property
    def holds_room(self) -> bool:
        options = self.setup.options
        return not isinstance(options, ClusterAutoscalerOptions) or options.capacity_buffer_pod_injection_enabled

    def _more(self) -> tuple[Kind, ...]:
        return (*super()._more(), KINDS.CONFIG_MAP)

    def look(self, world: World, now: float, actions: list[Action]) -> float:
        look = self._next_look(now)
        if now < look:
            return look
        self._last_look, self._planned = now, _FOREVER
        version = self.version
        is_new = self._seen != version
        looks_again = any(until <= now for until in self._tried.values())
        due, scaled_up = _FOREVER, False
        self.room.inject(now)
        if (self.snapshot.waiting or self.snapshot.held) and is_new:
            due, scaled_up = self._scale_up(world, now, actions)
        elif not self.snapshot.waiting and not self.snapshot.held:
            self.timeline.refused.clear()
        if self.options.enforce_node_group_min_size and not scaled_up:
            self._start_least(world, now, actions)
        if self.options.scale_down_enabled and not scaled_up:
            if is_new or looks_again:
                self._look_for_unneeded(world, now)
            due = min(due, self._remove_unneeded(world, now, actions))
        self._seen = version
        self._planned = self._at_look(min(due, self._next_change(now)), now)
        return self._planned

    # -- when to look -------------------------------------------------------------------------------------------------

    def _next_look(self, now: float) -> float:
        """Return the time of the next look: now, or when the scan interval is over.

        It is kept until it comes: in a cluster the controller is woken a little later.
        """
        if self._origin is None:
            self._origin = now
        if now <= self._last_look and self._seen == self.version:
            return _FOREVER
        interval = self.options.scan_interval
        if self._last_look == _NEVER:
            return now
        soonest = self._last_look + interval
        self._planned = min(self._planned, soonest if now < soonest else self._on_grid(now))
        return max(self._planned, now)

    def _on_grid(self, time: float) -> float:
        """Return the first time of a look that is not before this time."""
        origin, interval = self._origin or 0.0, self.options.scan_interval
        return origin + math.ceil((time - origin) / interval - 1e-9) * interval

    def _at_look(self, time: float, now: float) -> float:
        if time == _FOREVER:
            return _FOREVER if self._seen == self.version else self._on_grid(now + self.options.scan_interval)
        return max(self._on_grid(time), self._on_grid(now + self.options.scan_interval))

    def _next_change(self, now: float) -> float:
        """Return when time alone may change an answer."""
        times = [since + self.options.scale_down_unneeded_time for since in self._unneeded_since.values()]
        times += [self._cooldown_ends()] if self._unneeded_since else []
        times += self._tried.values()
        return min((time for time in times if time > now), default=_FOREVER)

    # -- scaling up ---------------------------------------------------------------------------------------------------

    def _scale_up(self, world: World, now: float, actions: list[Action]) -> tuple[float, bool]:
        """Make one group larger; return when to look again, and whether a group was made larger."""
        growths = self.growths(world)
        with self.snapshot.trial() as trial:
            self.put_upcoming(trial)
            records = self._not_fitting(trial)
            due = self._young_until(records, now)
            records = [record for record in records if self._age(record, now) >= self.options.new_pod_scale_up_delay]
            waiting = {record.key for record in records}
            self.timeline.refused = {key: one for key, one in self.timeline.refused.items() if key in waiting}
            if not records or due > now:
                return due if due > now else _FOREVER, False
            search = ScaleUpSearch(
                self.snapshot,
                self.kinds,
                growths,
                self.options,
                self.context.random,
                group_priorities(world),
            )
            nodes = world.count(KINDS.NODE) + sum(not one.is_registered for one in self.machines.values())
            found = search.search(records, nodes)
        if found.option is not None:
            self._start_nodes(found.option, growths, world, now, actions)
            return _FOREVER, True
        self._tell_helpless(found, world, actions)
        return _FOREVER, False

    def _tell_helpless(self, found: ScaleUp, world: World, actions: list[Action]) -> None:
        """Say of each pod why no group is made larger for it; of imagined pods to their buffer."""
        said: dict[str, str] = {}
        for record in found.helpless:
            reasons = dict(found.reasons[record.shape.number])
            if record.key in self.snapshot.held:
                said[record.key] = reasons_text(reasons)
            text = no_scale_up_text(reasons)
            self.timeline.refused[record.key] = Refused(record.key, text, reasons)
            self.tell(record, world, "NotTriggerScaleUp", text, actions, NORMAL)
        self.tell_once(self.room.not_triggered(said, said), actions)

    def _not_fitting(self, trial: Trial) -> list[PodRecord]:
        """Place waiting pods on the nodes there are and those on their way; return those that fit on none."""
        cutoff = self.options.expendable_pods_priority_cutoff
        imagined = self.snapshot.held
        waiting = [
            record for record in (*self.snapshot.waiting.values(), *imagined.values()) if record.priority >= cutoff
        ]
        for name in self.leaving:
            if name in self.snapshot.cluster.nodes.slot_of:
                waiting += self.movable(trial.remove_node(name))
        full: set[int] = set()
        left: list[PodRecord] = []
        for record in sorted(waiting, key=lambda one: -one.priority):
            if record.shape.number in full or not trial.place(record):
                full.add(record.shape.number)
                if record.key in self.snapshot.waiting or record.key in imagined:
                    left.append(record)
        return left

    def _age(self, record: PodRecord, now: float) -> float:
        created = seconds_of(record.pod.metadata.creationTimestamp)
        return now - created if created is not None else _FOREVER

    def _young_until(self, records: Sequence[PodRecord], now: float) -> float:
        """Return when the oldest pod is not very new any more; now if it is not."""
        if not records:
            return now
        oldest = max(self._age(record, now) for record in records)
        return now if oldest > _VERY_NEW else now - oldest + _VERY_NEW + 0.001

    def _start_nodes(
        self, option: Option, growths: dict[str, Growth], world: World, now: float, actions: list[Action]
    ) -> None:
        growth = growths[option.pool]
        text = scale_up_text(growth, option.nodes)
        for record in option.records:
            self.timeline.refused.pop(record.key, None)
            self.tell(record, world, "TriggeredScaleUp", text, actions, NORMAL)
        imagined = [record.key for record in option.records if record.key in self.snapshot.held]
        self.tell_once(self.room.triggered(imagined, text.partition(": ")[2]), actions)
        pods = [record.key for record in option.records]
        share = -(-len(pods) // option.nodes)
        for number, kind in enumerate(self._spread(option.kind, option.nodes, world)):
            own = pods[number * share : (number + 1) * share]
            self.start(kind, now, own, f"{option.pool} {growth.nodes}->{growth.nodes + option.nodes}", actions)
        self._last_scale_up = now

    def _spread(self, kind: NodeKind, nodes: int, world: World) -> list[NodeKind]:
        """Return the kinds of new nodes of a group: the cloud puts each into the zone that has the fewest."""
        numbers = self.kinds.of_pool[kind.pool.name].tolist()
        counts = dict.fromkeys(numbers, 0)
        there = [self.nodes.kind_of(one.view) for one in world.all(KINDS.NODE)]
        there += [one.kind for one in self.machines.values() if not one.is_registered]
        for own in there:
            if own is not None and own.number in counts:
                counts[own.number] += 1
        chosen: list[NodeKind] = []
        for _ in range(nodes):
            number = min(numbers, key=lambda one: counts[one])
            counts[number] += 1
            chosen.append(self.kinds.kinds[number])
        return chosen

    def _start_least(self, world: World, now: float, actions: list[Action]) -> None:
        """Start the nodes that groups lack of their smallest size."""
        for growth in self.growths(world).values():
            lacking = growth.pool.least - growth.nodes
            if lacking > 0:
                kind = self.kinds.kinds[int(self.kinds.of_pool[growth.pool.name][0])]
                for one in self._spread(kind, lacking, world):
                    self.start(one, now, (), f"{growth.pool.name} has fewer nodes than its minSize", actions)
                self._last_scale_up = now

    # -- scaling down -------------------------------------------------------------------------------------------------

    def _look_for_unneeded(self, world: World, now: float) -> None:
        budgets = BudgetCounts(one.view for one in world.all(KINDS.POD_DISRUPTION_BUDGET))
        self._tried = {name: until for name, until in self._tried.items() if until > now}
        nodes = [pair for pair in self.ready_nodes(world) if pair[0].name not in self._tried]
        nodes.sort(key=lambda pair: pair[0].name not in self._unneeded_since)
        step = self.options.max_scale_down_parallelism
        limit = len(self._unneeded_since) + 2 * step
        with self.snapshot.trial() as trial:
            self.put_upcoming(trial)
            self._not_fitting(trial)
            for name in self.machines:  # pods are not moved to nodes that are not ready
                trial.remove_node(name)
            search = ScaleDownSearch(self.snapshot, trial, world, budgets, self.options)
            self._unneeded = search.search(nodes, limit, now)
        self.needed = {**{name: self.needed.get(name, "") for name in self._tried}, **search.needed}
        self._tried |= dict.fromkeys(search.tried, now + self.options.unremovable_node_recheck_timeout)
        names = [one.node.name for one in self._unneeded]
        self._unneeded_since = {name: self._unneeded_since.get(name, now) for name in names}

    def _cooldown_ends(self) -> float:
        options = self.options
        return max(
            self._last_scale_up + options.scale_down_delay_after_add,
            self._last_delete + (options.scale_down_delay_after_delete or options.scan_interval),
            self._last_failure + options.scale_down_delay_after_failure,
        )

    def _remove_unneeded(self, world: World, now: float, actions: list[Action]) -> float:
        """Let unneeded nodes leave whose time has come; return when to look again."""
        if now < self._cooldown_ends():
            return self._cooldown_ends() if self._unneeded_since else _FOREVER
        sizes = {name: growth.nodes for name, growth in self.growths(world).items()}
        for leaving in self.leaving.values():
            if leaving.pool in sizes:
                sizes[leaving.pool] -= 1
        free = self.options.max_scale_down_parallelism - len(self.leaving)
        drains = self.options.max_drain_parallelism - sum(bool(one.pods) for one in self.leaving.values())
        for one in sorted(self._unneeded, key=lambda each: bool(each.records)):
            name, pool = one.node.name, one.pool
            since = self._unneeded_since.get(name, now)
            found = world.get(KINDS.NODE, name)
            is_due = now - since >= self.options.scale_down_unneeded_time
            if free <= 0 or found is None or name in self.leaving or not is_due or sizes[pool.name] <= pool.least:
                continue
            if one.records and drains <= 0:
                continue
            free, sizes[pool.name] = free - 1, sizes[pool.name] - 1
            drains -= bool(one.records)
            reason = f"unneeded for {duration_text(round((now - since) * 1e9))}: {one.utilization}"
            moved = [record.key for record in one.records if record.key not in self.snapshot.held]
            self.leave(found, now, reason, actions, moved)
            actions.append(note(found, "ScaleDown", "marked the node as toBeDeleted/unschedulable"))
        return _FOREVER

    # -- nodes that leave ---------------------------------------------------------------------------------------------

    def gives_up(self, leaving: Leaving, waiting: Sequence[Object], now: float) -> bool:
        began = leaving.drains_since if leaving.drains_since is not None else now
        if not waiting or now - began < self.options.max_pod_eviction_time:
            return False
        self._last_failure = now
        return True

    def removed(self, now: float) -> None:
        self._last_delete = now

    def removal_report(self, found: Object) -> Report | None:
        return note(found, "ScaleDown", "nodes removed by cluster autoscaler")

    def eviction_report(self, pod: Object, leaving: Leaving) -> Report | None:
        return note(pod, "ScaleDown", "deleting pod for node scale down")
