"""Print the changes that would help a pod: what to write, the command, the nodes that each opens."""

from collections.abc import Iterator

from moorage.lint.report.printable import printable, printable_lines
from moorage.plan.explain.explanation import Explanation
from moorage.plan.explain.explanation_lines import ExplanationLines
from moorage.plan.explain.remedies.change import Change
from moorage.plan.explain.remedies.trials import Suggestion
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.report.terminal import BOLD, GREEN, YELLOW

_MAX_SUGGESTED = 6


class SuggestionText(ExplanationLines):
    """Prints suggestions."""

    def _help(self, told: Explanation) -> Iterator[str]:
        if told.suggestions:
            where = f" on {printable(told.column.node)}" if told.column is not None else ""
            yield self._styled(f"{_subject(told)} fit{where} with any one of these changes (each was tried)", BOLD)
            shown = self._cut(told.suggestions, _MAX_SUGGESTED)
            for number, suggestion in enumerate(shown, 1):
                yield from self._suggestion(number, suggestion, wide=told.column is None)
            if len(shown) < len(told.suggestions):
                yield f"  … and {len(told.suggestions) - len(shown)} more (--all lists them)"
            if told.not_all_tried:
                yield self._styled("  Not all changes were tried: that would have taken too long.", YELLOW)
            yield ""
        elif told.together is not None:
            title = f"No single change is enough; on {printable(told.together.node)} these would be, together"
            yield self._styled(title, BOLD)
            for number, change in enumerate(told.together.changes, 1):
                yield from self._change(number, change, "")
            for remark in told.together.remarks:
                yield from self._wrapped("        ", 10, remark, YELLOW)
            yield ""
        elif told.reason == "Unschedulable" and told.nodes:
            if told.not_all_tried:
                text = "No change was found that would be enough, but not all were tried: each takes a long search."
            else:
                text = "No single change to the pod or to one node would be enough."
            yield self._styled(text, BOLD)
            yield ""

    def _suggestion(self, number: int, suggestion: Suggestion, *, wide: bool) -> Iterator[str]:
        opens = (
            f"  → {shown_nodes(suggestion.nodes, self._all)}"
            if suggestion.nodes and suggestion.change.node is None and (wide or suggestion.change.gone)
            else ""
        )
        yield from self._change(number, suggestion.change, opens)
        for remark in suggestion.remarks:
            yield from self._wrapped("        ", 10, remark, YELLOW)

    def _change(self, number: int, change: Change, opens: str) -> Iterator[str]:
        head = f"  {number:>2}. "
        yield from self._wrapped(head, 6, f"{change.summary}{opens}")
        for line in printable_lines(change.yaml) if change.yaml else ():
            yield f"        {self._styled(line, GREEN)}"
        if change.command:
            yield f"        {self._styled(f'$ {printable(change.command)}', GREEN)}"


def _subject(told: Explanation) -> str:
    if told.standing is Standing.REFUSED:
        return "Its pods would be let in and"
    return "The next replica would" if told.standing is Standing.COMPLETE else "It would"
