"""Print a loss, or what many losses have in common."""

from collections.abc import Iterator

from moorage.capacity.losing.distribution import Distribution, Percentiles
from moorage.capacity.losing.loss import PlayedLoss
from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.report.departures import grouped
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.report.terminal import BOLD, GREEN, MAX_ROWS, RED, YELLOW
from moorage.plan.report.text import TextReport

_MAX_WORKLOADS = 12


def share_of(number: int, whole: int) -> str:
    """`12.5 %`."""
    return f"{100 * number / whole:.1f} %".replace(".0 %", " %")


class LossReport(TextReport):
    """Prints what losses do."""

    def loss(self, played: PlayedLoss) -> Iterator[str]:
        """Print who leaves and when, who waits and why, broken budgets, what happens anyway, and all of it in short."""
        loss, difference = played.loss, played.difference
        yield from self._wrapped("", 2, loss.change[0].upper() + loss.change[1:], style=BOLD)
        yield ""
        yield from self._section("Evicted and moved", self.departures(loss.evicted))
        if len({one.after_seconds for one in loss.evicted}) > 1:
            yield from self._section("Timeline", self._timeline(played))
        yield from self._section("Pending", self._grouped(loss.pending))
        gone = [line for line in loss.gone if line.key not in {one.pod for one in loss.evicted}]
        yield from self._section("Not replaced", self._grouped(gone))
        yield from self._section("Budgets below what they demand", self._budgets(played))
        yield from self._section("Anyway", self.anyway(difference))
        style = RED if loss.harms else BOLD
        yield from (self._styled(line, style) for line in self._folded(f"{loss.sentence}."))

    def _timeline(self, played: PlayedLoss) -> Iterator[str]:
        """Print a line for each moment and workload: who leaves, and where they go."""
        times = sorted({one.after_seconds for one in played.loss.evicted})
        rows = [
            (seconds, group)
            for seconds in times
            for group in grouped(one for one in played.loss.evicted if one.after_seconds == seconds)
        ]
        shown = self._cut(rows, MAX_ROWS)
        for seconds, group in shown:
            nodes = shown_nodes(list(dict.fromkeys(one.node for one in group.departures)))
            text = f"{counted(len(group.departures), 'pod')} of {group.title} from {nodes} → {group.then()}"
            yield from self._wrapped(f"  {f'{seconds:,} s':>8}  ", 12, text)
        yield from self._left_out(len(rows) - len(shown), "line")

    def _budgets(self, played: PlayedLoss) -> Iterator[str]:
        for one in played.loss.budgets:
            when = f" after {one.seconds:,} s" if one.seconds else ""
            yield from self._wrapped(f"  {self._styled(printable(one.name), RED)}  ", 4, f"{one.text}{when}")

    def distribution(self, found: Distribution, worst: PlayedLoss, command: str) -> Iterator[str]:
        """Print percentiles, the workloads and budgets that are hit, and the worst loss."""
        drawn = f"Lose {counted(found.number, 'node')} of {found.candidates:,}, {found.times:,} times"
        yield self._styled(f"{drawn} (seed {found.seed}; {found.distinct:,} different losses)", BOLD)
        yield ""
        yield f"  {'pods':<16}{'mean':>9}{'p50':>7}{'p90':>7}{'p95':>7}{'p99':>7}{'most':>7}"
        for title, one in (("leave", found.left), ("Pending", found.pending), ("not replaced", found.gone)):
            yield self._percentiles(title, one)
        yield ""
        yield from self._section("Workloads that are hit most", self._risks(found))
        yield from self._section("Budgets below what they demand", self._broken(found))
        if found.harms:
            yield self._styled("The worst of these losses", BOLD)
            yield from self._wrapped("  ", 4, ", ".join(found.worst.nodes))
            yield from self._wrapped("  ", 4, f"play it: {command}")
            yield ""
            yield from self._section("Pending after it", self._grouped(worst.loss.pending))
        share = share_of(found.unharmed, found.times)
        text = f"{share} of the losses leave no pod Pending, none unreplaced and no budget broken."
        yield self._styled(text, RED if found.harms else GREEN)

    def _percentiles(self, title: str, one: Percentiles) -> str:
        numbers = "".join(f"{number:>7,}" for number in (one.p50, one.p90, one.p95, one.p99, one.most))
        return f"  {title:<16}{one.mean:>9,.2f}{numbers}"

    def _risks(self, found: Distribution) -> Iterator[str]:
        shown = self._cut(found.workloads, _MAX_WORKLOADS)
        for one in shown:
            share = share_of(one.losses, found.times)
            text = f"in {share} of the losses, {counted(one.most_pods, 'pod')} at most, {one.mean_pods:,} on average"
            yield from self._wrapped(f"  {self._styled(printable(one.workload), YELLOW)}  ", 4, text)
        yield from self._left_out(len(found.workloads) - len(shown), "workload")

    def _broken(self, found: Distribution) -> Iterator[str]:
        for one in self._cut(found.budgets, _MAX_WORKLOADS):
            yield from self._wrapped(f"  {printable(one.name)}  ", 4, f"in {share_of(one.losses, found.times)}")
