"""Write the explanation of a pod as Markdown, for pull requests; other explanations as their text, fenced."""

from collections.abc import Iterable, Iterator

from moorage.lint.report.printable import printable
from moorage.plan.explain.explanation import Explanation
from moorage.plan.explain.groups import merged
from moorage.plan.report.markdown import table
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.report.reasons import shortened

_MAX_ROWS = 50


def explanation_markdown(told: Explanation) -> Iterator[str]:
    """Yield the lines about a pod: what becomes of it, nodes that refuse it, pools, changes that help."""
    yield f"# pod {printable(told.pod)}"
    yield ""
    yield f"**{told.standing.value}**: {printable(told.sentence)}"
    yield ""
    if told.message:
        yield f"> {printable(told.reason)}: {printable(shortened(told.message))}"
        yield ""
    lines = merged(told.refused)[:_MAX_ROWS]
    refused = [
        (
            shown_nodes(line.nodes),
            "; ".join(text for one in line.example.refusals for text in (one.verdict.details or one.verdict.reasons)),
        )
        for line in lines
    ]
    yield from table("Why not on these nodes", ("nodes", "reasons"), refused, folds=True)
    pools = [(one.pool, "yes" if one.takes else "no", one.sentence) for one in told.pools[:_MAX_ROWS]]
    yield from table("Nodes that pools could start", ("pool", "takes it", "why"), pools)
    changes = [
        (str(number), one.change.summary, shown_nodes(one.nodes) if one.nodes else "")
        for number, one in enumerate(told.suggestions[:_MAX_ROWS], 1)
    ]
    yield from table("Changes that help, each was tried", ("", "change", "nodes"), changes)
    yield from (f"- {printable(note.sentence)}" for note in told.notes[:_MAX_ROWS])


def fenced(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a text as it is printed for a terminal, below a title."""
    yield f"# {printable(title)}"
    yield ""
    yield "```text"
    yield from lines
    yield "```"
