"""Print the explanation of a node: its state, its pods, and of the others whether they could be there."""

from collections.abc import Iterator

from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.explain.explanation_lines import ExplanationLines
from moorage.plan.explain.node import Elsewhere, NodeExplanation
from moorage.plan.outcome import shown_usage
from moorage.plan.report.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW

_MAX_ROWS, _MAX_NAMED = 12, 3


class NodeText(ExplanationLines):
    """Prints what is known of one node."""

    def lines(self, told: NodeExplanation) -> Iterator[str]:
        printed = list(self._parts(told))
        yield from printed[:-1] if printed and not printed[-1] else printed

    def _parts(self, told: NodeExplanation) -> Iterator[str]:
        yield from self._head(told)
        yield from self._section("Pods that have to leave", self._leaving(told.deadlines))
        pending = [one for one in told.elsewhere if one.pending]
        yield from self._section("Pending pods, and why they are not here", self._rows(pending))
        others = [one for one in told.elsewhere if not one.pending]
        could = [other for other in others if not other.refusals]
        yield from self._section("Pods of other nodes that could run here", self._fitting(could))
        cannot = [other for other in others if other.refusals]
        yield from self._section("Pods of other nodes that could not", self._rows(cannot))
        if told.left_out:
            yield f"{counted(told.left_out, 'workload')} more were not asked about"
            yield ""
        yield from self._section("Notes", self._notes(told.notes))

    def _head(self, told: NodeExplanation) -> Iterator[str]:
        line = told.line
        state = told.ready + ("" if line.schedulable else ", SchedulingDisabled")
        good = told.ready == "Ready" and line.schedulable
        yield f"{self._styled(f'node {printable(line.name)}', BOLD)}  {self._styled(state, GREEN if good else RED)}"
        yield from self._wrapped("  taints: ", 4, ", ".join(line.taints) or "none")
        used = [f"{name} {shown_usage(name, usage)}" for name, usage in line.resources.items()]
        devices = [f"{driver} {count.in_use}/{count.published} devices" for driver, count in line.devices.items()]
        yield from self._wrapped("  requested: ", 4, ", ".join([*used, *devices]))
        names = told.pods if self._all else told.pods[:_MAX_ROWS]
        more = f" and {len(told.pods) - len(names):,} more (--all lists them)" if len(names) < len(told.pods) else ""
        head = f"  {counted(len(told.pods), 'pod')}: " if names else "  no pods"
        yield from self._wrapped(head, 4, ", ".join(names) + more)
        yield ""

    def _rows(self, rows: list[Elsewhere]) -> Iterator[str]:
        shown = self._cut(rows, _MAX_ROWS)
        for one in shown:
            yield from self._name(one)
            for refusal in one.refusals:
                head = f"    {self._styled(refusal.plugin, RED)}: "
                yield from self._wrapped(head, 6, "; ".join(refusal.verdict.reasons))
                for detail in refusal.verdict.details:
                    yield from self._wrapped("      ", 8, detail, DIM)
            if not one.refusals:
                yield from self._wrapped("    ", 6, "would fit here: the scheduler has not tried it again yet", YELLOW)
        yield from self._left_out(len(rows) - len(shown), "workload")

    def _fitting(self, rows: list[Elsewhere]) -> Iterator[str]:
        shown = self._cut(rows, _MAX_ROWS)
        for one in shown:
            yield from self._name(one)
        yield from self._left_out(len(rows) - len(shown), "workload")

    def _name(self, one: Elsewhere) -> Iterator[str]:
        names = one.pods if self._all else one.pods[:_MAX_NAMED]
        listed = ", ".join(names) + (f" and {len(one.pods) - len(names):,} more" if len(names) < len(one.pods) else "")
        if not one.workload:
            yield from self._wrapped("  pod ", 4, listed, CYAN)
            return
        which = f"{counted(len(one.pods), 'pod')} of {one.workload}"
        yield from self._wrapped(f"  {self._styled(printable(which), CYAN)}  ", 4, f"({listed})", DIM)
