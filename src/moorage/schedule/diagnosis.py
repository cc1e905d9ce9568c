"""Explain why there is no node for a shape: the FailedScheduling text, and the plugins that refused.

Counts, for each node, the reasons of the first plugin that refuses it. Kubernetes: framework.Diagnosis and FitError.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.plugin import Code, Mask, Verdict
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
    """Diagnoses by shape, kept until something changes: a thousand replicas that do not fit share one."""

    def of(self, candidates: Candidates) -> Diagnosis:
        revision = candidates.revision()
        kept: tuple[tuple[object, ...], Diagnosis] | None = candidates.notes.get(self)
        if kept is None or kept[0] != revision:
            kept = candidates.notes[self] = (revision, diagnose(candidates))
        return kept[1]


def diagnose(candidates: Candidates) -> Diagnosis:
    cluster, before = candidates.cluster, candidates.prefilter
    nodes = len(cluster.nodes)
    if before.rejection is not None:
        plugin, verdict = before.rejection
        return Diagnosis(nodes, {}, frozenset({plugin.name, *before.narrowed_by}), ", ".join(verdict.reasons))
    reasons: Counter[str] = Counter()
    rejected_by = set(before.narrowed_by)
    for item, refused in first_refusals(candidates):
        reasons.update(item.plugin.reasons(item.prepared.want, cluster, np.flatnonzero(refused)))
        rejected_by.add(item.plugin.name)
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
