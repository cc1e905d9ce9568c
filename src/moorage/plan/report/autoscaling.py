"""Write what an autoscaler did as lines of text: who came and went, the cost, and why nothing is started for a pod."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from moorage.autoscale.timeline import Did
from moorage.lint.report.form import counted
from moorage.model.go.times import duration_text
from moorage.plan.autoscaling.report import BufferUse, NodeStep, NotHelped, PoolUse, Scaling

_MAX_PODS = 3
_SIGNS = {Did.ADDED: "+", Did.REMOVED: "-", Did.KEPT: "="}
#: The steps that are listed: others lead to them.
SHOWN = frozenset(_SIGNS)


class StepGroup(msgspec.Struct, frozen=True):
    """Steps of one moment that differ by their nodes only."""

    first: NodeStep
    nodes: tuple[str, ...]
    pods: tuple[str, ...]

    @property
    def sign(self) -> str:
        return _SIGNS[self.first.did]

    @property
    def what(self) -> str:
        """`2 nodes of spot (c.large/a/spot, 0.03/h each)`."""
        step, number = self.first, len(self.nodes)
        price = "" if step.price is None else f", {money(step.price)}/h" + (" each" if number > 1 else "")
        return f"{counted(number, 'node')} of {step.pool} ({step.kind}{price})"

    @property
    def why(self) -> str:
        step = self.first
        pods = shown_pods(self.pods)
        if step.did is Did.ADDED:
            return f"for {pods}" if pods and not step.reason.startswith("replaces") else step.reason
        moved = f"; moves {pods}" if pods else ""
        return f"{step.reason}{moved}"


def step_groups(scaling: Scaling) -> list[StepGroup]:
    """Return the steps that are listed, those together that are alike."""
    groups: dict[tuple[object, ...], list[NodeStep]] = {}
    for step in scaling.steps:
        if step.did in SHOWN:
            reason = "" if step.did is Did.ADDED and not step.reason.startswith("replaces") else step.reason
            groups.setdefault((step.seconds, step.did, step.pool, step.kind, reason), []).append(step)
    return [
        StepGroup(
            steps[0],
            tuple(step.node for step in steps),
            tuple(dict.fromkeys(pod for step in steps for pod in step.pods)),
        )
        for steps in groups.values()
    ]


def summary_line(scaling: Scaling) -> str:
    """`karpenter in 2h0m0s: 5 nodes added, 2 removed; 0.31/h at the end, at most 0.9/h; 1.04 in all`."""
    added, removed = sum(pool.added for pool in scaling.pools), sum(pool.removed for pool in scaling.pools)
    waiting = f", {len(scaling.on_their_way)} on their way" if scaling.on_their_way else ""
    cost = f"{money(scaling.per_hour)}/h at the end, at most {money(scaling.highest)}/h, {money(scaling.cost)} in all"
    return (
        f"{scaling.autoscaler} in {shown_time(scaling.seconds)}: {counted(added, 'node')} added, {removed:,} removed"
        f"{waiting}; {cost}"
    )


def pool_line(pool: PoolUse) -> str:
    """`3 nodes, at most 5, 1 at the end; 0.42 in all`."""
    counts = f"{pool.first:,} at the beginning, at most {pool.most:,}, {pool.last:,} at the end"
    return f"{counts}; added {pool.added:,}, removed {pool.removed:,}; {money(pool.cost)}"


def buffer_line(buffer: BufferUse) -> str:
    """`room for 3 pods; ReadyForProvisioning; not Provisioning: RequiresNewCapacity: 3/3 virtual pods …`."""
    room = "no room" if buffer.replicas is None else f"room for {counted(buffer.replicas, 'pod')}"
    said = [
        f"{'' if one.status else 'not '}{one.type} ({': '.join(filter(None, (one.reason, one.message)))})"
        for one in buffer.conditions
    ]
    return "; ".join((room, *said))


def notes_of(scaling: Scaling) -> Iterator[str]:
    if scaling.unpriced:
        yield f"{counted(scaling.unpriced, 'node')} without a known price: counted as costing nothing"


def reasons_of(group: NotHelped) -> list[tuple[str, str]]:
    """Return the reason of each pool, pools with the same reason together."""
    said: dict[str, list[str]] = {}
    for pool, reason in group.pools.items():
        said.setdefault(reason, []).append(pool)
    return [(", ".join(pools), reason) for reason, pools in said.items()]


def shown_pods(pods: Sequence[str]) -> str:
    """`5 pods: default/a, default/b, default/c, …`; empty without any."""
    if not pods:
        return ""
    names = ", ".join(pods[:_MAX_PODS]) + (", …" if len(pods) > _MAX_PODS else "")
    return f"{counted(len(pods), 'pod')}: {names}"


def shown_time(seconds: int) -> str:
    return duration_text(seconds * 1_000_000_000)


def money(amount: float) -> str:
    """Return a price with as many digits as tell something."""
    return f"{amount:,.2f}" if amount >= 100 else f"{amount:.4g}"


def widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)
