"""TaintToleration: filter out nodes with untolerated taints, and prefer those with fewer untolerated soft taints.

A node passes if every taint with effect NoSchedule or NoExecute is tolerated; among those that pass, one with fewer
untolerated PreferNoSchedule taints is preferred. Kubernetes: pkg/scheduler/framework/plugins/tainttoleration.
Differs: names the taint in the reason, and why its value could not be compared; Semver* and CEL behind their gates;
evaluated once per distinct list of taints.
"""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.codes import CodeReader, TaintSet, TaintSets, resized
from moorage.columns.node_table import NodeTable
from moorage.columns.shape import Shape
from moorage.match.comparison import ABSENT, CANONICAL_INTEGER, DIFFERS, Unreadable, value_gap, with_obstacle
from moorage.match.evaluation.accounts import Account, Undecided
from moorage.match.operators import TOLERATION, comparison_of, comparisons_in
from moorage.match.taint_messages import taint_facts
from moorage.match.tolerations import TolerationMatcher, TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import (
    MAX_UNREADABLE_TOLD,
    ChosenSlots,
    Code,
    Mask,
    Normalization,
    Plugin,
    Prepared,
    Scores,
    UnreadableOn,
    Verdict,
)

_HARD = frozenset({NO_SCHEDULE, NO_EXECUTE})
_WANTS_KEPT = 512  # as many as shapes that candidates are kept for
_COMPONENT = "the scheduler"
#: The operators of KEP-5471, whose evaluations are counted.
NUMERIC_OPERATORS = frozenset(comparisons_in(TOLERATION, CANONICAL_INTEGER))


def toleration_gap(tolerations: TolerationSet, taint: Taint) -> float:
    """Return how far the nearest toleration for the key of an untolerated taint is from tolerating it."""
    matchers = (one for one in tolerations.matchers if not one.toleration.expression)
    return min((_gap(one, taint) for one in matchers if one.toleration.key in ("", taint.key)), default=ABSENT)


def _gap(matcher: TolerationMatcher, taint: Taint) -> float:
    comparison = comparison_of(matcher.toleration.operator, TOLERATION)
    if comparison is None or matcher.never or not matcher.concerns(taint):
        return DIFFERS if matcher.toleration.key else ABSENT
    return value_gap(comparison.kind, matcher.toleration.value, taint.value)


def untolerated_reason(taint: Taint, tolerations: TolerationSet) -> str:
    """Name the taint, and what keeps a toleration from being compared: a gate, an unreadable value, a failure."""
    return with_obstacle(f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}", tolerations.obstacle(taint))


class _Want:
    """The compiled tolerations and, per taint list that a node has, the first untolerated taint and the soft count.

    `gave_up` tells that a budget did not suffice for all lists, where expressions are expensive.
    """

    __slots__ = (
        "_evaluations",
        "_learned",
        "_numeric",
        "_read",
        "_reading",
        "_sets",
        "_unread",
        "_unread_on",
        "all",
        "first",
        "gave_up",
        "passes",
        "soft",
        "soft_counts",
    )

    def __init__(
        self, every: TolerationSet, soft: TolerationSet, sets: TaintSets, evaluations: Counter[tuple[str, str]]
    ) -> None:
        self.all = every
        self._evaluations = evaluations
        self._numeric = [m for m in every.matchers if m.toleration.operator in NUMERIC_OPERATORS and not m.never]
        self.soft = soft
        self._sets = sets
        self._learned, self._read = CodeReader(sets.codes), CodeReader(sets.codes)
        self.first: list[Taint | None] = []
        self.passes: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.soft_counts: NDArray[np.int64] = np.zeros(0, np.int64)
        self.gave_up = False
        self._reading = [
            m
            for m in every.matchers
            if not m.never and (m.toleration.expression or comparison_of(m.toleration.operator, TOLERATION))
        ]
        #: By code: the values in that list that cannot be compared, and what logs say of each.
        self._unread: dict[int, dict[Unreadable, dict[str, str]]] = {}
        self._unread_on: tuple[int, list[UnreadableOn]] = (-1, [])

    def learn(self) -> None:
        """Evaluate the taint lists that appeared since the last time. Raises Undecided."""
        if not self._learned.is_behind:
            return
        sets, codes = self._sets.sets, self._learned.unread()
        first = self._ask_patiently(codes) if self.all.account is not None else [self._ask(sets[c]) for c in codes]
        self.first += [None] * (len(sets) - len(self.first))
        self.passes = resized(self.passes, len(sets))
        self.soft_counts = resized(self.soft_counts, len(sets))
        for code, taint in zip(codes, first, strict=True):
            self.first[code] = taint
            self.passes[code] = taint is None
            soft = (t for t in sets[code] if t.effect == PREFER_NO_SCHEDULE)
            self.soft_counts[code] = sum(not self.soft.tolerates(t) for t in soft)
        self._learned.done()
        if self.all.account is not None:
            self.all.account.allow_cheap()

    def _ask(self, taints: TaintSet) -> Taint | None:
        """Return the first untolerated taint of a list."""
        if self._numeric:
            self._count(taints)
        hard = (taint for taint in taints if taint.effect in _HARD)
        return next((taint for taint in hard if not self.all.tolerates(taint)), None)

    def _ask_patiently(self, codes: list[int]) -> list[Taint | None]:
        """Ask about every list of taints, as `_ask`, before raising Undecided for those without an answer."""
        first: list[Taint | None] = []
        undecided: dict[Account, None] = {}
        for taints in (self._sets.sets[code] for code in codes):
            try:
                first.append(self._ask(taints))
                for taint in taints:
                    if taint.effect == PREFER_NO_SCHEDULE:
                        self.soft.tolerates(taint)
            except Undecided as waiting:
                undecided.update(dict.fromkeys(waiting.accounts))
                if all(account.is_full for account in undecided):
                    break
        if undecided:
            raise Undecided(undecided)
        blocking = [taint for taint in first if taint is not None]
        self.gave_up |= self.all.is_expensive and any(self.all.gave_up(taint) for taint in blocking)
        return first

    def unreadable(self, nodes: NodeTable) -> list[UnreadableOn]:
        """Return the taints that a toleration cannot compare, or for which an expression failed."""
        if not self._reading:
            return []
        if self._read.is_behind:
            for code in self._read.unread():
                self._unread.pop(code, None)
                if not self._learned.is_behind:
                    self._note_unreadable(code)
            if not self._learned.is_behind:
                self._read.done()
            self._unread_on = (-1, [])
        if self._unread_on[0] != nodes.generation:
            self._unread_on = nodes.generation, self._unreadable_on(nodes)
        return self._unread_on[1]

    def _note_unreadable(self, code: int) -> None:
        for taint in self._sets.sets[code]:
            for matcher in self._reading:
                value = matcher.unreadable(taint)
                if value is not None:
                    self._unread.setdefault(code, {}).setdefault(value, taint_facts(taint, matcher.toleration))

    def _unreadable_on(self, nodes: NodeTable) -> list[UnreadableOn]:
        """Return some of the values, each with all nodes that have it."""
        by_value: dict[Unreadable, tuple[dict[str, str], list[int]]] = {}
        used = set(np.unique(nodes.taints[nodes.alive]).tolist())
        for code in sorted(used.intersection(self._unread)):
            for value, facts in self._unread[code].items():
                if value in by_value or len(by_value) < MAX_UNREADABLE_TOLD:
                    by_value.setdefault(value, (facts, []))[1].append(code)
        return [
            UnreadableOn(value, np.flatnonzero(np.isin(nodes.taints, codes) & nodes.alive), facts)
            for value, (facts, codes) in by_value.items()
        ]

    def _count(self, taints: TaintSet) -> None:
        for taint in taints:
            for matcher in self._numeric:
                if matcher.concerns(taint):
                    unreadable = matcher.unreadable(taint) is not None
                    result = "unreadable" if unreadable else "match" if matcher.match(taint) else "no match"
                    self._evaluations[matcher.toleration.operator, result] += 1


def _verdict_changed(want: _Want, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether the node is tolerated now and was not before."""
    old, new = event.old, event.new
    if want.all.untolerated(new.spec.taints, _HARD):
        return False
    return old is None or bool(want.all.untolerated(old.spec.taints, _HARD))


class TaintToleration(Plugin[_Want]):
    """The TaintToleration plugin. `evaluation_errors` counts CEL's errors, `unreadable` tells of them."""

    name = "TaintToleration"
    answers_by_needs = True
    reads_pods = False
    reads_values = True
    normalization = Normalization.DOWN
    refuses_with = Code.UNRESOLVABLE
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.NODE_TAINTS, hint=_verdict_changed),
        on(EventKind.OWN_TOLERATIONS),
    )

    def __init__(self, gates: GateSet, programs: Any = None) -> None:
        self._gates = gates
        self.programs = programs
        self.numeric_evaluations: Counter[tuple[str, str]] = Counter()
        self.evaluation_errors = 0
        # Shapes that differ in all but their tolerations share what was learned about the taints of a cluster.
        self._wants: WeakKeyDictionary[Cluster, OrderedDict[tuple[Toleration, ...], _Want]] = WeakKeyDictionary()

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        tolerations = tuple(shape.spec.tolerations)
        wants = self._wants.setdefault(cluster, OrderedDict())
        want = wants.get(tolerations)
        if want is None or want.gave_up:
            if len(wants) >= _WANTS_KEPT:
                wants.popitem(last=False)
            soft = [t for t in tolerations if t.expression or not t.effect or t.effect == PREFER_NO_SCHEDULE]
            want = wants[tolerations] = _Want(
                compile_tolerations(tolerations, self._gates, self.programs, self._failed, _COMPONENT),
                compile_tolerations(soft, self._gates, self.programs, self._failed),
                cluster.nodes.taint_sets,
                self.numeric_evaluations,
            )
        wants.move_to_end(tolerations)
        return Prepared(want)

    def is_provisional(self, want: _Want) -> bool:
        return want.gave_up

    def _failed(self, expression: str, taint: Taint, error: str) -> None:
        self.evaluation_errors += 1

    def filter(self, want: _Want, cluster: Cluster) -> Mask:
        want.learn()
        return want.passes[cluster.nodes.taints]

    def filter_slot(self, want: _Want, cluster: Cluster, slot: int) -> bool:
        want.learn()
        return bool(want.passes[cluster.nodes.taints[slot]])

    def explain(self, want: _Want, cluster: Cluster, slot: int) -> Verdict | None:
        want.learn()
        code = int(cluster.nodes.taints[slot])
        first = want.first[code]
        if first is None:
            return None
        # The event counts the first one; the details name all.
        untolerated = want.all.untolerated(cluster.nodes.taint_sets.sets[code], _HARD)
        reason = untolerated_reason(first, want.all)
        details = tuple(want.all.explain(taint) or "" for taint in untolerated)
        return Verdict(
            Code.UNRESOLVABLE, (reason,), details, tuple(toleration_gap(want.all, taint) for taint in untolerated)
        )

    def reasons(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        want.learn()
        counted: Counter[str] = Counter()
        nodes_with = np.bincount(cluster.nodes.taints[slots], minlength=len(want.first))
        for code in np.flatnonzero(nodes_with).tolist():
            taint = want.first[code]
            if taint is not None:  # two lists of taints may begin with the same untolerated one
                counted[untolerated_reason(taint, want.all)] += int(nodes_with[code])
        return counted

    def unreadable(self, want: _Want, cluster: Cluster) -> Sequence[UnreadableOn]:
        return want.unreadable(cluster.nodes)

    def score(self, want: _Want, cluster: Cluster, feasible: Mask) -> Scores:
        want.learn()
        return want.soft_counts[cluster.nodes.taints]

    def score_slot(self, want: _Want, cluster: Cluster, slot: int) -> int:
        want.learn()
        return int(want.soft_counts[cluster.nodes.taints[slot]])
