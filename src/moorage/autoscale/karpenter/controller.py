"""Karpenter as a controller: NodeClaims for pods in batches, consolidation every ten seconds, within budgets.

Kubernetes: Karpenter, pkg/controllers/provisioning and pkg/controllers/disruption. Drift, expiration and interruption
are not modelled; docs/autoscaling.md lists what is.
"""

from collections.abc import Iterable, Mapping

import msgspec

from moorage.autoscale.controller import Leaving, NodeAutoscaler, Setup
from moorage.autoscale.disruption_budgets import BudgetCounts
from moorage.autoscale.karpenter.budgets import EMPTY, UNDERUTILIZED, allowed_disruptions, next_change
from moorage.autoscale.karpenter.buffers import BuffersOfKarpenter
from moorage.autoscale.karpenter.candidates import (
    DISRUPTED,
    Candidate,
    PodsOnNode,
    blocked_by_node,
    blocked_by_pods,
)
from moorage.autoscale.karpenter.claims import ClaimPlan, PlannedClaim
from moorage.autoscale.karpenter.consolidation import Command, Consolidator, Totals
from moorage.autoscale.karpenter.looking import in_turn, named, tolerates_disruption
from moorage.autoscale.karpenter.messages import NO_POOLS, reason_of_pool
from moorage.autoscale.node_taints import is_initialized
from moorage.autoscale.options import KarpenterOptions
from moorage.autoscale.snapshot import Trial, is_of_daemon_set, is_over
from moorage.autoscale.timeline import Refused
from moorage.client.protocol import Object
from moorage.columns.cluster import PodRecord
from moorage.control.framework.actions import NORMAL, WARNING, Action, Report, note
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.world import World
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.pools.growth import Growth
from moorage.pools.node_template import Disruption, Scaler

_POLL, _VALIDATION, _NOMINATION, _BUFFERS_AGAIN = 10.0, 15.0, 20.0, 30.0
#: Stands for the pods of buffers in a batch.
BUFFERS = "buffers"
_WHEN_EMPTY = "WhenEmpty"
_FOREVER = float("inf")
_NO_DISRUPTION = Disruption("WhenEmptyOrUnderutilized", None, None, ())


class _Pending(msgspec.Struct):
    """A command that is looked at once more before it is carried out."""

    command: Command
    reason: str
    due: float


class KarpenterController(NodeAutoscaler):
    """Karpenter."""

    name = "karpenter"
    component = "karpenter"
    scaler = Scaler.KARPENTER
    leaving_taint = DISRUPTED
    buffers_type = BuffersOfKarpenter
    room: BuffersOfKarpenter

    def __init__(self, context: ControllerContext, setup: Setup) -> None:
        super().__init__(context, setup)
        options = setup.options
        self.options = options if isinstance(options, KarpenterOptions) else KarpenterOptions()
        self._batch: tuple[float, float, frozenset[str]] | None = None  # when it began, when it grew, its pods
        self._provisioned = -1
        self._consolidated = -1
        self._look_again = _FOREVER
        self._last_poll = float("-inf")
        self._pending: _Pending | None = None
        self._events: dict[str, float] = {}
        self._bound: list[str] = []
        self._nominated: dict[str, float] = {}
        self._is_following = False
        #: Nodes that could not go, one by one and together, and how much room there was then.
        self._failed: dict[str, int] = {}
        self._known_pods: dict[str, PodsOnNode] = {}
        self._failed_together: tuple[int, frozenset[str]] = (-1, frozenset())
        #: When buffers are looked at next, and the nodes on which their pods were when they were looked at last.
        self._buffers_due = float("-inf")
        self._with_buffers: frozenset[str] = frozenset()

    @property
    def holds_room(self) -> bool:
        options = self.setup.options
        return not isinstance(options, KarpenterOptions) or options.capacity_buffer

    # -- what changes -------------------------------------------------------------------------------------------------

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Remember on which node a pod was bound, ended or began to leave."""
        pod = new or old
        if pod is None or not pod.spec.nodeName or is_of_daemon_set(pod) or not self._is_following:
            return
        if new is None or old is None or not old.spec.nodeName or is_over(new) is not is_over(old):
            self._bound.append(pod.spec.nodeName)

    def look(self, world: World, now: float, actions: list[Action]) -> float:
        self._is_following = True
        for node in self._bound:
            self._events[node] = now
        self._bound.clear()
        due = self._provision(world, now, actions)
        return min(due, self._disrupt(world, now, actions))

    # -- provisioning -------------------------------------------------------------------------------------------------

    def _provision(self, world: World, now: float, actions: list[Action]) -> float:
        """Plan NodeClaims once no more pods have come for a moment; return when that will be."""
        waiting, held = self.snapshot.waiting, self.snapshot.held
        kept = self.timeline.refused.items()
        self.timeline.refused = {key: one for key, one in kept if key in waiting or key in held}
        if self._provisioned == self.version:
            return _FOREVER
        keys = frozenset(waiting)
        if self.room.states and now >= self._buffers_due:
            keys |= {BUFFERS}
        if not keys:
            self._batch = None
            return self._buffers_due if self.room.states else _FOREVER
        if self._batch is None:
            self._batch = now, now, keys
        elif not keys <= self._batch[2]:
            self._batch = self._batch[0], now, keys
        began, grew, _ = self._batch
        closes = min(began + self.options.batch_max_duration, grew + self.options.batch_idle_duration)
        if now < closes:
            return closes
        self._batch = None
        self._buffers_due = now + _BUFFERS_AGAIN
        self._with_buffers = frozenset()
        started = self._start_claims(world, now, actions)
        self._provisioned = -1 if started and self._with_buffers & set(started) else self.version
        return _FOREVER

    def _start_claims(self, world: World, now: float, actions: list[Action]) -> list[str]:
        """Start nodes for the pods that fit on none, and return their names."""
        growths = self.growths(world)
        with self.snapshot.trial() as trial:
            self.put_upcoming(trial)
            leaving = self._records_of_leaving(trial)
            plan = ClaimPlan(self.snapshot, self.kinds, trial, growths)
            waiting, held = self.snapshot.waiting, self.snapshot.held
            plan.solve([*waiting.values(), *held.values(), *leaving])
            placed, claims = dict(plan.placed), list(plan.claims)
            unplaced = [record for record in plan.unplaced if record.key in waiting or record.key in held]
        self._note_buffers(placed, claims, unplaced, now)
        for key, node in placed.items():
            self.timeline.refused.pop(key, None)
            if key in waiting:
                self._nominated[node] = now + _NOMINATION
                self.tell(
                    waiting[key], world, "Nominated", f"Pod should schedule on: {named(node, world)}", actions, NORMAL
                )
        started: list[str] = []
        for claim in claims:
            kind = self.kinds.kinds[self.kinds.cheapest_of(claim.mask)]
            pods = [record.key for record in claim.records]
            machine = self.start(kind, now, pods, "pods without a node", actions)
            started.append(machine.name)
            if not held.keys().isdisjoint(pods):
                self._with_buffers |= {machine.name}
            for record in claim.records:
                self.timeline.refused.pop(record.key, None)
                if record.key in waiting:
                    text = f"Pod should schedule on: nodeclaim/{machine.name}"
                    self.tell(record, world, "Nominated", text, actions, NORMAL)
        self._tell_failed(unplaced, self.growths(world), world, actions)
        return started

    def _note_buffers(
        self, placed: Mapping[str, str], claims: Iterable[PlannedClaim], unplaced: Iterable[PodRecord], now: float
    ) -> None:
        """Remember on which nodes there is room for buffers, and what that says of each."""
        held = self.snapshot.held
        there = [key for key in placed if key in held]
        coming = [record.key for claim in claims for record in claim.records if record.key in held]
        self.room.provisioned(there, coming, (record.key for record in unplaced if record.key in held), now)
        self._with_buffers = frozenset(placed[key] for key in there)

    def _records_of_leaving(self, trial: Trial) -> list[PodRecord]:
        """Take the nodes that leave out of the columns; return their pods, which need other places."""
        records: list[PodRecord] = []
        for name in self.leaving:
            if name in self.snapshot.cluster.nodes.slot_of:
                records += self.movable(trial.remove_node(name))
        return records

    def _tell_failed(
        self, records: Iterable[PodRecord], growths: Mapping[str, Growth], world: World, actions: list[Action]
    ) -> None:
        said: dict[int, tuple[str, dict[str, str]]] = {}
        ordered = sorted(self.pools, key=lambda pool: (-pool.weight, pool.name))
        for record in records:
            found = said.get(record.shape.number)
            if found is None:
                reasons = {pool.name: reason_of_pool(record, pool, growths[pool.name], self.kinds) for pool in ordered}
                found = said[record.shape.number] = "; ".join(reasons.values()) or NO_POOLS, reasons
            text = f"Failed to schedule pod, {found[0]}"
            self.timeline.refused[record.key] = Refused(record.key, text, found[1])
            self.tell(record, world, "FailedScheduling", text, actions, WARNING)

    # -- disruption ---------------------------------------------------------------------------------------------------

    def _disrupt(self, world: World, now: float, actions: list[Action]) -> float:
        """Look for nodes that can go, every ten seconds while anything changes; return when to look next."""
        if self._pending is not None:
            if now < self._pending.due:
                return self._pending.due
            pending, self._pending = self._pending, None
            self._carry_out(pending, world, now, actions)
            self._last_poll = now
            self._consolidated = -1
            return now + _POLL
        is_due = self._consolidated != self.version or now >= self._look_again
        if not is_due:
            return self._look_again
        if now < self._last_poll + _POLL:
            return self._last_poll + _POLL
        self._last_poll = now
        self._look_again = _FOREVER
        version = self.version
        self._pending = self._find(world, now, actions)
        self._consolidated = version
        if self._pending is not None:
            self._pending.due = now + _VALIDATION
            return self._pending.due
        return self._look_again

    def _find(self, world: World, now: float, actions: list[Action]) -> _Pending | None:
        candidates, totals = self._candidates(world, now)
        if not candidates:
            return None
        left = self._allowed(world, now, EMPTY)
        for one in candidates:
            if one.is_empty and one.name in self._with_buffers:
                self._tell_node(one.node, "Unconsolidatable", f'Node "{one.name}" has buffer pods', actions)
        empty = self._within(left, [one for one in candidates if self._is_empty(one)], now)
        if empty:
            return _Pending(Command(tuple(empty)), EMPTY, 0.0)
        others = [one for one in candidates if not one.is_empty and one.disruption.policy != _WHEN_EMPTY]
        others = [one for one in others if one.kind is not None and one.kind.template.zone]
        if not others:
            return None
        left = self._allowed(world, now, UNDERUTILIZED)
        with _Trying(self, world, totals) as consolidator:
            if consolidator is None:
                return None
            command = self._several(consolidator, self._within(dict(left), others, now))
            if command is not None:
                return _Pending(command, UNDERUTILIZED, 0.0)
            for candidate in in_turn(others):
                if left.get(candidate.pool.name, 0) < 1 or self._failed.get(candidate.name) == self.room_version:
                    continue
                found = consolidator.one(candidate)
                if isinstance(found, Command):
                    return _Pending(found, UNDERUTILIZED, 0.0)
                self._failed[candidate.name] = self.room_version
                self._tell_node(candidate.node, "Unconsolidatable", found.reason, actions)
        return None

    def _is_empty(self, candidate: Candidate) -> bool:
        return candidate.is_empty and candidate.name not in self._with_buffers

    def _several(self, consolidator: Consolidator, candidates: list[Candidate]) -> Command | None:
        """Return several nodes that can go together, unless that failed for as many with no less room."""
        names = frozenset(candidate.name for candidate in candidates)
        if self._failed_together[0] == self.room_version and names <= self._failed_together[1]:
            return None
        command = consolidator.several(candidates)
        if command is None:
            self._failed_together = self.room_version, names
        return command

    def _within(self, left: dict[str, int], candidates: list[Candidate], now: float) -> list[Candidate]:
        """Return the candidates that the budgets allow to disrupt together."""
        chosen: list[Candidate] = []
        for candidate in candidates:
            name = candidate.pool.name
            if left.get(name, 0) < 1:
                self._wait_for_budget(candidate.disruption, now)
                continue
            left[name] -= 1
            chosen.append(candidate)
        return chosen

    def _wait_for_budget(self, disruption: Disruption, now: float) -> None:
        for budget in disruption.budgets:
            changes = next_change(budget, now)
            if changes is not None:
                self._look_again = min(self._look_again, changes)

    def _candidates(self, world: World, now: float) -> tuple[list[Candidate], dict[str, Totals]]:
        """Return the nodes that may be disrupted now, those first of which most is saved; and what all cost."""
        budgets = BudgetCounts(one.view for one in world.all(KINDS.POD_DISRUPTION_BUDGET))
        has_budgets = world.count(KINDS.POD_DISRUPTION_BUDGET) > 0
        candidates: list[Candidate] = []
        prices: dict[str, float] = {}
        costs: dict[str, float] = {}
        for found, pool in self.ready_nodes(world):
            records, kind = self.snapshot.records_on(found.name), self.nodes.kind_of(found.view)
            pods = self._pods_on(found.name, records)
            cost, disruption = pods.cost, pool.disruption or _NO_DISRUPTION
            candidate = Candidate(found, pool, disruption, kind, pods.movable(records), cost)
            prices[pool.name] = prices.get(pool.name, 0.0) + candidate.price
            costs[pool.name] = costs.get(pool.name, 0.0) + cost
            if pool.replicas is not None or disruption.after_seconds is None:
                continue
            begins = max(self._quiet_since(found) + disruption.after_seconds, self._nominated.get(found.name, 0.0))
            if begins > now:
                self._look_again = min(self._look_again, begins)
                continue
            blocked = blocked_by_node(found)
            if blocked is None and (pods.objects or has_budgets):
                blocked = blocked_by_pods(records, budgets, now)
            if blocked is not None:
                self._look_again = min(self._look_again, blocked.until)
                continue
            candidates.append(candidate)
        candidates.sort(key=lambda one: (-one.savings_ratio, one.name))
        return candidates, {name: Totals(price, costs[name]) for name, price in prices.items()}

    def _pods_on(self, node: str, records: list[PodRecord]) -> PodsOnNode:
        """Return what the pods of a node say, which is found out once until one of them changes."""
        version, known = self.snapshot.version_of(node), self._known_pods.get(node)
        if known is None or known.version != version:
            known = self._known_pods[node] = PodsOnNode.of(version, records, self.movable(records))
        return known

    def _quiet_since(self, node: Object) -> float:
        created = seconds_of(node.view.metadata.creationTimestamp) or 0.0
        return max(self._events.get(node.name, created), created)

    def _allowed(self, world: World, now: float, reason: str) -> dict[str, int]:
        """Return how many more nodes of each pool may be disrupted now, for a reason."""
        totals: dict[str, int] = {}
        disrupted: dict[str, int] = {}
        for found in world.all(KINDS.NODE):
            pool = self.nodes.pool_of(found.view)
            if pool is None or found.name in self.machines:
                continue
            totals[pool.name] = totals.get(pool.name, 0) + 1
            if found.name in self.leaving or not is_initialized(found.view, pool):
                disrupted[pool.name] = disrupted.get(pool.name, 0) + 1
        return {
            pool.name: max(
                allowed_disruptions(pool.disruption or _NO_DISRUPTION, totals.get(pool.name, 0), reason, now)
                - disrupted.get(pool.name, 0),
                0,
            )
            for pool in self.pools
        }

    def _carry_out(self, pending: _Pending, world: World, now: float, actions: list[Action]) -> None:
        """Disrupt nodes if that is still right, with what replaces them."""
        command = self._validated(pending, world, now)
        if command is None:
            return
        replaced_by: list[str] = []
        names = ", ".join(command.names)
        if command.replacement is not None:
            pods = [record.key for one in command.candidates for record in one.records]
            machine = self.start(command.replacement, now, pods, f"replaces {names}: {pending.reason}", actions)
            replaced_by.append(machine.name)
        for candidate in command.candidates:
            reason = f"{pending.reason}: {command.decision}"
            if command.replacement is not None:
                reason += f" by {replaced_by[0]} ({command.replacement.template.name})"
            if command.savings:
                reason += f", saves {command.savings:.4g}/h"
            pods = sorted(record.key for record in candidate.records)  # whatever was tried with them before
            self.leave(candidate.node, now, reason, actions, pods, replaced_by)
            text = f"Disrupting Node: {pending.reason}"
            actions.append(note(candidate.node, "DisruptionTerminating", text))

    def _validated(self, pending: _Pending, world: World, now: float) -> Command | None:
        """Return the command as it would be found now; None if it would not be."""
        candidates, totals = self._candidates(world, now)
        by_name = {one.name: one for one in candidates}
        chosen = [by_name[name] for name in pending.command.names if name in by_name]
        left = self._allowed(world, now, pending.reason)
        chosen = self._within(left, chosen, now)
        if pending.reason == EMPTY:
            chosen = [one for one in chosen if self._is_empty(one)]
            return Command(tuple(chosen)) if chosen else None
        if len(chosen) != len(pending.command.candidates):
            return None
        with _Trying(self, world, totals) as consolidator:
            if consolidator is None:
                return None
            found = consolidator.compute(chosen)
        if not isinstance(found, Command) or found.decision != pending.command.decision:
            return None
        return found

    def _tell_node(self, found: Object, reason: str, message: str, actions: list[Action]) -> None:
        text = f"{reason} {message}"
        if self._told.get(found.uid) != text:
            self._told[found.uid] = text
            actions.append(note(found, reason, message))

    # -- nodes that leave ---------------------------------------------------------------------------------------------

    def must_leave(self, pod: Pod) -> bool:
        return super().must_leave(pod) and not tolerates_disruption(pod)

    def removal_report(self, found: Object) -> Report | None:
        return None

    def eviction_report(self, pod: Object, leaving: Leaving) -> Report | None:
        return note(pod, "Evicted", f"Evicted pod: {leaving.reason.partition(':')[0]}")


class _Trying:
    """Has the nodes that leave gone and the pods that wait placed, for as long as nodes are tried."""

    def __init__(self, controller: KarpenterController, world: World, totals: Mapping[str, Totals]) -> None:
        self._controller, self._world, self._totals = controller, world, totals
        self._trial = Trial(controller.snapshot)

    def __enter__(self) -> Consolidator | None:
        """Return what tries nodes; None while pods wait that need new nodes: these come first."""
        controller, trial = self._controller, self._trial
        growths = controller.growths(self._world)
        controller.put_upcoming(trial)
        snapshot = controller.snapshot
        waiting = [*snapshot.waiting.values(), *snapshot.held.values(), *controller._records_of_leaving(trial)]
        plan = ClaimPlan(snapshot, controller.kinds, trial, growths)
        plan.solve(waiting)
        if plan.claims:
            return None
        held: dict[str, list[PodRecord]] = {}
        for record in snapshot.held.values():
            if record.key in plan.placed:
                held.setdefault(plan.placed[record.key], []).append(record)
        for name in controller.machines:  # no decision relies on a node that is not ready
            trial.remove_node(name)
            held.pop(name, None)
        spot = controller.options.spot_to_spot_consolidation
        kinds = controller.kinds
        return Consolidator(snapshot, kinds, trial, growths, self._totals, spot_to_spot=spot, held=held)

    def __exit__(self, *error: object) -> None:
        self._trial.undo()
