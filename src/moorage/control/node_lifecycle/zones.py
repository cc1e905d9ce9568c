"""Rate limit of NoExecute taints by zone: slower if many nodes of a zone are down, none if all nodes are.

If every node is down, the controller is probably cut off itself. Kubernetes: handleDisruption, ComputeZoneState,
RateLimitedTimedQueue. Differs: first comes the node that is not ready for the longest time, and of several the first by
name, not the one that was queued first, so that a restarted controller goes on in the same order.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from moorage.client.pacing import TokenBucket


class Limits(NamedTuple):
    """kube-controller-manager's options and their defaults; rates are nodes per second."""

    node_eviction_rate: float = 0.1
    secondary_node_eviction_rate: float = 0.01
    large_cluster_size_threshold: int = 50
    unhealthy_zone_threshold: float = 0.55


DEFAULT_LIMITS = Limits()


class ZoneState(StrEnum):
    """Health of a zone."""

    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


class ClusterChange(StrEnum):
    """Whether the whole cluster entered or left full disruption."""

    NONE = "none"
    ENTERED = "entered"
    LEFT = "left"


class Zone:
    """One zone: its nodes that count and whether they are ready, and its nodes that wait for their taint."""

    def __init__(self, rate: float) -> None:
        self.state = ZoneState.INITIAL
        self.members: set[str] = set()
        self.ready: dict[str, bool] = {}
        self.waiting: dict[str, float] = {}  # since when they are not ready
        self._pace = TokenBucket(rate)

    @property
    def not_ready(self) -> int:
        return sum(not ready for ready in self.ready.values())

    def set_rate(self, rate: float, now: float) -> None:
        if rate != self._pace.rate:
            self._pace = TokenBucket(rate, since=now, full=self._pace.take(now))

    def next_node(self, now: float) -> str | None:
        """Return the node that is not ready for the longest time, if it may be tainted now."""
        if not self.waiting or not self._pace.take(now):
            return None
        name = min(self.waiting, key=lambda name: (self.waiting[name], name))
        del self.waiting[name]
        return name

    def wait(self, now: float) -> float | None:
        return self._pace.wait(now) if self.waiting else None


class Zones:
    """All zones."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.by_name: dict[str, Zone] = {}
        self.is_all_down = False
        self._zone_of: dict[str, str] = {}

    @property
    def are_judged(self) -> bool:
        """Whether the state of a zone has been computed already."""
        return any(zone.state is not ZoneState.INITIAL for zone in self.by_name.values())

    def track(self, node: str, zone: str, *, ready: bool, counts: bool) -> None:
        before = self._zone_of.get(node)
        if before is not None and before != zone:
            self.forget(node)
        self._zone_of[node] = zone
        known = self.by_name.get(zone)
        if known is None:
            known = self.by_name[zone] = Zone(self.limits.node_eviction_rate)
        known.members.add(node)
        if counts:
            known.ready[node] = ready
        else:
            known.ready.pop(node, None)

    def forget(self, node: str) -> None:
        zone = self.by_name.get(self._zone_of.pop(node, ""))
        if zone is not None:
            zone.members.discard(node)
            zone.ready.pop(node, None)
            zone.waiting.pop(node, None)

    def zone_of(self, node: str) -> str:
        return self._zone_of.get(node, "")

    def want(self, node: str, since: float) -> bool:
        """Queue a node, which is not ready since then, for its taint. Return whether it is new."""
        zone = self.by_name[self._zone_of[node]]
        if node in zone.waiting:
            return False
        zone.waiting[node] = since
        return True

    def drop(self, node: str) -> None:
        zone = self.by_name.get(self._zone_of.get(node, ""))
        if zone is not None:
            zone.waiting.pop(node, None)

    def update(self, now: float) -> ClusterChange:
        """Recompute the state and the rate of each zone."""
        for name in [name for name, zone in self.by_name.items() if not zone.members]:
            del self.by_name[name]
        counted = {name: zone for name, zone in self.by_name.items() if zone.ready}
        states = {name: self._state(zone) for name, zone in counted.items()}
        if not states:
            return ClusterChange.NONE
        all_down = all(state is ZoneState.FULL for state in states.values())
        was_all_down, self.is_all_down = self.is_all_down, all_down
        if all_down:
            for zone in self.by_name.values():
                zone.state = ZoneState.FULL
                zone.set_rate(0.0, now)
            return ClusterChange.NONE if was_all_down else ClusterChange.ENTERED
        for name, state in states.items():
            zone = counted[name]
            if state is not zone.state or was_all_down:
                zone.state = state
                zone.set_rate(self._rate(zone), now)
        return ClusterChange.LEFT if was_all_down else ClusterChange.NONE

    def grants(self, now: float) -> Iterator[str]:
        """Yield the nodes that may be tainted now."""
        for zone in self.by_name.values():
            while (name := zone.next_node(now)) is not None:
                yield name

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next grant; None if there will be none."""
        waits = [wait for zone in self.by_name.values() if (wait := zone.wait(now)) is not None]
        return min(waits, default=None)

    def _state(self, zone: Zone) -> ZoneState:
        down, nodes = zone.not_ready, len(zone.ready)
        if down == nodes:
            return ZoneState.FULL
        if down > 2 and down / nodes >= self.limits.unhealthy_zone_threshold:
            return ZoneState.PARTIAL
        return ZoneState.NORMAL

    def _rate(self, zone: Zone) -> float:
        if zone.state is not ZoneState.PARTIAL:
            return self.limits.node_eviction_rate
        is_large = len(zone.ready) > self.limits.large_cluster_size_threshold
        return self.limits.secondary_node_eviction_rate if is_large else 0.0
