"""Print what is watched: as a screen of a given height, or happenings as lines of a log."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable, visible_length
from moorage.plan.report.grouping import MAX_NAMES, by_reason
from moorage.plan.report.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW
from moorage.plan.report.text import TextReport
from moorage.watch.happenings import Happening, HappeningKind
from moorage.watch.state import Watched

_COLOURS = {
    HappeningKind.PENDING: YELLOW,
    HappeningKind.PLACED: GREEN,
    HappeningKind.MOVED: CYAN,
    HappeningKind.LEAVING: YELLOW,
    HappeningKind.EVICTED: RED,
    HappeningKind.LOOP: RED,
    HappeningKind.PREEMPTED: RED,
    HappeningKind.DELETED: DIM,
    HappeningKind.FAILED: RED,
    HappeningKind.COMPLETED: GREEN,
    HappeningKind.NODE: BOLD,
    HappeningKind.SERVER: RED,
}
_KIND_WIDTH = max(len(kind) for kind in HappeningKind)
_MAX_GROUPS = 30
_MAX_LINES = 60
_MAX_SHOWN_NODES = 200
#: More happenings than this of one kind and workload at a time are one line.
_MAX_ALIKE = 3


class WatchText(TextReport):
    """Prints a state; `server` is named in the title."""

    def __init__(self, server: str, *, colour: bool, width: int) -> None:
        super().__init__(colour=colour, width=width)
        self._server = server

    def title(self, watched: Watched, now: float) -> str:
        pending = watched.waiting
        waits = self._styled(f"{pending:,} Pending", YELLOW if pending else GREEN)
        nodes = counted(len(watched.nodes), "node")
        leave = f"  {self._styled(f'{watched.to_be_evicted:,} to be evicted', RED)}" if watched.to_be_evicted else ""
        name = self._styled("moorage watch", BOLD)
        return f"{name}  {waits}  {watched.placed:,} placed{leave}  {nodes}  {_clock(now)}  {printable(self._server)}"

    def footer(self, watched: Watched, above: int, below: int) -> str:
        """Say what is wrong with the connection, how much is not seen, and which keys there are."""
        if watched.problem:
            return self._styled(printable(f"The API server cannot be reached, trying again: {watched.problem}"), RED)
        if watched.refusals:
            told = "; ".join(f"{resource} cannot be watched: {why}" for resource, why in watched.refusals.items())
            return self._styled(printable(told), YELLOW)
        hidden = [f"{above:,} above"] * bool(above) + [f"{below:,} lines below"] * (below > 0)
        return self._styled("  ".join([*hidden, "q quits, arrows scroll"]), DIM)

    def body(self, watched: Watched, height: int, now: float) -> list[str]:
        """Return all lines; those of the height are the first to be seen."""
        lines = list(self._section("Pending", self._pending_groups(watched)))
        lines += self._section("To be evicted", self._evictions(watched, now))
        lines += self._section("Lately", self._lately(watched, max(5, height // 3)))
        return lines + list(self._section("Nodes, the fullest first", self._node_lines(watched)))

    def snapshot(self, watched: Watched, now: float) -> Iterator[str]:
        """Print the state once, for a pipe."""
        yield self.title(watched, now)
        yield ""
        yield from self._section("Pending", self._pending_groups(watched))
        yield from self._section("To be evicted", self._evictions(watched, now))
        yield from self._section("Nodes, the fullest first", self._node_lines(watched))

    def log(self, happenings: Sequence[Happening]) -> Iterator[str]:
        """Print happenings of one moment as lines; many alike as one."""
        for alike in _alike(happenings):
            yield from self._told(alike, wrap=False)

    def _pending_groups(self, watched: Watched) -> Iterator[str]:
        groups = by_reason(watched.pending)
        for group in groups[:_MAX_GROUPS]:
            yield from self._waiting(group)
            yield from self._message(group)
        yield from self._left_out_quietly(len(groups) - _MAX_GROUPS, "reason")

    def _evictions(self, watched: Watched, now: float) -> Iterator[str]:
        """Return the workloads whose evictions never end, once each, and the pods that have to leave."""
        for loop in watched.loops(now)[:_MAX_GROUPS]:
            yield from self._wrapped(f"  {self._styled(printable(loop.workload), RED)}  ", 4, loop.text)
            yield from self._wrapped("    ", 6, loop.because, style=DIM)
        yield from self._leaving(watched.leaving(now))

    def _lately(self, watched: Watched, most: int) -> Iterator[str]:
        """Return what happened, the newest first, in a limited number of lines."""
        groups = list(_alike(list(watched.happenings)))
        lines: list[str] = []
        for alike in reversed(groups[-_MAX_LINES:]):
            told = list(self._told(alike, wrap=True))
            if lines and len(lines) + len(told) > most:
                break
            lines += told
        yield from lines

    def _told(self, alike: Sequence[Happening], *, wrap: bool) -> Iterator[str]:
        first = alike[0]
        kind = self._styled(f"{first.kind:<{_KIND_WIDTH}}", _COLOURS[first.kind])
        head = f"{self._styled(_clock(first.time), DIM)}  {kind}  "
        if len(alike) == 1:
            text = f"{first.subject} {first.detail}"
        else:
            names = [one.subject.rpartition("/")[2] for one in alike]
            more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
            text = f"{len(alike):,} pods of {first.workload} ({', '.join(names[:MAX_NAMES])}{more}){_common(alike)}"
        if wrap:
            yield from self._wrapped(f"  {head}", 6, text)
        else:
            yield f"{head}{printable(text)}"

    def _node_lines(self, watched: Watched) -> Iterator[str]:
        shown = watched.node_lines(_MAX_SHOWN_NODES)
        unready = watched.unready()
        widest = max((len(printable(line.name)) for line in shown), default=0)
        for line in shown:
            *before, last = self._node(line, widest)
            yield from before
            marks = [self._styled("not ready", RED)] if line.name in unready else []
            marks += [self._styled(printable(taint), DIM) for taint in line.taints]
            yield "  ".join([last, *marks])
        if len(watched.nodes) > len(shown):
            yield f"  … {counted(len(watched.nodes), 'node')} in all"

    def _left_out(self, number: int, noun: str) -> Iterator[str]:
        return self._left_out_quietly(number, noun)

    def _left_out_quietly(self, number: int, noun: str) -> Iterator[str]:
        if number > 0:
            yield f"  … and {counted(number, noun)} more"


def _clock(now: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(now))


def _alike(happenings: Sequence[Happening]) -> Iterator[list[Happening]]:
    """Return neighbours of one kind, workload and second together if there are many, else one by one."""
    start = 0
    while start < len(happenings):
        first, end = happenings[start], start + 1
        while end < len(happenings) and _belongs(happenings[end], first):
            end += 1
        run = list(happenings[start:end])
        if len(run) > _MAX_ALIKE:
            yield run
        else:
            yield from ([one] for one in run)
        start = end


def _belongs(other: Happening, first: Happening) -> bool:
    return bool(first.workload) and (other.kind, other.workload, int(other.time)) == (
        first.kind,
        first.workload,
        int(first.time),
    )


def _common(alike: Sequence[Happening]) -> str:
    """Return what happened to pods, with the number of those to which each happened if they differ."""
    details = Counter(one.detail.partition(", instead of ")[0] for one in alike)
    if len(details) == 1:
        return f" {next(iter(details))}"
    return f" {', '.join(f'{text} ({number:,})' for text, number in details.most_common(MAX_NAMES))}"


def cropped(line: str, width: int) -> str:
    """Cut a line that may hold colours at the width of the terminal."""
    if visible_length(line) <= width:
        return line
    shown, room, position = "", width, 0
    while position < len(line) and room > 0:
        if line.startswith("\x1b[", position):
            end = line.index("m", position) + 1
            shown += line[position:end]
            position = end
        else:
            shown += line[position]
            position, room = position + 1, room - 1
    return f"{shown}\x1b[0m" if "\x1b[" in shown else shown
