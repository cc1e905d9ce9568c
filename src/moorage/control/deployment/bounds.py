"""How many pods a rolling update may have too many, and too few.

In: a Deployment's strategy and replicas. Out: numbers. Kubernetes: ResolveFenceposts, MaxSurge, MaxUnavailable.
"""

import re
from typing import NamedTuple

from moorage.model.types.workload import Deployment

ROLLING_UPDATE = "RollingUpdate"
_PERCENT = re.compile(r"[0-9]{1,9}%\Z")


class Bounds(NamedTuple):
    """`surge` more and `unavailable` fewer than the replicas."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        """So many pods may there be at a time."""
        return self.replicas + self.surge

    @property
    def fewest(self) -> int:
        """So many of them must be available."""
        return self.replicas - self.unavailable


def bounds_of(deployment: Deployment) -> Bounds:
    replicas = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    if deployment.spec.strategy.type != ROLLING_UPDATE:
        return Bounds(replicas, 0, 0)
    update = deployment.spec.strategy.rollingUpdate
    surge = scaled(update.maxSurge, replicas, up=True) if update is not None else 0
    unavailable = scaled(update.maxUnavailable, replicas, up=False) if update is not None else 0
    if surge == 0 and unavailable == 0:
        # Percentages are rounded, and nothing would ever move.
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


def scaled(value: int | str | None, total: int, *, up: bool) -> int:
    """A number, or a percentage of the total, rounded up or down; what cannot be read is none."""
    if value is None or isinstance(value, int):
        return value or 0
    if not _PERCENT.match(value):
        return 0
    share = int(value[:-1]) * total
    return -(-share // 100) if up else share // 100
