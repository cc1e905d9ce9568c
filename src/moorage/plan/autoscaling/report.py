"""Report what an autoscaler did in a plan: its steps, nodes and cost of each pool, and pods that it does not help."""

from collections.abc import Iterable

import msgspec

from moorage.autoscale.timeline import Did, ScalingStep
from moorage.plan.autoscaling.attached import Attached
from moorage.plan.simulation.simulation import Simulation

#: The cost of an hour is listed for no more changes than this: those between are left out.
MAX_RATES = 2_000


class NodeStep(msgspec.Struct, frozen=True, rename="camel"):
    """A step of a node, `seconds` after the beginning. `pods` are those that it is for, or that it had."""

    seconds: int
    did: Did
    node: str
    pool: str
    kind: str
    reason: str
    pods: tuple[str, ...]
    price: float | None


class PoolUse(msgspec.Struct, frozen=True, rename="camel"):
    """The nodes of a pool at the beginning, at most and at the end, and what they have cost."""

    name: str
    first: int
    most: int
    last: int
    added: int
    removed: int
    per_hour: float
    cost: float


class Rate(msgspec.Struct, frozen=True, rename="camel"):
    """How many nodes the pools have from this second on, and what they cost an hour."""

    seconds: int
    nodes: int
    per_hour: float


class NotHelped(msgspec.Struct, frozen=True, rename="camel"):
    """Pods for which no node is started, for the same reason: the autoscaler's message, and the reason of each pool."""

    pods: tuple[str, ...]
    message: str
    pools: dict[str, str]


class BufferCondition(msgspec.Struct, frozen=True, rename="camel"):
    """A condition of a CapacityBuffer, and after how many seconds it became so."""

    type: str
    status: bool
    reason: str
    message: str
    seconds: int


class BufferUse(msgspec.Struct, frozen=True, rename="camel"):
    """A CapacityBuffer: for how many pods room is kept, none where that cannot be said, and its status' conditions."""

    name: str
    replicas: int | None
    conditions: tuple[BufferCondition, ...]


class Scaling(msgspec.Struct, frozen=True, rename="camel"):
    """All of it. `unpriced` is how many nodes had no price: they cost nothing here."""

    autoscaler: str
    seconds: int
    steps: list[NodeStep]
    pools: list[PoolUse]
    rates: list[Rate]
    not_helped: list[NotHelped]
    cost: float
    unpriced: int
    on_their_way: tuple[str, ...]
    leaving: tuple[str, ...]
    buffers: tuple[BufferUse, ...] = ()

    @property
    def per_hour(self) -> float:
        return self.rates[-1].per_hour

    @property
    def highest(self) -> float:
        return max(rate.per_hour for rate in self.rates)


def scaling_of(simulation: Simulation, attached: Attached) -> Scaling:
    """Return what an autoscaler has done until now."""
    controller, meter, start = attached.controller, attached.meter, simulation.clock.start
    meter.go_on()

    def since(time: float) -> int:
        return max(0, round(time - start))

    rates = [Rate(since(time), nodes, round(rate, 6)) for time, nodes, rate in meter.rates]
    if len(rates) > MAX_RATES:
        rates = [*rates[:: -(-len(rates) // MAX_RATES)], rates[-1]]
    return Scaling(
        autoscaler=controller.scaler.value,
        seconds=since(simulation.clock.now),
        steps=[_step(step, since(step.time)) for step in controller.timeline.steps],
        pools=[
            PoolUse(
                name, one.first, one.most, one.nodes, one.added, one.removed, round(one.rate, 6), round(one.total, 6)
            )
            for name, one in meter.pools.items()
        ],
        rates=rates,
        not_helped=_grouped((one.pod, one.message, one.pools) for one in controller.timeline.refused.values()),
        cost=round(sum(one.total for one in meter.pools.values()), 6),
        unpriced=len(meter.unpriced),
        on_their_way=tuple(controller.machines),
        leaving=tuple(controller.leaving),
        buffers=tuple(
            BufferUse(
                state.buffer.key,
                state.replicas,
                tuple(
                    BufferCondition(one.type, one.status, one.reason, one.message, since(one.since))
                    for one in state.conditions.values()
                ),
            )
            for state in controller.room.states
        ),
    )


def _step(step: ScalingStep, seconds: int) -> NodeStep:
    return NodeStep(seconds, step.did, step.node, step.pool, step.kind, step.reason, step.pods, step.price)


def _grouped(refused: Iterable[tuple[str, str, dict[str, str]]]) -> list[NotHelped]:
    groups: dict[str, tuple[list[str], dict[str, str]]] = {}
    for pod, message, pools in refused:
        groups.setdefault(message, ([], pools))[0].append(pod)
    return [NotHelped(tuple(pods), message, pools) for message, (pods, pools) in groups.items()]
