"""Decide when a pod has to go because of NoExecute taints, and because of which.

Each taint is matched to the first toleration, in the pod's order, that tolerates it; the smallest `tolerationSeconds`
of those used counts, so a pod may have to go although it tolerates every taint. Kubernetes:
pkg/controller/tainteviction (processPodOnNode, getMinTolerationTime) and GetMatchingTolerations.
Differs: says which taint decided.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from moorage.match.taint_messages import describe_taint
from moorage.match.tolerations import TolerationSet
from moorage.model.go.integers import INT64_MAX, wrap64
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE

_SECOND = 10**9


class When(StrEnum):
    """When a pod has to leave its node."""

    NEVER = "never"
    NOW = "now"
    AFTER = "after"


class Eviction(msgspec.Struct, frozen=True):
    """The decision. The time counts from when the taint was seen; `used` are the tolerations that were matched."""

    when: When
    nanoseconds: int = 0
    because: str = ""
    all_tolerated: bool = True
    used: tuple[Toleration, ...] = ()

    @property
    def seconds(self) -> int:
        return self.nanoseconds // _SECOND


def decide_eviction(taints: Iterable[Taint], tolerations: TolerationSet) -> Eviction:
    """Return what the NoExecute taints among these mean for a pod with these tolerations."""
    used: list[Toleration] = []
    limited: list[tuple[int, Taint]] = []
    for taint in taints:
        if taint.effect != NO_EXECUTE:
            continue
        tolerated = tolerations.first_matching(taint)
        if tolerated is None:
            return Eviction(When.NOW, because=tolerations.explain(taint) or "", all_tolerated=False)
        used.append(tolerated[1])
        if tolerated[1].tolerationSeconds is not None:
            limited.append((tolerated[1].tolerationSeconds, taint))
    if not limited:
        return Eviction(When.NEVER, -1, used=tuple(used))
    seconds, taint = min(limited, key=lambda limit: limit[0])
    if seconds <= 0:
        why = f"taint {describe_taint(taint)} is tolerated for 0 seconds"
        return Eviction(When.NOW, because=why, used=tuple(used))
    nanoseconds = _as_duration(seconds)
    if nanoseconds < 0:
        return Eviction(When.NEVER, nanoseconds, used=tuple(used))
    why = f"taint {describe_taint(taint)} is tolerated for {nanoseconds // _SECOND} seconds only"
    return Eviction(When.AFTER, nanoseconds, why, used=tuple(used))


def _as_duration(seconds: int) -> int:
    """Convert to Go's time.Duration, which wraps around after 292 years; a negative time is forever."""
    return -1 if seconds == INT64_MAX else wrap64(seconds * _SECOND)
