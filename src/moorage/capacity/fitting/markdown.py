"""Write a mix of nodes as Markdown, for pull requests."""

from collections.abc import Iterator

from moorage.capacity.fitting.report import FitReport
from moorage.capacity.fitting.text import used_text, workloads_text
from moorage.plan.pools.verdicts import price_text
from moorage.plan.report.markdown import table
from moorage.plan.report.reasons import shortened

_MAX_ROWS = 50


def fit_markdown(report: FitReport) -> Iterator[str]:
    """Yield the lines of a report."""
    yield "# Cheapest mix of nodes"
    yield ""
    yield f"**{report.sentence}.**"
    yield ""
    if report.is_found:
        for sentence in (report.proof, report.survival.sentence if report.survival else "", report.budget_sentence):
            if sentence:
                yield f"{sentence[0].upper()}{sentence[1:]}."
                yield ""
    rows = [
        (one.pool, one.node, f"{one.count:,}", price_text(one.price), price_text(one.cost), used_text(one))
        for one in report.nodes[:_MAX_ROWS]
    ]
    yield from table("Nodes", ("pool", "node", "count", "price/h", "cost/h", "used"), rows)
    shares = [(one.resource, f"{one.percent:g} %") for one in report.binding]
    yield from table("What binds", ("resource or rule", "share of the bound"), shares)
    yield from table("Bounds of pools", ("bound",), [(one,) for one in report.bounds])
    dear = [
        (one.workload, f"{one.pods:,}", *map(price_text, (one.cost, one.saved_without, one.saved_anywhere)))
        for one in report.workloads
    ]
    head = ("workload", "pods", "cost/h", "saved without it/h", "saved on any node/h")
    yield from table("What makes it dear", head, dear)
    hopeless = [
        (workloads_text(one.workloads), pool.pool, pool.sentence)
        for one in report.hopeless[:_MAX_ROWS]
        for pool in one.pools
    ]
    yield from table("Refused by the API server", ("object",), [(one,) for one in report.refused[:_MAX_ROWS]])
    yield from table("No pool can ever take", ("workloads", "pool", "reason"), hopeless)
    left = [(workloads_text(one.workloads), shortened(one.reason)) for one in report.left[:_MAX_ROWS]]
    yield from table("No mix was found for", ("workloads", "reason"), left)
    yield from (f"- {note}" for note in report.notes)
