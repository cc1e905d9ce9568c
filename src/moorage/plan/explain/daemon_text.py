"""Print the explanation of a DaemonSet: its counts, the nodes with a pod, those without and why, what would help."""

from collections.abc import Iterator, Sequence

from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.explain.daemon_set import DaemonExplanation, DaemonNodes, DaemonState
from moorage.plan.explain.groups import MAX_LINES, merged
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.suggesting import Help
from moorage.plan.explain.text import ExplanationText
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.report.terminal import BOLD, CYAN, GREEN, RED

_TITLES = {
    DaemonState.PENDING: "Pending",
    DaemonState.FAILED: "Failed",
    DaemonState.REFUSED: "Refused by the API server",
    DaemonState.MISSING: "Not created yet",
    DaemonState.STAYS: "A pod that stays, though none would be made there again",
}
_MAX_SUGGESTED = 6


class DaemonText(ExplanationText):
    """Prints a DaemonSet."""

    def daemon_lines(self, told: DaemonExplanation) -> Iterator[str]:
        printed = list(self._daemon_parts(told))
        yield from printed[:-1] if printed and not printed[-1] else printed

    def _daemon_parts(self, told: DaemonExplanation) -> Iterator[str]:
        yield self._styled(printable(told.workload), BOLD)
        yield from self._wrapped("  ", 4, told.counts)
        yield from self._wrapped("  ", 4, told.message, RED if told.is_pending or not told.desired else "")
        yield from self._eviction_loop(told.eviction_loop)
        yield ""
        yield from self._section("Pods that have to leave", self._leaving(told.deadlines))
        running = told.of_state(DaemonState.RUNNING)
        if running:
            names = [name for group in running for name in group.nodes]
            yield self._styled(f"A pod runs on {len(names):,} of {counted(told.nodes, 'node')}", BOLD)
            yield from self._wrapped("  ", 4, shown_nodes(names, self._all), GREEN)
            yield ""
        for state, title in _TITLES.items():
            yield from self._nodes(title, told.of_state(state), told.nodes)
        yield from self._nodes("No pod is wanted", told.of_state(DaemonState.NO_POD), told.nodes)
        if told.pending is not None:
            is_refused = told.pending.standing is Standing.REFUSED
            who = "Its pods would be let in" if is_refused else f"Pod {printable(told.pending.pod)} would fit"
            yield from self._changes(f"{who} with any one of these changes", told.pending.help)
        more = " on more nodes" if told.desired else ""
        yield from self._changes(f"It would run{more} with any one of these changes", told.help)
        yield from self._section("Notes", self._notes(told.notes))

    def _nodes(self, title: str, groups: Sequence[DaemonNodes], total: int) -> Iterator[str]:
        if not groups:
            return
        number = sum(len(group.nodes) for group in groups)
        yield self._styled(f"{title} on {number:,} of {counted(total, 'node')}", BOLD)
        pods = {group.refused: group.pods for group in groups}
        lines = merged([group.refused for group in groups], everything=self._all)
        for line in lines if self._all else lines[:MAX_LINES]:
            names = [pod for group in line.alike for pod in pods[group]]
            yield from self._line(line, alone=groups[0].state is DaemonState.NO_POD)
            if names and groups[0].state is DaemonState.PENDING:
                more = f" and {len(names) - 1:,} more" if len(names) > 1 and not self._all else ""
                listed = ", ".join(names) if self._all else names[0]
                yield from self._wrapped("    ", 6, f"pod {listed}{more}", CYAN)
        for line in () if self._all else lines[MAX_LINES:]:
            yield from self._short_line(line)
        yield ""

    def _changes(self, title: str, help_: Help) -> Iterator[str]:
        if help_.suggestions:
            yield self._styled(f"{title} (each was tried)", BOLD)
            shown = self._cut(help_.suggestions, _MAX_SUGGESTED)
            for number, suggestion in enumerate(shown, 1):
                yield from self._suggestion(number, suggestion, wide=True)
            if len(shown) < len(help_.suggestions):
                yield f"  … and {len(help_.suggestions) - len(shown)} more (--all lists them)"
            yield ""
        elif help_.together is not None:
            yield self._styled(
                f"No single change is enough; on {printable(help_.together.node)} these are, together", BOLD
            )
            for number, change in enumerate(help_.together.changes, 1):
                yield from self._change(number, change, "")
            yield ""
