"""Group nodes by why they refuse a pod, the nearest first.

`Refused` has nodes of which every plugin says exactly the same. `merged` makes lines of them: nodes whose reasons are
equal up to values, such as those of a taint or an amount, and never others. A reason is not left out.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from moorage.lint.report.reason_shapes import without_values
from moorage.plan.report.node_lists import natural
from moorage.schedule.candidates import Candidates
from moorage.schedule.diagnosis import Refusal

#: If there are more lines, nodes whose reasons differ by values are put together, and the further lines are short.
MAX_LINES = 6


class Refused(msgspec.Struct, frozen=True):
    """Nodes, and what every plugin that refuses them says, word by word the same of each."""

    nodes: tuple[str, ...]
    refusals: tuple[Refusal, ...]

    @property
    def distance(self) -> int:
        """How many reasons keep the pod from the nodes."""
        return sum(refusal.verdict.objections for refusal in self.refusals)

    @property
    def gap(self) -> float:
        """How far the nodes are away: the sum over the reasons, each 0 (near) to 1 (`match.comparison`)."""
        return round(sum(refusal.verdict.gap for refusal in self.refusals), 6)

    @property
    def rank(self) -> tuple[int, float, int, list[tuple[int, str]]]:
        """Fewest reasons first, then the nearest, then the most nodes, then by name."""
        return self.distance, self.gap, -len(self.nodes), natural(self.nodes[0])


class Line(msgspec.Struct, frozen=True):
    """Nodes whose reasons are the same up to values; the nearest group comes first."""

    nodes: tuple[str, ...]
    alike: tuple[Refused, ...]

    @property
    def example(self) -> Refused:
        return self.alike[0]

    @property
    def nearest(self) -> int:
        return min(group.distance for group in self.alike)

    @property
    def furthest(self) -> int:
        return max(group.distance for group in self.alike)

    def reasons(self, position: int) -> list[tuple[str, ...]]:
        """What the plugin at a position says, in all the ways in which it does."""
        return list(dict.fromkeys(group.refusals[position].verdict.reasons for group in self.alike))


def refused_nodes(candidates: Candidates) -> tuple[Refused, ...]:
    """Return all refusals of all nodes, the nearest first."""
    nodes = candidates.cluster.nodes
    refusals_at: dict[int, list[Refusal]] = {}
    for item in candidates.filters:
        if item.prepared.rejection is not None:
            continue
        for slot in np.flatnonzero(nodes.alive & ~candidates.mask(item)).tolist():
            verdict = item.plugin.explain(item.prepared.want, candidates.cluster, slot)
            if verdict is not None:
                refusals_at.setdefault(slot, []).append(Refusal(item.plugin.name, verdict))
    groups: dict[tuple[Refusal, ...], list[str]] = {}
    for slot in nodes.slot_of.values():
        if slot in refusals_at:
            groups.setdefault(tuple(refusals_at[slot]), []).append(nodes.node(slot).metadata.name)
    made = (Refused(tuple(sorted(names, key=natural)), refusals) for refusals, names in groups.items())
    return tuple(sorted(made, key=lambda group: group.rank))


def merged(groups: Sequence[Refused], *, everything: bool = False) -> list[Line]:
    """Return lines to read: every group by itself if there are few or `everything` is printed."""
    if everything or len(groups) <= MAX_LINES:
        return [Line(group.nodes, (group,)) for group in groups]
    return families(groups)


def families(groups: Iterable[Refused]) -> list[Line]:
    """Return the nodes whose reasons are equal up to values together, the nearest family first."""
    by_shape: dict[tuple[tuple[str, ...], ...], list[Refused]] = {}
    for group in groups:
        by_shape.setdefault(tuple(map(shape_of, group.refusals)), []).append(group)
    found = [sorted(alike, key=lambda group: group.rank) for alike in by_shape.values()]
    lines = [Line(tuple(name for group in alike for name in group.nodes), tuple(alike)) for alike in found]
    return sorted(lines, key=lambda line: (*line.example.rank[:2], -len(line.nodes), line.example.rank[3]))


def shape_of(refusal: Refusal) -> tuple[str, ...]:
    """Return what a plugin says without the values: nodes of the same shape are refused for the same reasons."""
    verdict = refusal.verdict
    return refusal.plugin, *map(without_values, verdict.reasons), "", *map(without_values, verdict.details)


def plain_refusal(refusal: Refusal) -> dict[str, Any]:
    """Return plain data, for JSON."""
    verdict = refusal.verdict
    return {
        "plugin": refusal.plugin,
        "code": verdict.code.value,
        "reasons": list(verdict.reasons),
        "details": list(verdict.details),
    }
