"""Print what all explanations have in common: the notes that may make them doubtful."""

from collections.abc import Iterator, Mapping, Sequence

from moorage.lint.finding import Severity
from moorage.lint.report.printable import printable
from moorage.plan.departures import EvictionLoop
from moorage.plan.input.inventory import Note
from moorage.plan.input.live_gates import SUBJECT as GATES
from moorage.plan.pod_lines import PodDeadline
from moorage.plan.report.terminal import CYAN, DIM, RED, TerminalLines

_MAX_NOTES = 5
_MAX_ROWS, _MAX_NAMED = 12, 3


class ExplanationLines(TerminalLines):
    """The base of the texts of explanations."""

    _narrowest = 50

    def _leaving(self, deadlines: Mapping[str, PodDeadline]) -> Iterator[str]:
        """Print the pods that a NoExecute taint evicts, those with the same deadline and future together."""
        groups: dict[tuple[str, str], list[str]] = {}
        for pod, deadline in deadlines.items():
            groups.setdefault((deadline.text, deadline.then), []).append(pod)
        shown = self._cut(list(groups.items()), _MAX_ROWS)
        for (text, then), pods in shown:
            names = pods if self._all else pods[:_MAX_NAMED]
            more = f" and {len(pods) - len(names):,} more" if len(names) < len(pods) else ""
            yield from self._wrapped("  ", 4, ", ".join(names) + more, CYAN)
            yield from self._wrapped("    ", 6, text, RED)
            if then:
                yield from self._wrapped("    then: ", 6, then, DIM)
        yield from self._left_out(len(groups) - len(shown), "group")

    def _eviction_loop(self, loop: EvictionLoop | None) -> Iterator[str]:
        """Print once that the pods of a workload are evicted again and again."""
        if loop is not None:
            yield from self._wrapped("  ", 4, f"{loop.workload}: {loop.text}: {loop.because}", RED)

    def _notes(self, notes: Sequence[Note]) -> Iterator[str]:
        """Print objects that were refused or not readable, and a cluster's gates."""
        doubts = [note for note in notes if note.level is not Severity.INFO or note.object == GATES]
        shown = self._cut(doubts, _MAX_NOTES)
        for note in shown:
            where = f" {printable(note.where)}" if note.where else ""
            yield from self._wrapped(f"  {note.level.value}{where}: ", 4, note.sentence)
        yield from self._left_out(len(doubts) - len(shown), "note")
