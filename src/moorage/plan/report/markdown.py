"""Print a plan as Markdown with tables, cut short like the text unless all is wanted; long tables are folded."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from moorage.columns.resources import CPU, MEMORY, PODS
from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.departures import Departure, EvictionLoop
from moorage.plan.difference.comparison import Becomes
from moorage.plan.difference.difference import Difference
from moorage.plan.outcome import FailedLine, NodeLine, Outcome, shown_usage
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.report.autoscaling import (
    buffer_line,
    pool_line,
    reasons_of,
    shown_pods,
    shown_time,
    step_groups,
    summary_line,
)
from moorage.plan.report.deadlines import by_deadline, names_with_deadlines
from moorage.plan.report.departures import (
    anyway,
    anyway_in_short,
    by_budget,
    elsewhere,
    evicted_later,
    grouped,
    landings_of,
    placed_by_workload,
    placements_of,
    rolled,
)
from moorage.plan.report.grouping import (
    PendingGroup,
    average,
    by_reason,
    by_request,
    by_workload,
    counts_of,
    first_evictions,
    fullest_nodes,
    later_evictions,
    names,
    on_unready_nodes,
    other_refusals,
    other_resources,
    other_totals,
    shown_devices,
    with_devices,
)
from moorage.plan.report.reasons import shortened
from moorage.plan.report.upgrade import conclusion, step_lines, title_of
from moorage.plan.rollout import Rollout

_MAX_ROWS = 100
#: Longer tables are folded, unless they say what is wrong.
_MAX_OPEN = 10
Row = TypeVar("Row")


class MarkdownReport:
    """Lines of Markdown."""

    def __init__(self, *, everything: bool = False) -> None:
        self._all = everything

    def lines(
        self, outcome: Outcome, difference: Difference | None = None, rollout: Rollout | None = None
    ) -> Iterator[str]:
        yield "# Plan"
        yield ""
        if difference is not None:
            yield from self._what_if(difference, rollout)
            return
        yield _summary(outcome)
        yield ""
        if rollout is not None:
            yield from _rollout(rollout)
        yield from self._scaling(outcome)
        yield from self._placements(outcome)
        yield from self._devices(outcome)
        yield from self._pending(outcome.pending, outcome.failed)
        gone = [(one.pod, one.node, one.by) for one in self._cut(outcome.preempted)]
        yield from table("Preempted", ("pod", "node", "makes room for"), gone)
        yield from self._evicted(outcome)
        yield from self._rest(outcome)

    def _scaling(self, outcome: Outcome) -> Iterator[str]:
        scaling = outcome.scaling
        if scaling is None:
            return
        yield f"**{summary_line(scaling)}.**"
        yield ""
        rows = [
            (shown_time(group.first.seconds), group.sign, group.what, group.why)
            for group in self._cut(step_groups(scaling))
        ]
        yield from table("Timeline", ("time", "", "nodes", "why"), rows)
        pools = [(pool.name, pool_line(pool)) for pool in scaling.pools]
        yield from table("Pools", ("pool", "nodes and cost"), pools)
        buffers = [(buffer.name, buffer_line(buffer)) for buffer in self._cut(scaling.buffers)]
        yield from table("CapacityBuffers", ("buffer", "room and conditions"), buffers)
        helpless = [
            (shown_pods(group.pods), pools, reason)
            for group in self._cut(scaling.not_helped)
            for pools, reason in reasons_of(group)
        ]
        yield from table("No node is started for", ("pods", "pool", "reason"), helpless)

    def _rest(self, outcome: Outcome) -> Iterator[str]:
        scaled = [
            (
                line.target,
                f"{line.replicas:,} ({line.min_replicas:,} to {line.max_replicas:,})",
                line.targets,
                line.problem or ", ".join(map(str, self._cut(line.scalings))),
            )
            for line in self._cut(outcome.autoscalers)
        ]
        yield from table("Autoscalers", ("target", "replicas", "metrics", "scaled"), scaled)
        yield from self._nodes(outcome)
        room = [(name, f"{count:,}") for name, count in outcome.headroom.items()]
        room += [(name, f"not counted: {why}") for name, why in outcome.no_headroom.items()]
        yield from table("Room for more pods", ("workload", "pods"), room, folds=True)
        rows = [
            (note.level.value, note.where, note.object, _with_hint(note.message, note.hint))
            for note in self._cut(outcome.notes)
        ]
        yield from table("Notes", ("level", "place", "object", "message"), rows, folds=True)

    def _placements(self, outcome: Outcome) -> Iterator[str]:
        rows = [
            (group.name, node, str(len(pods)), names_with_deadlines(pods, everything=self._all))
            for group in by_workload(outcome, everything=self._all)
            for node, pods in sorted(group.nodes.items(), key=lambda entry: (-len(entry[1]), entry[0]))
        ]
        yield from table("Placements", ("workload", "node", "pods", "names"), self._cut(rows), folds=True)

    def _devices(self, outcome: Outcome) -> Iterator[str]:
        rows = [
            (pod.key, pod.node, claim, request, devices)
            for pod in with_devices(outcome.pods, everything=self._all)
            for claim, request, devices in by_request(pod.devices)
        ]
        yield from table("Devices", ("pod", "node", "claim", "request", "devices"), self._cut(rows), folds=True)

    def _pending(self, pending: Iterable[PodLine], refused: Iterable[FailedLine]) -> Iterator[str]:
        groups = by_reason(pending)
        rows = [
            (
                workload,
                str(len(pods)),
                names(pods, everything=self._all, namespace=not workload),
                f"{group.reason}: {group.message if self._all else shortened(group.message)}",
            )
            for group in groups
            for workload, pods in group.workloads.items()
        ]
        rows += [
            (failed.workload, failed.counts, "", _with_hint(f"FailedCreate: {failed.message}", failed.hint))
            for failed in refused
        ]
        yield from table("Pending", ("workload", "pods", "names", "reason"), self._cut(rows))
        yield from self._messages(groups)

    def _evicted(self, outcome: Outcome) -> Iterator[str]:
        failed = [(pod.key, pod.last_node, f"{pod.reason}: {pod.message}") for pod in outcome.of_state(State.FAILED)]
        yield from table("Failed", ("pod", "node", "reason"), self._cut(failed))
        yield from self._departures("Evicted", first_evictions(outcome))
        later = [
            (names(group.pods, everything=self._all, namespace=True), group.node, group.text, group.then)
            for group in by_deadline(later_evictions(outcome))
        ]
        yield from table("Evicted later", ("pods", "node", "because", "then"), self._cut(later))
        yield from _loops(outcome.loops)
        unready = [(pod.key, pod.node, pod.message) for pod in on_unready_nodes(outcome)]
        yield from table("On nodes that are not ready", ("pod", "node", "reason"), self._cut(unready), folds=True)

    def _messages(self, groups: Sequence[PendingGroup]) -> Iterator[str]:
        """Print the messages in full, folded, where the table has them shortened."""
        long = [group for group in groups if shortened(group.message) != group.message]
        if not long or self._all:
            return
        yield from _folded("Messages in full")
        for group in self._cut(long):
            yield f"- {_cell(names(group.pods, everything=False, namespace=True))}: {_cell(group.message)}"
        yield from _END_OF_FOLD

    def _nodes(self, outcome: Outcome) -> Iterator[str]:
        title, shown, _ = fullest_nodes(outcome.nodes, everything=self._all)
        if not shown:
            return
        others = any(other_resources(node) for node in outcome.nodes)
        devices = any(node.devices for node in outcome.nodes)
        rows = [
            (
                node.name,
                *(f"{node.resources[name].percent} % ({shown_usage(name, node.resources[name])})" for name in _MAIN),
                shown_usage(PODS, node.resources[PODS]),
                *([", ".join(_others(node))] if others else ()),
                *([", ".join(shown_devices(node.devices)).replace(" devices", "")] if devices else ()),
            )
            for node in shown
        ]
        head = ("node", "CPU", "memory", "pods", *(["other resources"] if others else ()))
        yield from table(title, (*head, *(["devices"] if devices else ())), rows, folds=True)
        parts = [f"{title} {average(outcome.nodes, name)} %" for title, name in (("CPU", CPU), ("memory", MEMORY))]
        totals = [f"{', '.join(parts)} requested", *other_totals(outcome.nodes)]
        yield f"All nodes: {_cell('; '.join(totals))}."
        yield ""

    def _what_if(self, difference: Difference, rollout: Rollout | None) -> Iterator[str]:
        """Print the difference in short, what differs, and what happens anyway."""
        mark = "**" if difference.is_worse else ""
        yield f"{mark}{_cell(difference.sentence)}.{mark}"
        yield ""
        yield f"- Before: {_summary(difference.before)}"
        yield f"- After: {_summary(difference.after)}"
        yield ""
        yield from self._scaling(difference.after)
        yield f"## {difference.title}"
        yield ""
        yield from (f"- {_cell(change)}" for change in difference.changes)
        yield ""
        if (upgrade := difference.upgrade) is not None:
            yield f"## {_cell(title_of(upgrade))}"
            yield ""
            yield from (f"- {_cell(line)}" for line in step_lines(upgrade, everything=self._all))
            yield ""
            yield _cell(conclusion(upgrade)) if upgrade.completes else f"**{_cell(conclusion(upgrade))}**"
            yield ""
        comparison = difference.comparison
        yield from self._departures("Evicted and moved", difference.evicted)
        yield from _loops(difference.loops)
        replaced = [
            (workload, str(len(rows)), landings_of(rows), _listed(rows) if self._all else "")
            for workload, rows in rolled(difference.replaced).items()
        ]
        yield from table("Replaced by a rolling update", ("workload", "pods", "then", "each"), replaced)
        blocked = [
            (group.title, "; ".join(group.lines)) for group in by_budget(difference.blocked, everything=self._all)
        ]
        yield from table("Blocked", ("budget", "drains"), blocked)
        if rollout is not None:
            yield from _rollout(rollout)
        waiting = [pair.after for pair in comparison.of(Becomes.PENDING, Becomes.NEW_PENDING)]
        refused = [refusal.line for refusal in comparison.refusals]
        yield from self._pending([line for line in waiting if line is not None], refused)
        failed = [(pod.key, pod.last_node, f"{pod.reason}: {pod.message}") for pod in self._cut(difference.failed)]
        yield from table("Newly failed", ("pod", "node", "reason"), failed)
        rows = [(pod.key, pod.node, pod.message) for pod in self._cut(evicted_later(difference))]
        yield from table("Evicted later", ("pod", "node", "because"), rows)
        placed = [
            (workload, str(len(pods)), placements_of(pods))
            for workload, pods in placed_by_workload(difference.placed).items()
        ]
        yield from table("Newly placed", ("workload", "pods", "nodes"), self._cut(placed), folds=True)
        others = list(elsewhere(comparison.of(Becomes.ELSEWHERE), everything=self._all))
        yield from table("On other nodes", ("workload", "pods"), self._cut(others), folds=True)
        stays = [pair.left_before or pair.before for pair in comparison.of(Becomes.STAYS)]
        spared = [(line.key, line.message) for line in stays if line is not None]
        yield from table("No longer evicted", ("pod", "without the change"), self._cut(spared), folds=True)
        found = anyway(difference) if self._all else anyway_in_short(difference)
        groups = [(one.workload, one.counted, one.reason) for one in found]
        yield from table("Anyway (also without the change)", ("workload", "pods", "reason"), self._cut(groups))
        yield from self._rest(difference.after)

    def _departures(self, title: str, departures: Iterable[Departure]) -> Iterator[str]:
        """Print pods that leave by workload and reason, and each of them if everything is printed."""
        departures = list(departures)
        rows = [
            (group.title, group.leaves(everything=self._all), group.reason, group.then())
            for group in grouped(departures)
        ]
        yield from table(title, ("workload", "pods", "because", "then"), self._cut(rows))
        if self._all:
            each = [(row.pod, row.node, f"{row.after_seconds} s", _then(row)) for row in departures]
            yield from table(f"{title}: each pod", ("pod", "from", "after", "then"), each, folds=True)

    def _cut(self, rows: Sequence[Row]) -> Sequence[Row]:
        return rows if self._all else rows[:_MAX_ROWS]


_MAIN = (CPU, MEMORY)
_MARKED = frozenset({State.PLACED, State.PENDING, State.EVICTING, State.EVICTED, State.FAILED, State.REFUSED})
_END_OF_FOLD = ("", "</details>", "")


def _others(node: NodeLine) -> list[str]:
    return [f"{name} {shown_usage(name, node.resources[name])}" for name in other_resources(node)]


def _with_hint(text: str, hint: str | msgspec.UnsetType) -> str:
    return f"{text} (hint: {hint})" if hint else text


def _folded(title: str) -> Iterator[str]:
    yield f"<details><summary>{_cell(title)}</summary>"
    yield ""


def _rollout(rollout: Rollout) -> Iterator[str]:
    rows = [
        (str(step.number), step.action, str(step.old), str(step.new), str(step.available), str(len(step.pending)))
        for step in rollout.steps
    ]
    title = f"Rollout of {rollout.deployment}"
    yield from table(title, ("step", "action", "old", "new", "available", "Pending"), rows, even_empty=True)
    if rollout.completes:
        yield f"It completes after {len(rollout.steps)} steps."
    else:
        yield f"**It stops**: {_cell(rollout.message)}{f' {_cell(rollout.room)}' if rollout.room else ''}"
        if rollout.fix:
            yield ""
            yield "It would complete with:"
            yield ""
            yield "```yaml"
            yield from rollout.fix.split("\n")
            yield "```"
    yield ""


def _loops(loops: Iterable[EvictionLoop]) -> Iterator[str]:
    rows = [(loop.workload, f"{loop.every_seconds} s", loop.because) for loop in loops]
    yield from table("Evicted again and again", ("workload", "every", "because"), rows)


def _summary(outcome: Outcome) -> str:
    counts = [f"**{text}**" if state in _MARKED else text for state, text in counts_of(outcome)]
    pods = counted(sum(outcome.count().values()), "pod")
    parts = ", ".join((*counts, *other_refusals(outcome)))
    return f"{pods} on {counted(len(outcome.nodes), 'node')}: {parts}."


def _listed(departures: Iterable[Departure]) -> str:
    return ", ".join(f"{row.pod} → {_then(row)}" for row in departures)


def _then(row: Departure) -> str:
    if row.new_node:
        return f"{row.replaced_by} on {row.new_node}"
    return f"{row.replaced_by} is Pending" if row.replaced_by else "not replaced"


def table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    even_empty: bool = False,
    folds: bool = False,
) -> Iterator[str]:
    """Yield a table below its title; one that `folds` can be opened by a click if it is long."""
    if not rows and not even_empty:
        return
    is_folded = folds and len(rows) > _MAX_OPEN
    yield f"## {_cell(title)}"
    yield ""
    if is_folded:
        yield from _folded(f"{len(rows):,} rows")
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join('---' for _ in head)}|"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)
    yield from _END_OF_FOLD if is_folded else ("",)


def _cell(text: str) -> str:
    """Escape what would end a cell or be taken for markup."""
    for character in "\\|<>*_`":
        text = text.replace(character, f"\\{character}")
    return printable(text.replace("\n", " "))
