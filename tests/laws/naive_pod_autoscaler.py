"""A plain reading of the replica calculator and of the bounds with behavior, with nothing shared with the product.

Kubernetes: replica_calculator.go and horizontal.go of pkg/controller/podautoscaler, line by line.
"""

from dataclasses import dataclass, field
from math import ceil


@dataclass
class NaivePod:
    """A pod: times in seconds, amounts in thousandths; no `usage`: no metric; no `ready`: no such condition."""

    name: str
    request: int = 1000
    usage: int | None = None
    phase: str = "Running"
    deleted: bool = False
    ready: str | None = "True"
    started: int | None = 0
    changed: int = 0
    measured: int = 0
    window: int = 15


def utilization_replicas(
    pods: list[NaivePod], percent: int, current: int, down: float, up: float, now: int, period: int, delay: int
) -> int | None:
    """GetResourceReplicas for CPU; None if it is an error."""
    if not [pod for pod in pods if pod.usage is not None] or not pods:
        return None
    metrics = {pod.name: pod.usage for pod in pods if pod.usage is not None}
    ready_count, unready, missing, ignored = 0, set[str](), set[str](), set[str]()
    for pod in pods:
        if pod.deleted or pod.phase == "Failed":
            ignored.add(pod.name)
            continue
        if pod.phase == "Pending":
            unready.add(pod.name)
            continue
        if pod.name not in metrics:
            missing.add(pod.name)
            continue
        if pod.ready is None or pod.started is None:
            is_unready = True
        elif pod.started + period > now:
            is_unready = pod.ready == "False" or pod.measured < pod.changed + pod.window
        else:
            is_unready = pod.ready == "False" and pod.started + delay > pod.changed
        if is_unready:
            unready.add(pod.name)
            continue
        ready_count += 1
    for name in ignored | unready:
        metrics.pop(name, None)
    requests = {pod.name: pod.request for pod in pods}
    if not metrics or sum(requests[name] for name in metrics) == 0:
        return None
    ratio = _ratio(metrics, requests, percent)
    scale_up_with_unready = bool(unready) and ratio > 1.0
    if not scale_up_with_unready and not missing:
        if 1.0 - down <= ratio <= 1.0 + up:
            return current
        return ceil(ratio * ready_count)
    if missing:
        if ratio < 1.0:
            for name in missing:
                metrics[name] = requests[name] * max(100, percent) // 100
        elif ratio > 1.0:
            for name in missing:
                metrics[name] = 0
    if scale_up_with_unready:
        for name in unready:
            metrics[name] = 0
    new = _ratio(metrics, requests, percent)
    if 1.0 - down <= new <= 1.0 + up or (ratio < 1.0 and new > 1.0) or (ratio > 1.0 and new < 1.0):
        return current
    replicas = ceil(new * len(metrics))
    if (new < 1.0 and replicas > current) or (new > 1.0 and replicas < current):
        return current
    return replicas


def _ratio(metrics: dict[str, int], requests: dict[str, int], percent: int) -> float:
    used, asked = sum(metrics.values()), sum(requests[name] for name in metrics)
    return float(used * 100 // asked) / float(percent)


@dataclass
class Rules:
    """The rules of one direction: policies are (type, value, seconds)."""

    window: int
    policies: list[tuple[str, int, int]]
    select: str = "Max"


@dataclass
class NaiveBounds:
    """The bounds of one autoscaler with behavior, and what it remembers: (time, replicas) and (time, change)."""

    least: int
    most: int
    up: Rules
    down: Rules
    recommended: list[tuple[int, int]] = field(default_factory=list)
    ups: list[tuple[int, int]] = field(default_factory=list)
    downs: list[tuple[int, int]] = field(default_factory=list)

    def next(self, current: int, desired: int, now: int) -> int:
        """Return the replicas after a look at a time, at which metrics ask for some."""
        if not self.recommended:
            self.recommended.append((now, current))
        if current > self.most or current < self.least:
            return self._scaled(current, self.most if current > self.most else self.least, now)
        stable = self._stabilized(current, desired, now)
        return self._scaled(current, self._limited(current, stable, now), now)

    def _stabilized(self, current: int, desired: int, now: int) -> int:
        lowest = highest = desired
        for time, replicas in self.recommended:
            if time > now - self.up.window:
                lowest = min(lowest, replicas)
            if time > now - self.down.window:
                highest = max(highest, replicas)
        self.recommended.append((now, desired))
        return min(max(current, lowest), highest)

    def _limited(self, current: int, desired: int, now: int) -> int:
        if desired > current:
            if self.up.select == "Disabled":
                return min(current, self.most)
            limits = []
            for kind, value, seconds in self.up.policies:
                base = self._base(current, now - seconds)
                limits.append(base + value if kind == "Pods" else ceil(base * (1 + value / 100)))
            limit = max(current, min(limits) if self.up.select == "Min" else max(limits))
            return min(desired, limit, self.most)
        if desired < current:
            if self.down.select == "Disabled":
                return max(desired, current)
            limits = []
            for kind, value, seconds in self.down.policies:
                base = self._base(current, now - seconds)
                limits.append(base - value if kind == "Pods" else int(base * (1 - value / 100)))
            limit = min(current, max(limits) if self.down.select == "Min" else min(limits))
            return max(desired, limit, self.least)
        return desired

    def _base(self, current: int, since: int) -> int:
        added = sum(change for time, change in self.ups if time > since)
        removed = sum(change for time, change in self.downs if time > since)
        return current - added + removed

    def _scaled(self, current: int, replicas: int, now: int) -> int:
        if replicas > current:
            self.ups.append((now, replicas - current))
        elif replicas < current:
            self.downs.append((now, current - replicas))
        return replicas
