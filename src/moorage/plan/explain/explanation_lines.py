"""Print what all explanations have in common: the notes that may make them doubtful."""

from collections.abc import Iterator, Sequence

from moorage.lint.finding import Severity
from moorage.lint.report.printable import printable
from moorage.plan.input.inventory import Note
from moorage.plan.input.live_gates import SUBJECT as GATES
from moorage.plan.report.terminal import TerminalLines

_MAX_NOTES = 5


class ExplanationLines(TerminalLines):
    """The base of the texts of explanations."""

    _narrowest = 50

    def _notes(self, notes: Sequence[Note]) -> Iterator[str]:
        """Print objects that were refused or not readable, and a cluster's gates."""
        doubts = [note for note in notes if note.level is not Severity.INFO or note.object == GATES]
        shown = self._cut(doubts, _MAX_NOTES)
        for note in shown:
            where = f" {printable(note.where)}" if note.where else ""
            yield from self._wrapped(f"  {note.level.value}{where}: ", 4, note.sentence)
        yield from self._left_out(len(doubts) - len(shown), "note")
