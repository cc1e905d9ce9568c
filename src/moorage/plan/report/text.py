"""Print a plan: placements by workload and node, Pending pods and why, how full the nodes become; the summary last."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from moorage.columns.resources import CPU, MEMORY, PODS
from moorage.lint.finding import Severity
from moorage.lint.report.form import counted
from moorage.lint.report.printable import folded, printable, visible_length
from moorage.plan.autoscaling.report import PoolUse, Scaling
from moorage.plan.difference.comparison import Becomes
from moorage.plan.difference.difference import Difference
from moorage.plan.headroom import MAX_MORE
from moorage.plan.input.inventory import Note
from moorage.plan.outcome import FailedLine, NodeLine, Outcome, Usage, shown_usage
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.report.autoscaling import (
    buffer_line,
    notes_of,
    pool_line,
    reasons_of,
    shown_pods,
    shown_time,
    step_groups,
    summary_line,
    widest,
)
from moorage.plan.report.deadlines import by_deadline, names_with_deadlines
from moorage.plan.report.difference import DifferenceLines
from moorage.plan.report.grouping import (
    MAX_NODES,
    PendingGroup,
    average,
    by_reason,
    by_request,
    by_workload,
    counts_of,
    first_evictions,
    fullest_nodes,
    histogram,
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
from moorage.plan.report.terminal import BOLD, CYAN, DIM, GREEN, MAX_ROWS, RED, YELLOW
from moorage.plan.rollout import Rollout, RolloutStep

_LEVEL_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}
_STATE_COLOURS = {State.PLACED: GREEN, State.PENDING: YELLOW} | dict.fromkeys(
    (State.EVICTING, State.EVICTED, State.FAILED, State.REFUSED), RED
)
#: States of pods that are not there any more for reasons that surprise no one: printed with --all.
_GONE = frozenset({State.DELETED, State.TERMINATING, State.ENDED, State.SUCCEEDED})
_BAR = 10
#: Two bars with their numbers, and the number of pods.
_ROOM_FOR_BARS = 62


class TextReport(DifferenceLines):
    """Prints a plan."""

    def lines(
        self, outcome: Outcome, difference: Difference | None = None, rollout: Rollout | None = None
    ) -> Iterator[str]:
        if difference is not None:
            yield from self._what_if(difference, rollout)
            return
        if rollout is not None:
            yield from self._rollout(rollout)
        if rollout is None or self._all:
            yield from self._plan(outcome)
        else:  # it leaves the plan as it is, which was not asked for
            yield from self._end(outcome)
        yield from self._folded(self._summary(outcome))

    def _plan(self, outcome: Outcome) -> Iterator[str]:
        yield from self._scaling(outcome)
        yield from self._section("Placements", self._placements(outcome))
        yield from self._section("Devices", self._devices(outcome))
        yield from self._section("Pending", self._grouped(outcome.pending))
        yield from self._section("Failed", self._failed(outcome.of_state(State.FAILED)))
        yield from self._section("Not created", self._refused(outcome.failed))
        yield from self._section("Evicted", self._evicted(outcome))
        yield from self._section("On nodes that are not ready", self._grouped(on_unready_nodes(outcome)))
        yield from self._section("Preempted", self._preempted(outcome))
        yield from self._rest(outcome)

    def _what_if(self, difference: Difference, rollout: Rollout | None) -> Iterator[str]:
        """Print what differs from the plan without the changes, what happens anyway, and the difference in short."""
        outcome, comparison = difference.after, difference.comparison
        yield from self.difference(difference)
        yield from self._scaling(outcome)
        if rollout is not None:
            yield from self._rollout(rollout)
        waiting = [pair.after for pair in comparison.of(Becomes.PENDING, Becomes.NEW_PENDING)]
        yield from self._section("Pending", self._grouped([line for line in waiting if line is not None]))
        yield from self._section("Newly failed", self._failed(difference.failed))
        yield from self._section("Not created", self._refused(refusal.line for refusal in comparison.refusals))
        yield from self._section("Anyway (also without the change)", self.anyway(difference))
        yield from self._rest(outcome)
        yield from self._folded(f"Before: {self._summary(difference.before)}")
        yield from self._folded(f"After:  {self._summary(outcome)}")
        yield ""
        style = RED if difference.is_worse else BOLD
        yield from (self._styled(line, style) for line in self._folded(f"{difference.sentence}."))

    def _rest(self, outcome: Outcome) -> Iterator[str]:
        yield from self._section("Autoscalers", self._autoscalers(outcome))
        yield from self._nodes(outcome)
        if self._all:
            gone = [pod for pod in outcome.pods if pod.state in _GONE]
            yield from self._section("Gone", self._grouped(gone))
        yield from self._end(outcome)

    def _end(self, outcome: Outcome) -> Iterator[str]:
        yield from self._section("Room for more pods", self._headroom(outcome))
        yield from self._section("Notes", self._notes(outcome))

    def _folded(self, text: str) -> list[str]:
        return folded(text, max(self._width, 80), "  ")

    # -- autoscaling --------------------------------------------------------------------------------------------------

    def _scaling(self, outcome: Outcome) -> Iterator[str]:
        scaling = outcome.scaling
        if scaling is None:
            return
        yield self._styled("Autoscaling", BOLD)
        yield from self._folded(f"  {summary_line(scaling)}")
        yield ""
        yield from self._section("Timeline", self._scaling_steps(scaling))
        width = widest(pool.name for pool in scaling.pools)
        rows = [line for pool in scaling.pools for line in self._pool_use(pool, width)]
        yield from self._section("Pools", rows + [f"  {note}" for note in notes_of(scaling)])
        width = widest(buffer.name for buffer in scaling.buffers)
        buffers = [
            line
            for buffer in scaling.buffers
            for line in self._wrapped(
                f"  {self._styled(f'{printable(buffer.name):<{width}}', CYAN)}  ", 4, buffer_line(buffer)
            )
        ]
        yield from self._section("CapacityBuffers", buffers)
        yield from self._section("No node is started for", self._not_helped(scaling))

    def _scaling_steps(self, scaling: Scaling) -> Iterator[str]:
        groups = step_groups(scaling)
        shown = self._cut(groups, MAX_ROWS)
        width = widest(shown_time(group.first.seconds) for group in shown)
        for group in shown:
            time = f"{shown_time(group.first.seconds):>{width}}"
            colour = GREEN if group.sign == "+" else YELLOW
            first = f"  {self._styled(time, DIM)} {self._styled(group.sign, colour)} {printable(group.what)}  "
            yield from self._wrapped(first, width + 5, group.why)
        yield from self._left_out(len(groups) - len(shown), "step")

    def _pool_use(self, pool: PoolUse, width: int) -> Iterator[str]:
        yield from self._wrapped(f"  {self._styled(f'{printable(pool.name):<{width}}', CYAN)}  ", 4, pool_line(pool))

    def _not_helped(self, scaling: Scaling) -> Iterator[str]:
        shown = self._cut(scaling.not_helped, MAX_ROWS)
        for group in shown:
            yield from self._wrapped("  ", 4, shown_pods(group.pods), YELLOW)
            for pools, reason in reasons_of(group):
                yield from self._wrapped(f"    {printable(pools)}: ", 6, reason)
            yield from self._wrapped("    ", 6, f"event: {group.message}", DIM)
        yield from self._left_out(len(scaling.not_helped) - len(shown), "reason")

    # -- placements ---------------------------------------------------------------------------------------------------

    def _placements(self, outcome: Outcome) -> Iterator[str]:
        groups = by_workload(outcome, everything=self._all)
        shown = [group for group in groups if group.nodes]
        kept_groups = self._cut(shown, MAX_ROWS)
        for group in kept_groups:
            yield f"  {printable(group.name)}  {self._styled(group.counts, DIM)}"
            nodes = sorted(group.nodes.items(), key=lambda entry: (-len(entry[1]), entry[0]))
            kept = nodes if self._all or len(nodes) <= MAX_NODES else nodes[: MAX_NODES - 2]
            widest = max(len(name) for name, _ in kept)
            for name, pods in kept:
                which = names_with_deadlines(pods, everything=self._all, namespace=not pods[0].workload)
                yield from self._wrapped(
                    f"    {self._styled(f'{printable(name):<{widest}}', CYAN)}  ", widest + 6, which
                )
            if len(nodes) > len(kept):
                yield f"    … {counted(len(nodes), 'node')} in all (--all lists them)"
        yield from self._left_out(len(shown) - len(kept_groups), "workload")

    def _devices(self, outcome: Outcome) -> Iterator[str]:
        rows = with_devices(outcome.pods, everything=self._all)
        shown = self._cut(rows, MAX_ROWS)
        for pod in shown:
            yield f"  {printable(pod.key)} on {self._styled(printable(pod.node), CYAN)}"
            for claim, request, devices in by_request(pod.devices):
                yield from self._wrapped("    ", 6, f"{request} (claim {claim}): {devices}")
        yield from self._left_out(len(rows) - len(shown), "pod")

    def _grouped(self, pods: list[PodLine]) -> Iterator[str]:
        """Print pods by workload, those with the same reason above it."""
        groups = by_reason(pods)
        shown = self._cut(groups, MAX_ROWS)
        for group in shown:
            yield from self._waiting(group)
            yield from self._message(group)
        yield from self._left_out(len(groups) - len(shown), "group")

    def _message(self, group: PendingGroup) -> Iterator[str]:
        message = group.message if self._all else shortened(group.message)
        return self._wrapped("    ", 6, f"{group.reason}: {message}" if message else group.reason)

    def _waiting(self, group: PendingGroup) -> Iterator[str]:
        """Print a line for each workload whose pods wait for the same reason."""
        workloads = list(group.workloads.items())
        shown = self._cut(workloads, MAX_NODES)
        for workload, pods in shown:
            which = names(pods, everything=self._all, namespace=not workload)
            if workload:
                yield from self._wrapped(
                    f"  {self._styled(printable(workload), YELLOW)}  ", 4, f"{counted(len(pods), 'pod')}: {which}"
                )
            else:
                number = f"{counted(len(pods), 'pod')}: " if len(pods) > 1 else ""
                yield from self._wrapped("  ", 4, f"{number}{which}", style=YELLOW)
        yield from self._left_out(len(workloads) - len(shown), "workload")

    def _failed(self, pods: Sequence[PodLine]) -> Iterator[str]:
        shown = self._cut(pods, MAX_ROWS)
        for pod in shown:
            yield f"  {self._styled(printable(pod.key), RED)} on {printable(pod.last_node)}"
            yield from self._wrapped("    ", 6, f"{pod.reason}: {pod.message}" if pod.message else pod.reason)
        yield from self._left_out(len(pods) - len(shown), "pod")

    def _refused(self, refused: Iterable[FailedLine]) -> Iterator[str]:
        for failed in refused:
            more = "".join(f"  {part}" for part in (printable(failed.where), failed.counts) if part)
            yield f"  {self._styled(printable(failed.workload), RED)}{more}"
            yield from self._wrapped("    ", 6, f"FailedCreate: {failed.message}")
            yield from self._hint("    ", failed.hint)

    def _hint(self, indent: str, hint: str | msgspec.UnsetType) -> Iterator[str]:
        if hint:
            yield from self._wrapped(f"{indent}{self._styled('hint:', CYAN)} ", len(indent) + 6, str(hint))

    def _evicted(self, outcome: Outcome) -> Iterator[str]:
        """Print the pods that taints evict without any change, and once for each workload that it never ends."""
        yield from self.departures(first_evictions(outcome))
        yield from self.loops(outcome.loops)
        yield from self._leaving(later_evictions(outcome))

    def _leaving(self, pods: list[PodLine]) -> Iterator[str]:
        """Print pods whose time runs, those of a workload with the same deadline together, and what follows."""
        groups = by_deadline(pods)
        shown = self._cut(groups, MAX_ROWS)
        for group in shown:
            which = f"{names(group.pods, everything=self._all, namespace=not group.workload)} on {group.node}"
            if group.workload:
                which = f"{group.workload}  {counted(len(group.pods), 'pod')}: {which}"
            yield from self._wrapped("  ", 4, which, style=YELLOW)
            yield from self._wrapped("    ", 6, group.text)
            if group.then:
                yield from self._wrapped("    then: ", 6, group.then, style=DIM)
        yield from self._left_out(len(groups) - len(shown), "group")

    def _preempted(self, outcome: Outcome) -> Iterator[str]:
        shown = self._cut(outcome.preempted, MAX_ROWS)
        for gone in shown:
            yield f"  {printable(gone.pod)} leaves {printable(gone.node)} so that {printable(gone.by)} has room"
        if len(shown) < len(outcome.preempted):
            yield f"  … and {counted(len(outcome.preempted) - len(shown), 'pod')} more"

    def _autoscalers(self, outcome: Outcome) -> Iterator[str]:
        """Print what each autoscaler scales, by which metrics, and when it did."""
        shown = self._cut(outcome.autoscalers, MAX_ROWS)
        for line in shown:
            bounds = f"{line.min_replicas:,} to {line.max_replicas:,}"
            text = f"{line.target}  {counted(line.replicas, 'replica')} ({bounds}), {line.targets}"
            yield from self._wrapped("  ", 4, printable(text))
            if line.scalings:
                scalings = self._cut(line.scalings, MAX_ROWS)
                more = len(line.scalings) - len(scalings)
                text = ", ".join(map(str, scalings)) + (f" and {more:,} more" if more else "")
                yield from self._wrapped("    ", 6, text)
            if line.problem:
                yield from self._wrapped("    ", 6, printable(line.problem), style=YELLOW)
        yield from self._left_out(len(outcome.autoscalers) - len(shown), "autoscaler")

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _nodes(self, outcome: Outcome) -> Iterator[str]:
        title, shown, rest = fullest_nodes(outcome.nodes, everything=self._all)
        if not shown:
            return
        yield self._styled(title, BOLD)
        widest = max(len(printable(node.name)) for node in shown)
        for node in shown:
            yield from self._node(node, widest)
        if rest:
            parts = [f"CPU {histogram(rest, CPU)}", f"memory {histogram(rest, MEMORY)}", *other_totals(rest)]
            yield from self._wrapped("  ", 4, f"the other {len(rest):,}: {'; '.join(parts)}")
        parts = [f"{title} {average(outcome.nodes, name)} %" for title, name in (("CPU", CPU), ("memory", MEMORY))]
        totals = [f"{', '.join(parts)} requested", *other_totals(outcome.nodes)]
        yield from self._wrapped("  ", 4, f"all: {'; '.join(totals)}")
        yield ""

    def _node(self, node: NodeLine, widest: int) -> Iterator[str]:
        """Print a node; what does not fit into the line goes below it."""
        parts = []
        for title, resource in (("CPU", CPU), ("memory", MEMORY)):
            usage = node.resources[resource]
            bar = f"{self._bar(usage)} " if self._width >= widest + _ROOM_FOR_BARS else ""
            parts.append(f"{title} {bar}{usage.percent:>3} %")
        parts.append(f"pods {shown_usage(PODS, node.resources[PODS])}")
        parts += [f"{printable(name)} {shown_usage(name, node.resources[name])}" for name in other_resources(node)]
        parts += map(printable, shown_devices(node.devices))
        if not node.schedulable:
            parts.append(self._styled("unschedulable", YELLOW))
        line = f"  {printable(node.name):<{widest}}"
        for part in parts:
            if visible_length(line) + 2 + visible_length(part) > self._width and line.strip():
                yield line.rstrip()
                line = "   "
            line += f"  {part}"
        yield line

    def _bar(self, usage: Usage) -> str:
        filled = min(_BAR, -(-_BAR * usage.percent // 100))
        colour = RED if usage.percent > 90 else YELLOW if usage.percent > 75 else GREEN
        return f"[{self._styled('#' * filled, colour)}{'.' * (_BAR - filled)}]"

    def _headroom(self, outcome: Outcome) -> Iterator[str]:
        for name, count in outcome.headroom.items():
            yield f"  {printable(name)}  {f'{MAX_MORE:,} or more' if count >= MAX_MORE else f'{count:,}'}"
        for name, why in outcome.no_headroom.items():
            yield from self._wrapped(f"  {printable(name)}  ", 4, f"not counted: {why}", DIM)

    # -- rollout ------------------------------------------------------------------------------------------------------

    def _rollout(self, rollout: Rollout) -> Iterator[str]:
        strategy = f"maxSurge {rollout.max_surge}, maxUnavailable {rollout.max_unavailable}"
        yield f"{self._styled(f'Rollout of {printable(rollout.deployment)}', BOLD)}  {strategy}"
        steps = rollout.steps
        kept = steps if self._all or len(steps) <= MAX_NODES else [*steps[:6], *steps[-5:]]
        for index, step in enumerate(kept):
            if index and step.number > kept[index - 1].number + 1:
                yield f"  … {step.number - kept[index - 1].number - 1} steps like these"
            yield from self._step(step)
        if rollout.completes:
            yield f"  {self._styled('It completes', GREEN)} after {counted(len(steps), 'step')}."
        else:
            stops = f"It stops after step {len(steps)}" if steps else "It does not start"
            yield from self._wrapped(f"  {self._styled(stops, RED)}: ", 4, rollout.message)
            if rollout.room:
                yield from self._wrapped("  ", 4, rollout.room)
            if rollout.fix:
                yield "  It would complete with:"
                yield from (f"    {line}" for line in rollout.fix.split("\n"))
                text = (
                    "The old pods still carry the old rule: the update that adds the line needs a free place once more."
                )
                yield from self._wrapped("  ", 2, text)
        yield ""

    def _step(self, step: RolloutStep) -> Iterator[str]:
        counts = f"{step.old} old, {step.new} new, {step.available} available"
        yield f"  {step.number:>3}. {step.action:<42} {self._styled(counts, DIM)}"
        for placed in step.placed[: None if self._all else 3]:
            yield f"         {printable(placed)}"
        if step.pending:
            yield f"         {self._styled(f'{len(step.pending)} Pending', YELLOW)}"

    # -- the rest -----------------------------------------------------------------------------------------------------

    def _notes(self, outcome: Outcome) -> Iterator[str]:
        groups: dict[tuple[Severity, str], list[Note]] = {}
        for note in sorted(outcome.notes, key=lambda note: list(Severity).index(note.level)):
            groups.setdefault((note.level, note.message), []).append(note)
        rows = list(groups.items())
        shown = self._cut(rows, MAX_ROWS)
        hints = Counter(note.hint for note in outcome.notes)
        for (level, _), notes in shown:
            first = notes[0]
            where = f" {printable(first.where)}" if first.where else ""
            head = f"  {self._styled(level.value, _LEVEL_COLOURS[level])}{where}: "
            more = f" (and {len(notes) - 1:,} more like it)" if len(notes) > 1 else ""
            yield from self._wrapped(head, 4, f"{first.sentence}{more}")
            if hints[first.hint] == 1:
                yield from self._hint("    ", first.hint)
        yield from self._left_out(len(rows) - len(shown), "note")
        for hint, number in hints.items():
            if hint and number > 1:
                yield from self._hint("  ", f"{counted(number, 'object')}: {hint}")

    def _summary(self, outcome: Outcome) -> str:
        parts = [self._styled(text, _STATE_COLOURS.get(state, "")) for state, text in counts_of(outcome)]
        parts += [self._styled(text, RED) for text in other_refusals(outcome)]
        kinds = ", ".join(f"{printable(kind)}" for kind in sorted(outcome.passed_over)[:5])
        others = counted(sum(outcome.passed_over.values()), "object")
        over = f"; {others} of other kinds passed over ({kinds})" if kinds else ""
        on = f"{counted(sum(outcome.count().values()), 'pod')} on {counted(len(outcome.nodes), 'node')}"
        return f"{on}: {', '.join(parts)}{over}."
