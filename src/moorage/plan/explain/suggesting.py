"""Suggest changes to a pod that has no node: of its spec, of nodes, of other pods, each tried before it is offered."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import PodRecord
from moorage.match.daemon_pods import pinned_to
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.plan.explain.remedies.acceptance import AdmissionCheck
from moorage.plan.explain.remedies.change import Blockers, Change, ChangeKind, with_spec
from moorage.plan.explain.remedies.classes import class_changes
from moorage.plan.explain.remedies.remedy import remedy_of
from moorage.plan.explain.remedies.resources import CURED_BY_DEPARTURE
from moorage.plan.explain.remedies.trials import Suggestion, Together, Trials, best_of, propose
from moorage.plan.explain.remedies.workload.carrying_out import template_owner, workload_of
from moorage.plan.explain.remedies.workload.choosing import (
    fewer_replicas,
    helping,
    in_order,
    more_nodes,
    other_strategy,
    with_effect,
)
from moorage.plan.explain.remedies.workload.refusals import refusal_suggestions, refused_owners
from moorage.plan.explain.remedies.workload.trials import WorkloadTrials
from moorage.plan.explain.target import Target
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.report.plain import as_data
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.default_profile import program_cache
from moorage.schedule.cycle import UNSCHEDULABLE
from moorage.schedule.framework.plugin import Mask
from moorage.schedule.plugins.scheduling_gates import CONDITION_REASON

_MAX_MODELS = 200


class Decision(msgspec.Struct, frozen=True):
    """What the scheduler does with the pod: it is on a node, or Pending for this reason."""

    is_bound: bool
    is_pending: bool
    reason: str


class Help(msgspec.Struct, frozen=True):
    """The changes that help; those that help only together, if none does alone; whether some were not tried."""

    suggestions: tuple[Suggestion, ...] = ()
    together: Together | None = None
    not_all_tried: bool = False

    def without(self, kind: ChangeKind) -> "Help":
        """Return the same without the changes of a kind."""
        kept = tuple(one for one in self.suggestions if one.change.kind is not kind)
        return msgspec.structs.replace(self, suggestions=kept)


class Suggesting:
    """Suggests changes for one pod; with `node`, those that open this node."""

    def __init__(self, simulation: Simulation, inventory: Inventory, target: Target, node: str) -> None:
        self.simulation, self.inventory, self.target, self.node = simulation, inventory, target, node
        self.world, self.now = simulation.world, simulation.clock.now
        self.chain = simulation.api.registry.admission
        self.scheduler, self.cluster, self.gates = simulation.scheduler, simulation.cluster, simulation.gates
        self.programs = program_cache(simulation.gates, simulation.evaluations)
        name = target.pod.pod.spec.schedulerName
        self.is_foreign = not self.scheduler.knows(name)
        self.engine = self.scheduler.engines[next(iter(self.scheduler.engines)) if self.is_foreign else name]

    def suggest(self, decision: Decision, record: PodRecord, feasible: Mask) -> Help:
        nodes = self.cluster.nodes
        # Nodes that pools could start were there for a moment: there may be more slots than before.
        feasible = np.concatenate([feasible, np.zeros(len(nodes.alive) - len(feasible), np.bool_)])
        among = nodes.alive & ~feasible
        only = self.node or self._daemons_node()
        if only:
            mask = np.zeros_like(among)
            mask[nodes.slot_of[only]] = True
            among &= mask
        if not self.node and (feasible.any() or decision.is_bound):
            entry = self._entry(decision, record, feasible)
            return self._refused_help(record) if not entry and self._is_refused() else Help(entry)
        trials = Trials(
            self.engine.profile,
            self.cluster,
            record.pod,
            self.gates,
            self.programs,
            self._propose,
            self._acceptance(record.pod),
        )
        worked = trials.worked(among) if among.any() else []
        is_refused = self._is_refused()
        if self.is_foreign or decision.is_bound or (decision.reason != UNSCHEDULABLE and not is_refused):
            return self._help(trials, best_of(worked), among, record)
        worked += self._priority(decision, record)
        worked = [one for one in worked if not self._moves_sibling(one.change)]
        whole = WorkloadTrials(
            self.simulation,
            self.target.pod,
            record.pod,
            at_turn=not decision.is_pending,
            is_next=self.target.is_next,
        )
        if not whole.lacks and not whole.ran_out:  # its pods wait only as long as no other pod is placed first
            return self._help(trials, best_of(worked), among, record)
        found = helping(worked, whole)
        if not self.node:
            found += [*other_strategy(whole), *fewer_replicas(whole)]
            if is_refused:
                found += refusal_suggestions(whole, record.pod, self._acceptance(record.pod))
            found += more_nodes(whole, self._models(record.pod, among))
        if any(one.change.kind is ChangeKind.STORAGE_CLASS for one in found):  # which says what to do
            found = [one for one in found if one.change.kind is not ChangeKind.VOLUME]
        found = in_order(found)
        return self._help(trials, found, among, record, whole)

    def _is_refused(self) -> bool:
        """Return whether the API server refuses pods of the workload."""
        owner = self.target.pod.owner
        return owner is not None and any(Key(*one) == owner for one in refused_owners(self.simulation))

    def _refused_help(self, record: PodRecord) -> Help:
        """Suggest what lets the API server take all pods of the workload, where nodes would."""
        whole = WorkloadTrials(self.simulation, self.target.pod, record.pod)
        if not whole.now.lacking:
            return Help()
        found = [*fewer_replicas(whole), *refusal_suggestions(whole, record.pod, self._acceptance(record.pod))]
        return Help(tuple(self._with_remedy(one, record) for one in in_order(found)), None, whole.ran_out)

    def _with_remedy(self, one: Suggestion, record: PodRecord) -> Suggestion:
        remedy = remedy_of((one.change,), self.target.pod, record.pod, self.simulation, self.inventory)
        return msgspec.structs.replace(one, remedy=remedy)

    def _propose(self, blockers: Blockers, gates: GateSet, programs: Any) -> Iterator[Change]:
        yield from propose(blockers, gates, programs)
        yield from class_changes(blockers, self.world, template_owner(self.simulation, self.target.pod))

    def _help(
        self,
        trials: Trials,
        found: list[Suggestion],
        among: Mask,
        record: PodRecord,
        whole: WorkloadTrials | None = None,
    ) -> Help:
        together = trials.together(among) if not found and among.any() else None
        if together is not None and whole is not None:
            effect = whole.try_changes(*together.changes)
            is_better = effect is not None and whole.is_better(effect)
            together = with_effect(together, effect, whole) if effect is not None and is_better else None
        suggestions = (self._with_remedy(one, record) for one in found)
        is_late = trials.ran_out_of_time or (whole is not None and whole.ran_out)
        return Help(tuple(suggestions), together, is_late)

    def _moves_sibling(self, change: Change) -> bool:
        """Return whether a change only lets another pod of the same workload make room."""
        return bool(change.gone) and self._is_sibling(change.gone)

    def _is_sibling(self, key: str) -> bool:
        pod = self.world.get(KINDS.POD, key)
        return pod is not None and Key(*self.simulation.workload_of(pod)) == workload_of(self.target.pod)

    def _models(self, pod: Pod, among: Mask) -> Iterator[str]:
        """Yield nodes of which an empty copy may take the pod, one of each allocatable, the commonest first."""
        candidates = Candidates(self.engine.profile, self.cluster.shape_of(pod, by_name=True), self.cluster)
        slots = Blockers(pod, candidates, among).only(*CURED_BY_DEPARTURE)
        groups: dict[tuple[object, ...], list[str]] = {}
        for slot in slots[:_MAX_MODELS].tolist():
            node = self.cluster.nodes.node(slot)
            groups.setdefault(tuple(sorted(map(str, node.status.allocatable.items()))), []).append(node.metadata.name)
        for names in sorted(groups.values(), key=lambda names: -len(names)):
            yield names[0]

    def _acceptance(self, pod: Pod) -> AdmissionCheck:
        return AdmissionCheck(pod, self.chain, self.world.get, self.now)

    def _daemons_node(self) -> str:
        """Return the node that a DaemonSet made the pod for; empty for other pods."""
        pod = self.target.pod
        pinned = pinned_to(pod.pod.spec) if pod.owner is not None and pod.owner.kind == "DaemonSet" else ""
        return pinned if pinned in self.cluster.nodes.slot_of else ""

    def _entry(self, decision: Decision, record: PodRecord, feasible: Mask) -> tuple[Suggestion, ...]:
        """Return the change that lets the scheduler look at a pod that has a fitting node."""
        pod, nodes = record.pod, self.cluster.nodes
        fitting = tuple(nodes.node(slot).metadata.name for slot in np.flatnonzero(feasible).tolist())
        if decision.reason == CONDITION_REASON:
            gates = ", ".join(gate.name for gate in pod.spec.schedulingGates)
            change = Change(
                ChangeKind.SCHEDULING_GATE,
                "gates",
                f"remove the scheduling gates {gates}",
                2,
                pod=with_spec(pod, schedulingGates=()),
            )
            return self._accepted(change, pod, fitting)
        if self.is_foreign and decision.is_pending:
            name = next(iter(self.scheduler.engines))
            change = Change(
                ChangeKind.SCHEDULER,
                "scheduler",
                f"schedulerName {pod.spec.schedulerName} → {name}",
                2,
                pod=with_spec(pod, schedulerName=name),
                yaml=f"schedulerName: {name}",
            )
            return self._accepted(change, pod, fitting)
        return ()

    def _accepted(self, change: Change, pod: Pod, nodes: tuple[str, ...]) -> tuple[Suggestion, ...]:
        accepted = self._acceptance(pod)(change)
        return (Suggestion(accepted, nodes),) if accepted is not None else ()

    def _priority(self, decision: Decision, record: PodRecord) -> tuple[Suggestion, ...]:
        """Return the lowest PriorityClass of the input with which the pod would preempt others."""
        if self.node or not decision.is_pending or decision.reason != UNSCHEDULABLE:
            return ()
        classes = sorted(self.inventory.of_kind("PriorityClass"), key=lambda item: int(item.view.value))
        for item in classes:
            value = int(item.view.value)
            if value <= record.priority or item.view.preemptionPolicy == "Never":
                continue
            pod = with_spec(record.pod, priority=value, priorityClassName=item.key.name, preemptionPolicy=None)
            shape = self.cluster.shape_of(pod, by_name=True)
            selection = self.scheduler.would_preempt(PodRecord(record.key, pod, shape)).selection
            if selection is None:
                continue
            if any(self._is_sibling(victim.key) for victim in selection.victims):
                continue
            node = self.cluster.nodes.node(selection.slot).metadata.name
            victims = ", ".join(victim.key for victim in selection.victims)
            change = Change(
                ChangeKind.PRIORITY,
                "priority",
                f"priorityClassName {item.key.name} (priority {value}): it would evict {victims} from {node}",
                9,
                pod=pod,
                yaml=f"priorityClassName: {item.key.name}",
            )
            return self._accepted(change, record.pod, (node,))
        return ()


def plain_help(told: Help) -> dict[str, Any]:
    """Return plain data, for JSON."""
    together = told.together
    return {
        "suggestions": [
            {
                **_plain_change(suggestion.change),
                "nodes": list(suggestion.nodes),
                "pendingBefore": suggestion.pending_before,
                "pendingAfter": suggestion.pending_after,
                "effect": suggestion.effect,
                "landsOn": list(suggestion.lands_on),
                "worseOff": list(suggestion.worse_off),
                "deletesPending": suggestion.deletes_pending,
                "remarks": list(suggestion.remarks),
                "remedy": as_data(suggestion.remedy),
            }
            for suggestion in told.suggestions
        ],
        "together": _plain_together(together) if together is not None else None,
        "notAllTried": told.not_all_tried,
    }


def _plain_together(together: Together) -> dict[str, Any]:
    return {
        "node": together.node,
        "changes": [_plain_change(change) for change in together.changes],
        "pendingBefore": together.pending_before,
        "pendingAfter": together.pending_after,
        "effect": together.effect,
        "landsOn": list(together.lands_on),
        "worseOff": list(together.worse_off),
        "remarks": list(together.remarks),
    }


def _plain_change(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        "summary": change.summary,
        "sentence": change.sentence,
        "yaml": change.yaml,
        "command": change.command,
        "note": change.note,
    }
