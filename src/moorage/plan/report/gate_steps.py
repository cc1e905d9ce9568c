"""Print how feature gates are switched step by step, as text and Markdown, and as data."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.departures import Departure
from moorage.plan.gates.switching import GatePlay, GateStep, LaterWrite
from moorage.plan.pod_lines import PodLine, when_text
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.report.plain import as_data, plain
from moorage.plan.report.reasons import shortened
from moorage.plan.report.terminal import BOLD, GREEN, RED, YELLOW
from moorage.plan.report.text import TextReport

_MAX_LINES = 12
Row = TypeVar("Row")


def plain_play(play: GatePlay) -> dict[str, Any]:
    """Return the plan after the last step as plain data, with the steps."""
    return {**plain(play.after), "gateSteps": as_data(play.steps)}


def step_title(step: GateStep) -> str:
    switched = "; ".join(step.switched) or f"{', '.join(step.components)}: the same gates as before"
    return f"{step.number}. {switched}"


def step_lines(step: GateStep, *, everything: bool) -> Iterator[str]:
    """Return what a step does: pods first, then what waits to happen, then warnings."""
    endless = {loop.workload for loop in step.loops}
    sections: tuple[tuple[str, Iterable[str]], ...] = (
        ("evicted", _evicted([one for one in step.evicted if one.workload not in endless])),
        ("evicted again and again", (f"{loop.workload}: {loop.because}" for loop in step.loops)),
        ("refused by kubelets", _pods(step.failed, everything=everything)),
        ("Pending", _pods(step.pending, everything=everything)),
        ("placed", _placed(step.placed)),
        ("not created", (f"{one.workload} {one.counts}: {one.message}" for one in step.not_created)),
        ("refused from now on", map(_later, step.refused)),
        ("dropped from now on", map(_later, step.dropped)),
        ("warning", step.notes),
    )
    for title, lines in sections:
        found = list(lines)
        shown = found if everything else found[:_MAX_LINES]
        yield from (f"{title}: {line}" for line in shown)
        if len(found) > len(shown):
            yield f"{title}: {counted(len(found) - len(shown), 'line')} more (--all lists them)"


def _later(write: LaterWrite) -> str:
    return f"{write.subject}: {write.message}"


def _grouped(rows: Iterable[Row], key: Callable[[Row], tuple[str, str]]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _evicted(departures: Sequence[Departure]) -> Iterator[str]:
    for (who, because), rows in _grouped(departures, lambda one: (one.workload or one.pod, one.because)).items():
        nodes = shown_nodes(list(dict.fromkeys(row.node for row in rows)))
        then = dict.fromkeys(row.new_node or ("Pending" if row.replaced_by else "not replaced") for row in rows)
        when = when_text(min(row.after_seconds for row in rows))
        yield f"{who} {counted(len(rows), 'pod')} {when} from {nodes}, then {shown_nodes(list(then))}: {because}"


def _pods(pods: Iterable[PodLine], *, everything: bool) -> Iterator[str]:
    for (who, message), rows in _grouped(pods, lambda one: (one.workload or one.key, one.message)).items():
        yield f"{who} {counted(len(rows), 'pod')}: {message if everything else shortened(message)}"


def _placed(pods: Iterable[PodLine]) -> Iterator[str]:
    for (who, _), rows in _grouped(pods, lambda one: (one.workload or one.key, "")).items():
        yield f"{who} {counted(len(rows), 'pod')} on {shown_nodes(list(dict.fromkeys(row.node for row in rows)))}"


def conclusion(play: GatePlay) -> str:
    return f"After {counted(len(play.steps), 'step')}: {play.sentence}."


class GateStepsReport(TextReport):
    """Prints the steps as text."""

    def play(self, play: GatePlay) -> Iterator[str]:
        for step in play.steps:
            yield from self._wrapped("", 3, printable(step_title(step)), style=BOLD)
            yield from self._wrapped("   ", 5, step.summary, style=RED if step.harms else GREEN)
            for line in step_lines(step, everything=self._all):
                yield from self._wrapped("     ", 7, line, style=YELLOW if line.startswith("warning") else "")
            yield ""
        yield from self._section("Notes", self._notes(play.before))
        yield from self._wrapped("", 2, conclusion(play))


def markdown_play(play: GatePlay, *, everything: bool) -> Iterator[str]:
    """Return the steps for a pull request."""
    yield "# Gates, step by step"
    yield ""
    yield conclusion(play)
    for step in play.steps:
        yield ""
        yield f"## {_cell(step_title(step))}"
        yield ""
        yield f"{_cell(step.summary)}"
        lines = list(step_lines(step, everything=everything))
        if lines:
            yield ""
            yield from (f"- {_cell(line)}" for line in lines)


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|").replace("<", "&lt;")
