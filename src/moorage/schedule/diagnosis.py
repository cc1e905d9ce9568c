"""Explain why there is no node for a shape: the FailedScheduling text, and the plugins that refused.

Counts, for each node, the reasons of the first plugin that refuses it. Kubernetes: framework.Diagnosis and FitError.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.codes import Interner
from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.plugin import Code, Mask, Verdict
from moorage.schedule.framework.wide import too_many
from moorage.schedule.local_answers import Filter

NO_NODES = "no nodes available to schedule pods"
_MAX_NOTE_LENGTH = 1024  # what an event may hold
_CUT = " ..."
#: How many values that cannot be compared are named with one reason; each of 5,000 nodes may have another.
MAX_UNREADABLE = 4
_UNREADABLE = " ({"


class Diagnosis(msgspec.Struct, frozen=True):
    """Why no node of `nodes` passes, and the names of the plugins that refused."""

    nodes: int
    reasons: Mapping[str, int]
    rejected_by: frozenset[str]
    prefilter_message: str = ""

    def text(self, preemption: str = "") -> str:
        """Return the message of the FailedScheduling event, with preemption's, if it was tried."""
        if self.nodes == 0:
            return NO_NODES
        counted = ", ".join(sorted(f"{count} {reason}" for reason, count in self.reasons.items()))
        reasons = self.prefilter_message or counted
        return f"0/{self.nodes} nodes are available:{reasons and f' {reasons}.'}{preemption and f' {preemption}'}"


def event_note(text: str) -> str:
    """Cut a message to the length that an event may have."""
    raw = text.encode()
    if len(raw) <= _MAX_NOTE_LENGTH:
        return text
    return raw[: _MAX_NOTE_LENGTH - len(_CUT)].decode(errors="ignore") + _CUT


class Diagnoses:
    """Diagnoses by shape, kept until something changes: a thousand replicas that do not fit share one.

    Where few nodes changed since the last one, only these are asked again.
    """

    def of(self, candidates: Candidates) -> Diagnosis:
        revision = candidates.revision()
        kept: tuple[tuple[object, ...], Diagnosis] | None = candidates.notes.get(self)
        if kept is None or kept[0] != revision:
            tally: _Tally | None = candidates.notes.get(_Tally)
            if tally is None:
                tally = candidates.notes[_Tally] = _Tally()
            kept = candidates.notes[self] = (revision, tally.diagnose(candidates, revision))
        return kept[1]


class _Tally:
    """The refused slots of one shape by who refuses them and why, kept up to date where nodes changed."""

    def __init__(self) -> None:
        self._known: tuple[Any, int] | None = None  # epochs and position of the last time
        self._codes: NDArray[np.int64] = np.zeros(0, np.int64)
        self._refusals: Interner[tuple[frozenset[str], tuple[str, ...]]] = Interner((frozenset(), ()))
        self._slots: Counter[int] = Counter()  # by code; without those that pass, whose code is 0

    def diagnose(self, candidates: Candidates, revision: tuple[Any, ...]) -> Diagnosis:
        before = candidates.prefilter
        if before.rejection is not None or before.only_nodes is not None:
            return diagnose(candidates)
        candidates.refresh()
        by_itself = all(item.plugin.local for item in candidates.deciding)  # no plugin looks at pods elsewhere
        changed = self._changed(candidates, revision) if by_itself else None
        self._known = None
        if changed is not None:
            for slot in dict.fromkeys(changed):
                self._judge(candidates, slot)
        elif not by_itself or not self._judge_all(candidates):
            return diagnose(candidates)
        self._known = revision[0], revision[1]
        reasons: Counter[str] = Counter()
        rejected_by: set[str] = set()
        for code, nodes in self._slots.items():
            plugins, texts = self._refusals.values[code]
            rejected_by |= plugins
            for text in texts:
                reasons[text] += nodes
        return Diagnosis(len(candidates.cluster.nodes), _few_unreadable(reasons), frozenset(rejected_by))

    def _changed(self, candidates: Candidates, revision: tuple[Any, ...]) -> list[int] | None:
        """Return the slots to ask again; None if that may be all."""
        nodes = candidates.cluster.nodes
        if self._known is None or len(self._codes) != nodes.slots.capacity or len(self._refusals) > len(self._codes):
            return None
        epochs, position = self._known
        changed = nodes.changes.since(position) if epochs == revision[0] else None
        return None if changed is None or too_many(len(changed), nodes.slots.capacity) else changed

    def _judge(self, candidates: Candidates, slot: int) -> None:
        cluster, code = candidates.cluster, 0
        for item in candidates.filters if cluster.nodes.alive[slot] else ():
            want = item.prepared.want
            if not item.plugin.filter_slot(want, cluster, slot):
                code = self._refusals.intern(item.plugin.refusal_at(want, cluster, slot))
                break
        self._count(self._codes.item(slot), -1)
        self._count(code, 1)
        self._codes[slot] = code

    def _count(self, code: int, by: int) -> None:
        if code:
            self._slots[code] += by
            if not self._slots[code]:
                del self._slots[code]

    def _judge_all(self, candidates: Candidates) -> bool:
        """Judge every slot, unless that takes a look at each; return whether that was done."""
        cluster = candidates.cluster
        self._codes = np.zeros(cluster.nodes.slots.capacity, np.int64)
        self._refusals = Interner((frozenset(), ()))
        self._slots.clear()
        for item, refused in first_refusals(candidates):
            slots = np.flatnonzero(refused)
            found = item.plugin.reason_codes(item.prepared.want, cluster, slots)
            if found is None:
                return False
            for number in np.unique(found.codes).tolist():
                there = slots[found.codes == number]
                rejecting = item.plugin.rejecting(item.prepared.want, cluster, there)
                code = self._refusals.intern((rejecting, tuple(found.reasons[number])))
                self._codes[there] = code
                self._slots[code] += len(there)
        return True


def diagnose(candidates: Candidates) -> Diagnosis:
    cluster, before = candidates.cluster, candidates.prefilter
    nodes = len(cluster.nodes)
    if before.rejection is not None:
        plugin, verdict = before.rejection
        return Diagnosis(nodes, {}, frozenset({plugin.name, *before.narrowed_by}), ", ".join(verdict.reasons))
    reasons: Counter[str] = Counter()
    rejected_by = set(before.narrowed_by)
    for item, refused in first_refusals(candidates):
        slots = np.flatnonzero(refused)
        reasons.update(item.plugin.reasons(item.prepared.want, cluster, slots))
        rejected_by |= item.plugin.rejecting(item.prepared.want, cluster, slots)
    if before.only_nodes is not None:
        not_named = f"node(s) didn't satisfy plugin(s) [{' '.join(before.narrowed_by)}]"
        reasons[not_named] += nodes - int(np.count_nonzero(candidates.considered()))
    return Diagnosis(nodes, _few_unreadable(+reasons), frozenset(rejected_by))


def _few_unreadable(reasons: Mapping[str, int]) -> dict[str, int]:
    """Return reasons that name few values that cannot be compared: the commonest, the others are counted together."""
    by_reason: dict[str, list[tuple[int, str]]] = {}
    for text, nodes in reasons.items():
        reason, brace, _ = text.partition(_UNREADABLE)
        if brace:
            by_reason.setdefault(reason, []).append((-nodes, text))
    few = dict(reasons)
    for reason, named in by_reason.items():
        others = sorted(named)[MAX_UNREADABLE:]
        if len(others) > 1:
            few[f"{reason} ({len(others)} other values cannot be compared)"] = sum(few.pop(text) for _, text in others)
    return few


def first_refusals(candidates: Candidates) -> Iterator[tuple[Filter, Mask]]:
    """Return, for each filter in run order, the slots that it is the first to refuse."""
    remaining = candidates.considered()
    for item in candidates.filters:
        passing = candidates.mask(item)
        refused = remaining & ~passing
        if refused.any():
            yield item, refused
            remaining &= passing


class Refusal(msgspec.Struct, frozen=True):
    """One plugin's refusal."""

    plugin: str
    verdict: Verdict

    @property
    def code(self) -> Code:
        return self.verdict.code

    @property
    def reasons(self) -> tuple[str, ...]:
        return self.verdict.reasons

    @property
    def details(self) -> tuple[str, ...]:
        return self.verdict.details


def refusals_of(candidates: Candidates, slot: int) -> Iterator[Refusal]:
    """Yield what every filter that refuses a node says, in the order of the filters, or the rejection of the pod."""
    if candidates.rejection is not None:
        plugin, verdict = candidates.rejection
        yield Refusal(plugin.name, verdict)
        return
    for item in candidates.filters:
        refused = item.plugin.explain(item.prepared.want, candidates.cluster, slot)
        if refused is not None:
            yield Refusal(item.plugin.name, refused)
