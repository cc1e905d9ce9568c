"""Add up what the nodes of pools cost, from when a node registers until it is gone."""

from moorage.autoscale.controller import NodeAutoscaler
from moorage.client.protocol import Object
from moorage.model.kinds import KINDS, Kind
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.prices import Prices

_HOUR = 3600.0


class PoolMeter:
    """The nodes of one pool, what they cost an hour now, and what they have cost in all."""

    def __init__(self) -> None:
        self.first = self.nodes = self.most = self.added = self.removed = 0
        self.rate = self.total = 0.0
        self.since = 0.0

    def go_on(self, now: float) -> None:
        self.total += self.rate * (now - self.since) / _HOUR
        self.since = now


class CostMeter:
    """Follows the nodes of a simulation. `rates` are the nodes and the cost of an hour after each change."""

    def __init__(self, simulation: Simulation, autoscaler: NodeAutoscaler) -> None:
        self._clock, self._autoscaler = simulation.clock, autoscaler
        self._prices = Prices(autoscaler.pools)
        self.pools: dict[str, PoolMeter] = {pool.name: PoolMeter() for pool in autoscaler.pools}
        self.unpriced: set[str] = set()
        self.rates: list[tuple[float, int, float]] = []
        self._known: dict[str, tuple[str, float]] = {}
        for found in simulation.world.all(KINDS.NODE):
            self._come(found)
        for meter in self.pools.values():
            meter.first, meter.added = meter.nodes, 0
        self._note()
        simulation.api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is not KINDS.NODE:
            return
        if old is None and new is not None:
            self._come(new)
            self._note()
        elif new is None and old is not None and old.name in self._known:
            self._go(old.name)
            self._note()

    def _come(self, found: Object) -> None:
        pool = self._autoscaler.nodes.pool_of(found.view)
        if pool is None:
            return
        price = self._prices.of(found.view)
        if price is None:
            self.unpriced.add(found.name)
        meter = self.pools[pool.name]
        meter.go_on(self._clock.now)
        meter.rate += price or 0.0
        meter.nodes += 1
        meter.added += 1
        meter.most = max(meter.most, meter.nodes)
        self._known[found.name] = pool.name, price or 0.0

    def _go(self, name: str) -> None:
        pool, price = self._known.pop(name)
        meter = self.pools[pool]
        meter.go_on(self._clock.now)
        meter.nodes -= 1
        meter.removed += 1
        meter.rate = meter.rate - price if meter.nodes else 0.0

    def _note(self) -> None:
        now = self._clock.now
        if self.rates and self.rates[-1][0] == now:
            self.rates.pop()
        nodes = sum(meter.nodes for meter in self.pools.values())
        self.rates.append((now, nodes, sum(meter.rate for meter in self.pools.values())))

    def go_on(self) -> None:
        """Add up the cost until now."""
        for meter in self.pools.values():
            meter.go_on(self._clock.now)
