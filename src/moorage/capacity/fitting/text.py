"""Print a mix of nodes with its proof, or why there is none."""

from collections.abc import Iterator, Mapping

from moorage.capacity.fitting.report import FitReport, MixLine
from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.pools.verdicts import price_text
from moorage.plan.report.reasons import shortened
from moorage.plan.report.terminal import DIM, GREEN, MAX_ROWS, RED, YELLOW, TerminalLines

_MAX_POOLS = 8
_SHOWN = ("cpu", "memory", "pods")


def workloads_text(workloads: Mapping[str, int]) -> str:
    """`Deployment default/web (3 pods), Pod default/p`."""
    return ", ".join(
        name if number == 1 and name.startswith("Pod ") else f"{name} ({counted(number, 'pod')})"
        for name, number in workloads.items()
    )


def used_text(line: MixLine) -> str:
    """`cpu 93 %, memory 41 %, pods 20 %`, and every other resource that is used."""
    names = [*_SHOWN, *(name for name in line.used if name not in _SHOWN)]
    return ", ".join(f"{name} {line.used[name]} %" for name in names if name in line.used)


class FitText(TerminalLines):
    """Prints the answer of `moorage capacity fit`."""

    def lines(self, report: FitReport) -> Iterator[str]:
        if not report.is_found:
            yield from self._section("Refused by the API server", self._refused(report))
            yield from self._section("No pool can ever take", self._hopeless(report))
            yield from self._section("No mix was found for", self._left(report))
            yield from self._section("Notes", self._notes(report))
            yield self._styled(f"{report.sentence}.", RED)
            return
        yield from self._section("Refused by the API server", self._refused(report))
        yield from self._section("Nodes", self._nodes(report))
        yield from self._section("Proof", self._proof(report))
        yield from self._section("What makes it dear", self._dear(report))
        yield from self._section("Notes", self._notes(report))
        yield self._styled(f"{report.sentence}.", GREEN if report.is_answered else RED)
        if report.survival is not None:
            sentence = report.survival.sentence
            yield self._styled(f"{sentence[0].upper()}{sentence[1:]}.", GREEN if report.survival.holds else RED)
        if report.is_too_dear:
            yield self._styled(f"{report.budget_sentence}.", RED)

    def _nodes(self, report: FitReport) -> Iterator[str]:
        shown = self._cut(report.nodes, MAX_ROWS)
        pool = max([len(printable(one.pool)) for one in shown], default=0)
        node = max([len(printable(one.node)) for one in shown], default=0)
        for one in shown:
            count = f"{one.count:>5,} × "
            head = (
                f"  {count}{self._styled(printable(one.pool).ljust(pool), YELLOW)}  {printable(one.node).ljust(node)}"
            )
            price = (
                f"{price_text(one.price)}/h"
                if one.count == 1
                else f"{price_text(one.price)}/h = {price_text(one.cost)}/h"
            )
            yield from self._wrapped(f"{head}  ", 10, f"{price}; {used_text(one)}")
        yield from self._left_out(len(report.nodes) - len(shown), "kind of node")

    def _proof(self, report: FitReport) -> Iterator[str]:
        if not report.nodes:
            return
        yield from self._wrapped("  ", 4, f"{report.proof[0].upper()}{report.proof[1:]}.")
        if report.binding:
            parts = ", ".join(f"{one.resource} {one.percent:g} %" for one in report.binding)
            yield from self._wrapped("  ", 4, f"What binds: {parts} of the bound.")
        for one in report.bounds:
            yield from self._wrapped("  ", 4, f"Bound of a pool: {one}.")
        if report.tight_cost is not None:
            text = (
                f"Packed tightly the pods need {price_text(report.tight_cost)}/h; with its scores the scheduler leaves "
                "some Pending there (a profile with MostAllocated packs tighter)."
            )
            yield from self._wrapped("  ", 4, text)

    def _dear(self, report: FitReport) -> Iterator[str]:
        for one in report.workloads:
            saved = f"without it {price_text(one.saved_without)}/h less"
            rules = f"; on any node {price_text(one.saved_anywhere)}/h less" if one.saved_anywhere else ""
            text = f"{counted(one.pods, 'pod')}, {price_text(one.cost)}/h; {saved}{rules}"
            yield from self._wrapped(f"  {self._styled(printable(one.workload), YELLOW)}  ", 4, text)

    def _hopeless(self, report: FitReport) -> Iterator[str]:
        shown = self._cut(report.hopeless, MAX_ROWS)
        for one in shown:
            yield from self._wrapped("  ", 4, workloads_text(one.workloads), style=YELLOW)
            pools = self._cut(one.pools, _MAX_POOLS)
            for pool in pools:
                yield from self._wrapped(f"    {printable(pool.pool)}: ", 6, pool.sentence)
            yield from self._left_out(len(one.pools) - len(pools), "pool")
        yield from self._left_out(len(report.hopeless) - len(shown), "shape of pods")

    def _left(self, report: FitReport) -> Iterator[str]:
        shown = self._cut(report.left, MAX_ROWS)
        for one in shown:
            yield from self._wrapped(
                f"  {self._styled(workloads_text(one.workloads), YELLOW)}: ", 4, shortened(one.reason)
            )
        yield from self._left_out(len(report.left) - len(shown), "shape of pods")
        for bound in report.bounds:
            yield from self._wrapped("  ", 4, f"Bound of a pool: {bound}")

    def _refused(self, report: FitReport) -> Iterator[str]:
        for one in self._cut(report.refused, MAX_ROWS):
            yield from self._wrapped("  ", 4, one, style=RED)
        yield from self._left_out(len(report.refused) - MAX_ROWS if not self._all else 0, "object")

    def _notes(self, report: FitReport) -> Iterator[str]:
        for note in report.notes:
            yield from self._wrapped("  ", 4, note, style=DIM)
