"""Write losses as Markdown, for pull requests."""

from collections.abc import Iterable, Iterator, Sequence

from moorage.capacity.losing.distribution import Distribution
from moorage.capacity.losing.loss import Loss
from moorage.capacity.losing.text import share_of
from moorage.lint.report.form import counted
from moorage.plan.report.departures import grouped
from moorage.plan.report.grouping import by_reason
from moorage.plan.report.markdown import table
from moorage.plan.report.reasons import shortened

_MAX_ROWS = 50


def loss_markdown(loss: Loss) -> Iterator[str]:
    """Yield the lines of one loss."""
    yield f"# {loss.change[0].upper()}{loss.change[1:]}"
    yield ""
    yield f"**{loss.sentence}.**"
    yield ""
    rows = [(one.title, one.leaves(), one.then(), one.reason) for one in grouped(loss.evicted)]
    yield from _bounded("Evicted and moved", ("workload", "leaves", "then", "reason"), rows)
    waiting = [
        (workload or ", ".join(pod.key for pod in pods[:4]), counted(len(pods), "pod"), shortened(group.message))
        for group in by_reason(loss.pending)
        for workload, pods in group.workloads.items()
    ]
    yield from _bounded("Pending", ("workload", "pods", "reason"), waiting)
    yield from _bounded("Not replaced", ("pod", "node"), [(one.key, one.node or one.last_node) for one in loss.gone])
    budgets = [(one.name, one.text) for one in loss.budgets]
    yield from _bounded("Budgets below what they demand", ("budget", "numbers"), budgets)


def distribution_markdown(found: Distribution, command: str) -> Iterator[str]:
    """Yield the lines of many losses."""
    yield f"# Lose {counted(found.number, 'node')} of {found.candidates:,}, {found.times:,} times"
    yield ""
    yield f"**{share_of(found.unharmed, found.times)} of the losses harm nothing** (seed {found.seed})."
    yield ""
    rows = [
        (title, f"{one.mean:,.2f}", *(f"{number:,}" for number in (one.p50, one.p90, one.p95, one.p99, one.most)))
        for title, one in (("leave", found.left), ("Pending", found.pending), ("not replaced", found.gone))
    ]
    yield from table("Pods", ("pods", "mean", "p50", "p90", "p95", "p99", "most"), rows)
    risks = [
        (one.workload, share_of(one.losses, found.times), f"{one.most_pods:,}", f"{one.mean_pods:,}")
        for one in found.workloads
    ]
    yield from _bounded("Workloads that are hit most", ("workload", "losses", "pods at most", "on average"), risks)
    budgets = [(one.name, share_of(one.losses, found.times)) for one in found.budgets]
    yield from _bounded("Budgets below what they demand", ("budget", "losses"), budgets)
    if found.harms:
        yield f"The worst of them: {', '.join(found.worst.nodes)}; `{command}` plays it."
        yield ""


def _bounded(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    more = len(rows) - _MAX_ROWS
    shown = [*rows[:_MAX_ROWS], *([("…", f"{more:,} more", *[""] * (len(head) - 2))] if more > 0 else ())]
    return table(title, head, shown)
