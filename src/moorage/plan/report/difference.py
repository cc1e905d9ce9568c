"""Print what a what-if changes: a section for each kind of difference, then what happens anyway."""

from collections.abc import Iterable, Iterator

from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.departures import Departure, EvictionLoop
from moorage.plan.difference.comparison import Becomes
from moorage.plan.difference.difference import Difference
from moorage.plan.pod_lines import PodLine
from moorage.plan.report.departures import (
    anyway,
    anyway_in_short,
    by_budget,
    elsewhere,
    evicted_later,
    grouped,
    placed_by_workload,
    placements_of,
    rolled,
    rolled_text,
)
from moorage.plan.report.terminal import BOLD, CYAN, DIM, GREEN, MAX_ROWS, RED, YELLOW, TerminalLines
from moorage.plan.report.upgrade import conclusion, step_lines, title_of


class DifferenceLines(TerminalLines):
    """Prints differences, and groups of pods that leave."""

    def difference(self, difference: Difference) -> Iterator[str]:
        """Print the changes, and everything that differs but for pods that wait."""
        yield self._styled(difference.title, BOLD)
        for change in difference.changes:
            yield from self._wrapped("  ", 4, change)
        yield ""
        if (upgrade := difference.upgrade) is not None:
            yield self._styled(title_of(upgrade), BOLD)
            for line in step_lines(upgrade, everything=self._all):
                yield from self._wrapped("  ", 6, line)
            yield from self._wrapped("  ", 4, conclusion(upgrade), style=GREEN if upgrade.completes else RED)
            yield ""
        of = difference.comparison.of
        yield from self._section("Evicted and moved", self._moved(difference))
        yield from self._section("Replaced by a rolling update", self._rolled(difference.replaced))
        yield from self._section("Blocked", self._blocked(difference))
        yield from self._section("Newly placed", self._placed(difference.placed))
        yield from self._section("On other nodes", self._elsewhere(difference))
        yield from self._section("Evicted later", self._by_message(evicted_later(difference)))
        stays = [pair.left_before or pair.before for pair in of(Becomes.STAYS)]
        yield from self._section("No longer evicted", self._by_message(line for line in stays if line is not None))

    def _moved(self, difference: Difference) -> Iterator[str]:
        yield from self.departures(difference.evicted)
        yield from self.loops(difference.loops)

    def loops(self, loops: Iterable[EvictionLoop]) -> Iterator[str]:
        """Print once for each workload that the evictions of its pods never end."""
        for loop in loops:
            yield from self._wrapped(f"  {self._styled(printable(loop.workload), RED)}  ", 4, loop.text)
            yield from self._wrapped("    ", 6, loop.because, style=DIM)

    def departures(self, departures: Iterable[Departure]) -> Iterator[str]:
        """Print pods that leave, by workload and reason; each of them with `everything`."""
        groups = grouped(departures)
        shown = self._cut(groups, MAX_ROWS)
        for group in shown:
            text = f"{group.leaves(everything=self._all)} → {group.then()}"
            yield from self._wrapped(f"  {self._styled(printable(group.title), YELLOW)}  ", 4, text)
            yield from self._wrapped("    ", 6, group.reason, style=DIM)
            if self._all:
                yield from (f"      {self._departure(row)}" for row in group.departures)
        yield from self._left_out(len(groups) - len(shown), "group")

    def _departure(self, row: Departure) -> str:
        where = printable(row.node) or "the queue"
        return f"{row.after_seconds:,} s  {printable(row.pod)} leaves {where} {self._then(row)}"

    def _then(self, row: Departure) -> str:
        if row.new_node:
            again = "" if row.replaced_by == row.pod else f" as {printable(row.replaced_by)}"
            return f"→ {self._styled(printable(row.new_node), CYAN)}{again}"
        if row.replaced_by:
            return f"→ {self._styled('Pending', YELLOW)} as {printable(row.replaced_by)}"
        return "and is not replaced: it has no controller" if not row.workload else "and is not replaced"

    def _rolled(self, departures: list[Departure]) -> Iterator[str]:
        for workload, rows in rolled(departures).items():
            yield from self._wrapped(f"  {printable(workload)}  ", 4, rolled_text(rows))
            if self._all:
                for row in rows:
                    yield f"    {printable(row.pod)} on {printable(row.node) or 'no node'} {self._then(row)}"

    def _blocked(self, difference: Difference) -> Iterator[str]:
        for group in by_budget(difference.blocked, everything=self._all):
            yield from self._wrapped("  ", 4, group.title, style=RED)
            for line in group.lines:
                yield from self._wrapped("    ", 6, line)

    def _placed(self, lines: Iterable[PodLine]) -> Iterator[str]:
        workloads = list(placed_by_workload(lines).items())
        shown = self._cut(workloads, MAX_ROWS)
        for workload, pods in shown:
            number = f"{counted(len(pods), 'pod')} " if pods[0].workload else ""
            text = f"{number}→ {placements_of(pods)}"
            yield from self._wrapped(f"  {printable(workload)}  ", 4, text)
            if self._all and pods[0].workload:
                yield from (f"    {printable(pod.key)} → {self._styled(printable(pod.node), CYAN)}" for pod in pods)
        yield from self._left_out(len(workloads) - len(shown), "workload")

    def _elsewhere(self, difference: Difference) -> Iterator[str]:
        pairs = difference.comparison.of(Becomes.ELSEWHERE)
        for workload, text in elsewhere(pairs, everything=self._all):
            yield from self._wrapped(f"  {printable(workload)}  ", 4, text)

    def _by_message(self, lines: Iterable[PodLine]) -> Iterator[str]:
        groups: dict[tuple[str, str], int] = {}
        for line in lines:
            key = line.workload or line.key, line.message
            groups[key] = groups.get(key, 0) + 1
        for (workload, message), number in groups.items():
            count = f"{number:,} pods " if number > 1 else ""
            yield from self._wrapped(f"  {self._styled(printable(workload), YELLOW)}  ", 4, f"{count}{message}")

    def anyway(self, difference: Difference) -> Iterator[str]:
        """Print what happens without the changes, too: counts by workload and reason."""
        groups = list(anyway(difference) if self._all else anyway_in_short(difference))
        shown = self._cut(groups, MAX_ROWS)
        for group in shown:
            text = f"{group.counted}: {group.reason}"
            yield from self._wrapped(f"  {printable(group.workload)}  ", 4, text, style=DIM)
        yield from self._left_out(len(groups) - len(shown), "group")
