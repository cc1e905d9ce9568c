"""Explain why one pod is where it is, goes where it goes, or goes nowhere.

All reasons of all nodes that refuse it, the scores of the others, what preemption would do, and the smallest changes
that would make it fit, each tried. Kubernetes prints one line of this, in the FailedScheduling event.
"""

from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import PodRecord
from moorage.match.taint_eviction import When
from moorage.model.types.pod import Pod
from moorage.plan.departures import EvictionLoop
from moorage.plan.devices import DeviceLine, devices_at, devices_of
from moorage.plan.explain.afterwards import consequences, deadline_here, deadline_there, refusals_on
from moorage.plan.explain.cells import Cell, column
from moorage.plan.explain.groups import Refused, plain_refusal, refused_nodes
from moorage.plan.explain.policy_changes import PodChange, changes_of
from moorage.plan.explain.remedies.change import ChangeKind
from moorage.plan.explain.remedies.trials import Suggestion, Together, passing
from moorage.plan.explain.replicas import Replicas, plain_replicas
from moorage.plan.explain.sentence.standings import PENDING_STANDINGS, Standing
from moorage.plan.explain.sentence.verdict import sentence_of
from moorage.plan.explain.sentence.waiting import Sentence, why_refused
from moorage.plan.explain.suggesting import Decision, Help, Suggesting, plain_help
from moorage.plan.explain.target import Target, TargetError
from moorage.plan.input.inventory import Inventory, Note
from moorage.plan.pod_lines import REFUSED, PodDeadline, State, why_kept_out
from moorage.plan.pools.reading import pools_of
from moorage.plan.pools.verdicts import PoolVerdict, pool_verdicts
from moorage.plan.report.plain import as_data
from moorage.plan.simulation.admission_notes import assumption_notes
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.candidates import NO_SLOT, Candidates
from moorage.schedule.config.default_profile import program_cache
from moorage.schedule.cycle import UNSCHEDULABLE
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.framework.plugin import Mask, Profile

_PLAIN_FIELDS = (
    *(
        "sentence",
        "pod",
        "exists",
        "workload",
        "standing",
        "node",
        "scheduler",
        "priority",
        "reason",
        "message",
        "story",
    ),
    *("nodes", "feasible", "tied", "seed", "weights"),
)


_STANDINGS = {State.FAILED: Standing.FAILED, State.EVICTED: Standing.EVICTED}


class ScoreRow(msgspec.Struct, frozen=True):
    """Nodes with the same scores: by plugin, after normalisation and times the weight."""

    nodes: tuple[str, ...]
    scores: dict[str, int]
    total: int


class Preemption(msgspec.Struct, frozen=True):
    """The pods that the scheduler would evict, and from where; or `message`, why none."""

    node: str = ""
    victims: tuple[str, ...] = ()
    violations: int = 0
    message: str = ""


class Column(msgspec.Struct, frozen=True):
    """One node, plugin by plugin."""

    node: str
    fits: bool
    plugins: tuple[Cell, ...]
    scores: dict[str, int]
    total: int
    rank: int  # among the nodes that fit, from 1; 0 if this one does not


class Explanation(msgspec.Struct):
    """Everything about one pod. `node` is where it is, goes, or would go once others are evicted."""

    pod: str
    workload: str
    story: str
    standing: Standing
    node: str
    scheduler: str
    priority: int
    reason: str
    message: str
    nodes: int
    rejection: Refusal | None
    refused: tuple[Refused, ...]
    feasible: int
    weights: dict[str, int]
    scores: tuple[ScoreRow, ...]
    tied: int
    seed: int
    why: Sentence = Sentence("")  # why it waits
    exists: bool = True  # it is in the cluster, and is not one that is made or would be made later
    preemption: Preemption | None = None
    column: Column | None = None
    replicas: Replicas | None = None  # of the workload that was asked about
    next: Standing | None = None  # what would become of one more pod of a workload that is complete
    help: Help = Help()
    notes: tuple[Note, ...] = ()
    devices: tuple[DeviceLine, ...] = ()  # that it has, or would get on the node it goes to
    troubles: tuple[str, ...] = ()  # why it does not stay there: taints, or other gates of other components
    #: What policies and webhooks changed of it, or would change.
    changes: tuple[PodChange, ...] = ()
    #: For how long it stays there, if the node has NoExecute taints, and what follows.
    deadline: PodDeadline | None = None
    eviction_loop: EvictionLoop | None = None  # its workload's pods are evicted again and again
    #: What the pools of autoscalers would do for it, those that would start a node first, the cheapest first.
    pools: tuple[PoolVerdict, ...] = ()

    @property
    def sentence(self) -> str:
        """What a person wants to know first: what becomes of the pod, or what it needs and the most that there is."""
        return sentence_of(self)

    @property
    def sentence_keys(self) -> dict[str, str]:
        """The whole keys of taints and labels that the sentence names shorter, by their short names."""
        return self.why.keys

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        return self.help.suggestions

    @property
    def together(self) -> Together | None:
        return self.help.together

    @property
    def not_all_tried(self) -> bool:
        return self.help.not_all_tried

    @property
    def is_pending(self) -> bool:
        return self.standing in PENDING_STANDINGS

    def to_dict(self) -> dict[str, Any]:
        """Return what `moorage explain -o json` prints, as plain data."""
        return plain(self)


def explain_pod(simulation: Simulation, inventory: Inventory, target: Target, node: str = "") -> Explanation:
    """Explain the pod; with `node`, that node in full, and changes that would open it. Raises TargetError."""
    return _Explaining(simulation, inventory, target, node).explanation()


class _Explaining:
    """The pod, its candidates, and the parts of the explanation one after the other."""

    def __init__(self, simulation: Simulation, inventory: Inventory, target: Target, node: str) -> None:
        self.simulation, self.inventory, self.target, self.node = simulation, inventory, target, node
        self.world = simulation.world
        self.scheduler, self.cluster, self.gates = simulation.scheduler, simulation.cluster, simulation.gates
        self.settings = simulation.settings
        self.programs = program_cache(simulation.gates, simulation.evaluations)
        name = target.pod.pod.spec.schedulerName
        self.foreign = not self.scheduler.knows(name)
        self.engine = self.scheduler.engines[next(iter(self.scheduler.engines)) if self.foreign else name]
        if node and node not in self.cluster.nodes.slot_of:
            raise TargetError(f"there is no node {node!r} in the input")

    def explanation(self) -> Explanation:
        record = self.target.record
        if record.slot < 0:
            made = self._explained(record)
        else:
            with self.cluster.as_if_gone([record]):
                made = self._explained(record)
        goes_to = made.node if made.standing is Standing.FITS else ""
        made.deadline, made.eviction_loop = consequences(self.simulation, self.target.pod, made.deadline, goes_to)
        made.replicas = self.target.replicas
        if self.target.is_next:
            made.next, made.standing = made.standing, Standing.COMPLETE
            made.help = made.help.without(ChangeKind.REPLICAS)
        return made

    def _explained(self, record: PodRecord) -> Explanation:
        pod, nodes = self.target.pod, self.cluster.nodes
        profile: Profile = self.engine.profile
        shape = self.cluster.shape_of(record.pod, by_name=True)
        record.shape = shape
        candidates = self.engine.candidates(shape)
        feasible = passing(candidates)
        rejection = candidates.rejection
        rows, tied = score_rows(candidates, feasible)
        made = Explanation(
            pod=pod.key,
            workload=pod.workload,
            story=self.target.story,
            standing=_STANDINGS.get(pod.state, Standing.BOUND) if pod.node else Standing.FITS,
            node=pod.node,
            scheduler=pod.pod.spec.schedulerName,
            priority=pod.priority,
            reason="",
            message="",
            nodes=len(nodes),
            rejection=Refusal(rejection[0].name, rejection[1]) if rejection is not None else None,
            refused=refused_nodes(candidates),
            feasible=int(np.count_nonzero(feasible)),
            weights={plugin.name: weight for plugin, weight in profile.scores},
            scores=rows,
            tied=tied,
            seed=nodes.seed,
            notes=self._notes(),
            exists=self.target.exists,
            changes=changes_of(self.simulation, self.inventory, pod),
        )
        if made.standing in _STANDINGS.values():
            made.reason, made.message = pod.reason, pod.message
        elif pod.node:
            made.devices = devices_of(pod.pod, self.world)
        else:
            self._decide(made, record, candidates)
        if made.standing in (Standing.PENDING, Standing.REFUSED):
            made.why = why_refused(candidates, made.refused, self.gates, record.pod, made.reason, made.message)
        self._look_ahead(made, record)
        if self.node:
            made.column = self._column(candidates, feasible, rows)
        made.pools = self._pools(made, record.pod)
        waits = made.standing in (Standing.PENDING, Standing.REFUSED)
        decision = Decision(made.standing is Standing.BOUND, waits, made.reason)
        made.help = Suggesting(self.simulation, self.inventory, self.target, self.node).suggest(
            decision, record, feasible
        )
        return made

    def _pools(self, made: Explanation, pod: Pod) -> tuple[PoolVerdict, ...]:
        """Return what pools say, if the pod waits for a node, or if it was asked about them."""
        waits = made.standing in (Standing.PENDING, Standing.PREEMPTS) and made.reason in ("", UNSCHEDULABLE)
        if self.foreign or not (waits or self.inventory.pools is not None):
            return ()
        pools = pools_of(self.inventory).pools
        return tuple(pool_verdicts(self.simulation, pools, pod)) if pools else ()

    def _look_ahead(self, made: Explanation, record: PodRecord) -> None:
        """Say for how long the pod stays on its node, and whether it starts there."""
        nodes = self.cluster.nodes
        if made.standing in (Standing.BOUND, Standing.EVICTED):
            made.deadline = deadline_here(self.target.pod, self.simulation)
        if made.node not in nodes.slot_of or made.standing in _STANDINGS.values():
            return
        node, leaves = nodes.node(nodes.slot_of[made.node]), ""
        if made.standing is not Standing.BOUND and (there := deadline_there(node, record.pod, self.simulation)):
            seconds = there.seconds if there.leaves else None
            made.deadline = PodDeadline(there.text, seconds, there.because)
            leaves = f"there it {'is ' if there.when is When.NOW else ''}{there.text}" if there.leaves else ""
        elif made.deadline is not None and made.deadline.seconds is not None:
            leaves = f"it {made.deadline.text}"
        made.troubles = (*([leaves] if leaves else ()), *refusals_on(node, record.pod, self.settings))

    def _decide(self, made: Explanation, record: PodRecord, candidates: Candidates) -> None:
        kept_out = self._kept_out()
        if kept_out is not None:
            made.standing, (made.reason, made.message) = Standing.PENDING, kept_out
            if made.reason == REFUSED:
                made.standing = Standing.REFUSED
            return
        best = candidates.best()
        if best != NO_SLOT:
            made.node = self.cluster.nodes.node(best).metadata.name
            made.devices = devices_at(candidates, best)
            return
        made.standing, made.reason = Standing.PENDING, UNSCHEDULABLE
        made.message = self.scheduler.why_not(record)
        if not made.nodes:
            return
        outcome = self.scheduler.would_preempt(record)
        if outcome.selection is None:
            made.preemption = Preemption(message=self.scheduler.preemption_half(record))
            return
        selection = outcome.selection
        made.standing = Standing.PREEMPTS
        made.node = self.cluster.nodes.node(selection.slot).metadata.name
        made.preemption = Preemption(made.node, tuple(v.key for v in selection.victims), selection.violations)

    def _kept_out(self) -> tuple[str, str] | None:
        pod = self.target.pod
        kept_out = why_kept_out(self.simulation, pod.pod)
        if kept_out is None and pod.reason and pod.reason != UNSCHEDULABLE:
            return pod.reason, pod.message
        return kept_out

    # -- one node -----------------------------------------------------------------------------------------------------

    def _column(self, candidates: Candidates, feasible: Mask, rows: tuple[ScoreRow, ...]) -> Column:
        slot = self.cluster.nodes.slot_of[self.node]
        cells = column(self.engine.profile, candidates, slot, self.gates, self.programs)
        better = 0
        for row in rows:
            if self.node in row.nodes:
                return Column(self.node, True, cells, row.scores, row.total, better + 1)
            better += len(row.nodes)
        return Column(self.node, bool(feasible[slot]), cells, {}, 0, 0)

    def _notes(self) -> tuple[Note, ...]:
        return tuple(dict.fromkeys((*self.inventory.notes, *assumption_notes(self.simulation, self.inventory))))


def score_rows(candidates: Candidates, feasible: Mask) -> tuple[tuple[ScoreRow, ...], int]:
    """Return the nodes that fit by score, best first and tie winners first, and how many tie for the first."""
    slots = np.flatnonzero(feasible)
    if not len(slots):
        return (), 0
    nodes = candidates.cluster.nodes
    table = candidates.score_table(feasible)
    scores = np.array([values[slots] for values in table.values()], np.int64).reshape(len(table), len(slots))
    totals = scores.sum(axis=0)
    order = np.lexsort((-nodes.tie[slots], -totals))
    rows: dict[tuple[int, ...], list[str]] = {}
    for position in order.tolist():
        key = tuple(scores[:, position].tolist())
        rows.setdefault(key, []).append(nodes.node(int(slots[position])).metadata.name)
    made = tuple(ScoreRow(tuple(names), dict(zip(table, key, strict=True)), sum(key)) for key, names in rows.items())
    return made, int(np.count_nonzero(totals == totals.max()))


def plain(told: Explanation) -> dict[str, Any]:
    """Return plain data, for JSON. `version` changes only if a field changes its meaning or goes."""
    return {
        "version": 1,
        **{name: getattr(told, name) for name in _PLAIN_FIELDS},
        "sentenceKeys": told.sentence_keys,
        "rejection": plain_refusal(told.rejection) if told.rejection is not None else None,
        "refused": [
            {
                "nodes": list(group.nodes),
                "distance": group.distance,
                "gap": group.gap,
                "refusals": [plain_refusal(refusal) for refusal in group.refusals],
            }
            for group in told.refused
        ],
        "scores": as_data(told.scores),
        "devices": as_data(told.devices),
        "troubles": list(told.troubles),
        "changes": [{"by": one.by, "would": one.would, "patch": list(one.patch)} for one in told.changes],
        "deadline": as_data(told.deadline),
        "pools": [{**as_data(one), "sentence": one.sentence} for one in told.pools],
        "evictionLoop": as_data(told.eviction_loop),
        "preemption": as_data(told.preemption),
        "column": as_data(told.column),
        "replicas": plain_replicas(told.replicas) if told.replicas is not None else None,
        "next": told.next,
        **plain_help(told.help),
        "notes": as_data(told.notes),
    }
