"""Print which nodes can go, in their order, and why the others stay."""

from collections import Counter
from collections.abc import Iterator, Sequence

from moorage.capacity.reclaiming.reclaim import KeptNode, Reclaim, ReclaimedNode
from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.departures import Departure
from moorage.plan.report.markdown import table
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.report.terminal import BOLD, GREEN, MAX_ROWS
from moorage.plan.report.text import TextReport
from moorage.pools.prices import HOURS_A_MONTH

_MAX_MARKDOWN = 100


class ReclaimReport(TextReport):
    """Prints nodes that can go."""

    def reclaim(self, found: Reclaim) -> Iterator[str]:
        yield from self._section("Nodes that can go, in this order", self._gone(found.nodes))
        yield from self._section("Nodes that stay", self._kept(found.kept))
        if found.untried:
            text = (
                f"{counted(found.untried, 'node')} that would save less for each pod {_were(found.untried)} not tried."
            )
            yield from self._wrapped("", 2, text)
        yield from (self._styled(line, GREEN if found.nodes else BOLD) for line in self._folded(summary(found)))

    def _gone(self, nodes: Sequence[ReclaimedNode]) -> Iterator[str]:
        shown = self._cut(nodes, MAX_ROWS)
        for number, node in enumerate(shown, 1):
            head = f"  {number:>3}. {self._styled(printable(node.name), BOLD)}  "
            yield from self._wrapped(
                head, 7, "  ".join(filter(None, (node.pool, price_of(node), moves_of(node.moves))))
            )
        yield from self._left_out(len(nodes) - len(shown), "node")

    def _kept(self, nodes: Sequence[KeptNode]) -> Iterator[str]:
        rows = list(_by_reason(nodes).items())
        shown = self._cut(rows, MAX_ROWS)
        for reason, names in shown:
            yield from self._wrapped(f"  {printable(shown_nodes(names))}  ", 4, printable(reason))
        yield from self._left_out(len(rows) - len(shown), "reason")


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _by_reason(nodes: Sequence[KeptNode]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(node.reason, []).append(node.name)
    return found


def price_of(node: ReclaimedNode) -> str:
    return "" if node.price is None else f"{node.price:.4g}/h"


def moves_of(moves: Sequence[Departure]) -> str:
    """Return `3 pods move: Deployment default/web 2, Job default/report 1; to node-1`."""
    if not moves:
        return "nothing moves"
    numbers = Counter(one.workload or f"Pod {one.pod}" for one in moves)
    names = ", ".join(f"{name} {number:,}" for name, number in numbers.most_common(4))
    more = f", {len(numbers) - 4:,} more" if len(numbers) > 4 else ""
    nodes = list(dict.fromkeys(one.new_node for one in moves if one.new_node))
    where = f"; to {shown_nodes(nodes)}" if nodes else ""
    return f"{counted(len(moves), 'pod')} {'moves' if len(moves) == 1 else 'move'}: {names}{more}{where}"


def summary(found: Reclaim) -> str:
    """Say how many nodes can go, and what that saves."""
    if not found.nodes:
        return f"None of the {found.total:,} nodes can go." if found.kept else "There is no node to try."
    text = f"{len(found.nodes):,} of {counted(found.total, 'node')} can go"
    if found.saves is not None:
        text += f": saves {found.saves:,.4g}/h ({found.saves * HOURS_A_MONTH:,.1f} a month)"
        if found.unpriced:
            text += f", and {counted(found.unpriced, 'node')} without a known price"
    return f"{text}; {counted(found.moves, 'pod')} {'moves' if found.moves == 1 else 'move'}."


def reclaim_markdown(found: Reclaim) -> Iterator[str]:
    """Yield the lines of tables for a pull request."""
    yield "# Nodes that can go"
    yield ""
    yield f"**{summary(found)}**"
    yield ""
    gone = [
        (f"{number}", node.name, node.pool, price_of(node), moves_of(node.moves))
        for number, node in enumerate(found.nodes[:_MAX_MARKDOWN], 1)
    ]
    yield from table("In this order", ("", "node", "pool", "price", "pods"), gone)
    kept = [(shown_nodes(names), reason) for reason, names in _by_reason(found.kept).items()]
    yield from table("Nodes that stay", ("nodes", "why"), kept[:_MAX_MARKDOWN])
