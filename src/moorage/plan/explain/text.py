"""Print an explanation: what becomes of the pod, why not elsewhere, scores by plugin, changes that would help."""

from collections.abc import Iterator, Sequence

from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.explain.cells import Answer, Cell
from moorage.plan.explain.explanation import Column, Explanation, ScoreRow
from moorage.plan.explain.groups import MAX_LINES, Line, merged
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.sentence.verdict import verdict
from moorage.plan.explain.sentence.words import capital
from moorage.plan.explain.suggestion_text import SuggestionText
from moorage.plan.report.grouping import by_request
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.report.terminal import BOLD, CYAN, DIM, GREEN, MAX_ROWS, RED, YELLOW
from moorage.schedule.diagnosis import Refusal, event_note

_COLOUR = {Standing.BOUND: GREEN, Standing.FITS: GREEN, Standing.PREEMPTS: YELLOW}
_ANSWER = {Answer.YES: ("yes", GREEN), Answer.NO: ("NO ", RED), Answer.NOTHING: ("-  ", DIM)}
_MAX_ROWS = 6
_MAX_NAMED = 3
_MAX_WAITING = 12
_WIDEST_HEAD = 34


class ExplanationText(SuggestionText):
    """Prints an explanation."""

    def lines(self, told: Explanation) -> Iterator[str]:
        """Print the parts, with an empty line between them."""
        blank = False
        for line in self._parts(told):
            if blank:
                yield ""
            blank = not line
            if line:
                yield line

    def _parts(self, told: Explanation) -> Iterator[str]:
        yield from self._head(told)
        yield from self._section("All pods that wait", self._waiting(told))
        if told.column is not None:
            yield from self._column(told.column, told)
        else:
            yield from self._refusals(told)
            yield from self._section("Scores (times weight) of the nodes that fit", self._scores(told))
        yield from self._section("Devices", self._devices(told))
        yield from self._section("Preemption", self._preemption(told))
        yield from self._help(told)
        yield from self._section("Nodes that pools could start", self._pools(told))
        yield from self._section("Notes", self._notes(told.notes))

    def _pools(self, told: Explanation) -> Iterator[str]:
        if told.pools and told.pools[0].takes and told.is_pending:
            yield from self._wrapped("  ", 4, f"It would fit with {told.pools[0].offer} (tried)", GREEN)
        shown = self._cut(told.pools, MAX_ROWS)
        for one in shown:
            yield from self._wrapped(f"  {self._styled(printable(one.pool), YELLOW)}: ", 4, one.sentence)
        yield from self._left_out(len(told.pools) - len(shown), "pool")

    # -- what becomes of it -------------------------------------------------------------------------------------------

    def _head(self, told: Explanation) -> Iterator[str]:
        if told.standing in (Standing.COMPLETE, Standing.REFUSED) and told.replicas is not None:
            yield self._styled(printable(told.workload), BOLD)
            if told.replicas.existing or told.standing is Standing.REFUSED:
                colour = RED if told.standing is Standing.REFUSED else ""
                yield from self._wrapped("  ", 4, told.replicas.headline, colour)
                yield from self._wrapped("  ", 4, capital(verdict(told)))
            else:
                yield from self._wrapped("  ", 4, f"{told.replicas.headline}; {verdict(told)}")
        else:
            whose = f"  {self._styled(printable(told.workload), DIM)}" if told.workload else ""
            yield f"{self._styled(f'pod {printable(told.pod)}', BOLD)}{whose}"
            if told.replicas is not None and told.replicas.refusal:
                yield from self._wrapped("  ", 4, told.replicas.headline, RED)
            if told.story:
                yield from self._wrapped("  ", 2, f"({told.story})", DIM)
            standing = self._styled(told.standing.value, _COLOUR.get(told.standing, RED))
            yield from self._wrapped(f"  {standing}: ", 4, verdict(told))
        for trouble in told.troubles:
            yield from self._wrapped("  ", 4, f"But {trouble}", RED)
        if told.message and told.standing is not Standing.REFUSED:
            message = told.message if self._all else event_note(told.message)
            yield from self._wrapped("  ", 4, f"{told.reason}: {message}")
        yield from self._deadline(told)
        for change in told.changes:
            yield from self._wrapped("  ", 4, capital(change.sentence))
        yield ""

    def _deadline(self, told: Explanation) -> Iterator[str]:
        """Print that the pod stays on a tainted node, or what follows when it has left; and its workload's loop."""
        if told.deadline is not None and told.deadline.seconds is None:
            yield from self._wrapped("  ", 4, f"It {told.deadline.text}")
        elif told.deadline is not None and told.deadline.then:
            yield from self._wrapped("  ", 4, f"Then {told.deadline.then}")
        yield from self._eviction_loop(told.eviction_loop)

    def _waiting(self, told: Explanation) -> Iterator[str]:
        """Print why the pods of the workload wait, if it is not one reason for all."""
        groups = told.replicas.waiting if told.replicas is not None else ()
        if len(groups) < 2:
            return
        shown = self._cut(groups, _MAX_WAITING)
        for group in shown:
            names = group.pods if self._all else group.pods[:_MAX_NAMED]
            more = f" and {len(group.pods) - len(names):,} more" if len(names) < len(group.pods) else ""
            which = f"{counted(len(group.pods), 'pod')} ({', '.join(names)}{more})"
            yield from self._wrapped(
                f"  {self._styled(printable(which), CYAN)}: ", 4, f"{group.reason}: {group.message}"
            )
        yield from self._left_out(len(groups) - len(shown), "group")

    # -- why not ------------------------------------------------------------------------------------------------------

    def _refusals(self, told: Explanation) -> Iterator[str]:
        if told.rejection is not None:
            yield self._styled("Before any node is looked at", BOLD)
            yield from self._refusal(told.rejection)
            yield ""
        lines = merged(told.refused, everything=self._all)
        if not lines:
            return
        refused = sum(len(line.nodes) for line in lines)
        yield self._styled(f"Why not on {refused:,} of {counted(told.nodes, 'node')}", BOLD)
        shown = self._cut(lines, MAX_LINES)
        for line in shown:
            yield from self._line(line, alone=told.rejection is None)
        for line in lines[len(shown) :]:
            yield from self._short_line(line)
        yield ""

    def _line(self, line: Line, *, alone: bool) -> Iterator[str]:
        near = self._styled(f"  {_away(line)}", YELLOW if line.furthest == 1 else DIM) if alone else ""
        names = shown_nodes(line.nodes, self._all)
        if near and len(names) + 24 < self._width:
            yield f"  {self._styled(printable(names), CYAN)}{near}"
        else:
            yield from self._wrapped("  ", 4, names, CYAN)
        where = f"on {line.example.nodes[0]}: " if len(line.alike) > 1 else ""
        for position, refusal in enumerate(line.example.refusals):
            more = len(line.reasons(position)) - 1
            yield from self._refusal(refusal, where, f" (and {more} more like it; --all lists them)" if more else "")

    def _short_line(self, line: Line) -> Iterator[str]:
        """Print further nodes in a sentence with all their reasons."""
        where = f"on {line.example.nodes[0]}: " if len(line.alike) > 1 else ""
        said = []
        for refusal in line.example.refusals:
            details = "; ".join(refusal.verdict.details)
            reasons = "; ".join(refusal.verdict.reasons)
            said.append(f"{refusal.plugin}: {reasons}{details and f' ({where}{details})'}")
        yield from self._wrapped("  ", 4, f"{shown_nodes(line.nodes)}: {'; '.join(said)}")

    def _refusal(self, refusal: Refusal, where: str = "", more: str = "") -> Iterator[str]:
        head = f"    {self._styled(refusal.plugin, RED)}: "
        yield from self._wrapped(head, 6, "; ".join(refusal.verdict.reasons) + more)
        for detail in refusal.verdict.details:
            yield from self._wrapped("      ", 8, f"{where}{detail}", DIM)

    def _devices(self, told: Explanation) -> Iterator[str]:
        for claim, request, devices in by_request(told.devices):
            yield from self._wrapped("  ", 4, f"{request} (claim {claim}): {devices}")

    # -- one node -----------------------------------------------------------------------------------------------------

    def _column(self, column: Column, told: Explanation) -> Iterator[str]:
        fits = self._styled("fits", GREEN) if column.fits else self._styled("does not fit", RED)
        yield f"{self._styled(f'Node {printable(column.node)}', BOLD)}  {fits}"
        widest = max((len(cell.plugin) for cell in column.plugins), default=0)
        for cell in column.plugins:
            yield from self._cell(cell, widest)
        yield ""
        if column.rank:
            yield self._styled(f"Score {column.total}, rank {column.rank} of {told.feasible:,}", BOLD)
            for plugin, score in column.scores.items():
                weight = told.weights[plugin]
                yield f"  {plugin:<34} {score // weight:>3} × {weight} = {score}"
            yield ""

    def _cell(self, cell: Cell, widest: int) -> Iterator[str]:
        word, colour = _ANSWER[cell.answer]
        head = f"  {self._styled(word, colour)} {cell.plugin:<{widest}}  "
        indent = widest + 8
        said = "; ".join(cell.reasons) or ("nothing to check" if cell.answer is Answer.NOTHING else "")
        details = list(cell.details)
        if not said and details:
            said = details.pop(0)
        yield from (line.rstrip() for line in self._wrapped(head, indent, said, DIM if cell.details else ""))
        for detail in details:
            yield from self._wrapped(" " * indent, indent, detail, DIM)

    # -- scores -------------------------------------------------------------------------------------------------------

    def _scores(self, told: Explanation) -> Iterator[str]:
        if not told.scores:
            return
        rows = self._cut(told.scores, _MAX_ROWS)
        heads = [printable(shown_nodes(row.nodes, self._all)) for row in rows]
        for start in range(0, len(rows), per_table := self._columns_that_fit(heads)):
            yield from self._table(rows[start : start + per_table], heads[start : start + per_table], told)
        if len(rows) < len(told.scores):
            left = sum(len(row.nodes) for row in told.scores[len(rows) :])
            yield f"  … and {counted(left, 'node')} with lower scores (--all lists them)"

    def _columns_that_fit(self, heads: Sequence[str]) -> int:
        widest = max(min(len(head), _WIDEST_HEAD) for head in heads) + 2
        return max(1, (self._width - 36) // widest)

    def _table(self, rows: Sequence[ScoreRow], heads: Sequence[str], told: Explanation) -> Iterator[str]:
        widths = [max(len(head), 6) + 2 for head in heads]
        titles = [
            f"{' ' * (width - len(head))}{self._styled(head, CYAN)}" for head, width in zip(heads, widths, strict=True)
        ]
        yield f"  {'':<34}" + "".join(titles)
        for plugin in rows[0].scores:
            if any(row.scores.get(plugin) for row in rows):
                values = [f"{row.scores.get(plugin, 0):>{width}}" for row, width in zip(rows, widths, strict=True)]
                yield f"  {f'{plugin} ×{told.weights[plugin]}':<34}" + "".join(values)
        totals = "".join(f"{row.total:>{width}}" for row, width in zip(rows, widths, strict=True))
        yield self._styled(f"  {'total':<34}{totals}", BOLD)

    # -- what would help ----------------------------------------------------------------------------------------------

    def _preemption(self, told: Explanation) -> Iterator[str]:
        preemption = told.preemption
        if preemption is None or not preemption.victims:
            return
        victims = ", ".join(preemption.victims)
        budgets = f"; {preemption.violations} of them against a disruption budget" if preemption.violations else ""
        yield from self._wrapped("  ", 4, f"evicts {victims} from {preemption.node}{budgets}", YELLOW)


def _away(line: Line) -> str:
    if line.furthest == 1:
        return "one reason away"
    most = f" to {line.furthest}" if line.furthest > line.nearest else ""
    return f"{line.nearest}{most} reasons away"
