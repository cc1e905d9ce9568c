"""What an autoscaler recommended and changed lately, and how that holds back what it does now.

Kubernetes: stabilizeRecommendation, stabilizeRecommendationWithBehaviors, storeScaleEvent and the scale limits of
pkg/controller/podautoscaler/horizontal.go. Differs: a history is a value; each function returns the next one.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from moorage.model.go.floats import ceil, float_to_int32
from moorage.model.go.integers import INT32_MAX, INT32_MIN, wrap32
from moorage.model.types.autoscaler import HPAScalingRules

_MAX_FACTOR, _MAX_AT_FIRST = 2.0, 4.0
Kept = TypeVar("Kept")
_DISABLED, _MIN = "Disabled", "Min"
_PODS, _PERCENT = "Pods", "Percent"


class Recommendation(NamedTuple):
    """The replicas that metrics asked for at some time, before stabilization."""

    replicas: int
    time: float


class ScaleEvent(NamedTuple):
    """A change of the replicas, without its sign. An outdated one is overwritten by a later one."""

    change: int
    time: float
    is_outdated: bool = False


class History(NamedTuple):
    """Recommendations before stabilization, and changes that were made, in the order in which they are kept."""

    recommendations: tuple[Recommendation, ...] = ()
    ups: tuple[ScaleEvent, ...] = ()
    downs: tuple[ScaleEvent, ...] = ()

    def begun(self, replicas: int, now: float) -> "History":
        """Return the history with the current replicas as its first recommendation, if it has none."""
        return self if self.recommendations else self._replace(recommendations=(Recommendation(replicas, now),))

    def _recommended(self, replicas: int, now: float, outdated: int | None) -> "History":
        return self._replace(recommendations=_put(self.recommendations, Recommendation(replicas, now), outdated))

    # -- stabilization ------------------------------------------------------------------------------------------------

    def stabilized(self, replicas: int, window: float, now: float) -> tuple[int, "History"]:
        """Return the highest recommendation within the window, or this one, and the history with this one."""
        highest, outdated = replicas, None
        for index, one in enumerate(self.recommendations):
            if one.time < now - window:
                outdated = index
            else:
                highest = max(highest, one.replicas)
        return highest, self._recommended(replicas, now, outdated)

    def stabilized_by(
        self, current: int, replicas: int, up_window: float, down_window: float, now: float
    ) -> tuple[int, "History"]:
        """Return the current replicas, moved as little as recent recommendations allow, and the history with this."""
        lowest = highest = replicas
        outdated = None
        for index, one in enumerate(self.recommendations):
            if one.time > now - up_window:
                lowest = min(lowest, one.replicas)
            if one.time > now - down_window:
                highest = max(highest, one.replicas)
            if one.time < now - up_window and one.time < now - down_window:
                outdated = index
        return min(max(current, lowest), highest), self._recommended(replicas, now, outdated)

    # -- rate limits --------------------------------------------------------------------------------------------------

    def rescaled(self, before: int, after: int, up: HPAScalingRules, down: HPAScalingRules, now: float) -> "History":
        """Return the history with a change that was made."""
        if after > before:
            return self._replace(ups=_with_event(self.ups, wrap32(after - before), up, now))
        return self._replace(downs=_with_event(self.downs, wrap32(before - after), down, now))

    def highest(self, current: int, rules: HPAScalingRules, now: float) -> int:
        """Return how many replicas there may be after scaling up."""
        if rules.selectPolicy == _DISABLED:
            return current
        is_min = rules.selectPolicy == _MIN
        result, proposed = (INT32_MAX if is_min else INT32_MIN), 0
        for policy in rules.policies:
            base = self._base(current, policy.periodSeconds, now)
            if policy.type == _PODS:
                proposed = wrap32(base + policy.value)
            elif policy.type == _PERCENT:
                proposed = float_to_int32(ceil(float(base) * (1 + float(policy.value) / 100)))
            result = min(result, proposed) if is_min else max(result, proposed)
        return result

    def lowest(self, current: int, rules: HPAScalingRules, now: float) -> int:
        """Return how many replicas there must be after scaling down."""
        if rules.selectPolicy == _DISABLED:
            return current
        is_min = rules.selectPolicy == _MIN
        result, proposed = (INT32_MIN if is_min else INT32_MAX), 0
        for policy in rules.policies:
            base = self._base(current, policy.periodSeconds, now)
            if policy.type == _PODS:
                proposed = wrap32(base - policy.value)
            elif policy.type == _PERCENT:
                proposed = float_to_int32(float(base) * (1 - float(policy.value) / 100))
            result = max(result, proposed) if is_min else min(result, proposed)
        return result

    def _base(self, current: int, period: int, now: float) -> int:
        """Return the replicas at the beginning of a period that ends now."""
        return wrap32(current - _changed(self.ups, period, now) + _changed(self.downs, period, now))


def highest_without_behavior(current: int) -> int:
    return float_to_int32(max(_MAX_FACTOR * float(current), _MAX_AT_FIRST))


def _changed(events: Sequence[ScaleEvent], period: int, now: float) -> int:
    total = 0
    for one in events:
        if one.time > now - period:
            total = wrap32(total + one.change)
    return total


def _with_event(
    events: tuple[ScaleEvent, ...], change: int, rules: HPAScalingRules, now: float
) -> tuple[ScaleEvent, ...]:
    longest = max((policy.periodSeconds for policy in rules.policies), default=0)
    marked = tuple(one._replace(is_outdated=one.is_outdated or one.time < now - max(longest, 0)) for one in events)
    outdated = max((index for index, one in enumerate(marked) if one.is_outdated), default=None)
    return _put(marked, ScaleEvent(change, now), outdated)


def _put(kept: tuple[Kept, ...], new: Kept, index: int | None) -> tuple[Kept, ...]:
    """Return a list with a new element in the place of an old one, or at the end."""
    return (*kept, new) if index is None else (*kept[:index], new, *kept[index + 1 :])
