"""The condition EvictionInProgress of a DeviceTaintRule, in upstream's words.

Kubernetes: maybeUpdateRuleStatus of pkg/controller/devicetainteviction.
"""

from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.model.go.times import seconds_of, time_text
from moorage.model.types.devices import DeviceTaintRule
from moorage.model.types.meta import Condition
from moorage.model.well_known.taints import NO_EXECUTE

EVICTION_IN_PROGRESS = "EvictionInProgress"
#: How long a condition stays as it is at least.
STATUS_PERIOD = 10.0
NO_EFFECT = "None"


class RuleCounts(NamedTuple):
    """What a rule does, or would do: pods to evict and their namespaces, devices it selects, pods it has evicted."""

    pods: int = 0
    namespaces: int = 0
    published: int = 0
    allocated: int = 0
    evicted: int = 0


def existing_condition(rule: DeviceTaintRule) -> Condition | None:
    return next((one for one in rule.status.conditions if one.type == EVICTION_IN_PROGRESS), None)


def wait_for_update(rule: DeviceTaintRule, now: float) -> float:
    """Return for how many seconds the condition must not be changed yet."""
    existing = existing_condition(rule)
    if existing is None or existing.observedGeneration != rule.metadata.generation:
        return 0.0
    since = seconds_of(existing.lastTransitionTime)
    return 0.0 if since is None else max(0.0, STATUS_PERIOD - (now - since))


def new_condition(found: Object, counts: RuleCounts, now: float) -> Raw | None:
    """Return the condition that describes a rule now; None if it has it already."""
    rule: DeviceTaintRule = found.view
    status, reason, message = _described(rule, counts)
    if counts.evicted:
        message += (
            f"{' ' if message else ''}{_count(counts.evicted, 'pod', 'pods')} evicted since starting the controller."
        )
    condition: Raw = {
        "type": EVICTION_IN_PROGRESS,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": rule.metadata.generation,
    }
    existing = existing_condition(rule)
    if existing is not None and all(getattr(existing, field) == value for field, value in condition.items()):
        return None
    return {**condition, "lastTransitionTime": time_text(now)}


def _described(rule: DeviceTaintRule, counts: RuleCounts) -> tuple[str, str, str]:
    effect = rule.spec.taint.effect
    if effect == NO_EXECUTE:
        if counts.pods:
            needs = _count(counts.pods, "pod needs", "pods need")
            where = _count(counts.namespaces, "namespace", "different namespaces")
            return "True", "PodsPendingEviction", f"{needs} to be evicted in {where}."
        return "False", "Completed" if counts.evicted else "NotStarted", ""
    if effect != NO_EFFECT:
        return "False", "OtherEffect", "Eviction only happens for the NoExecute effect."
    published = _count(counts.published, "published device", "published devices")
    allocated = _count(counts.allocated, "allocated device", "allocated devices")
    pods = _count(counts.pods, "pod", "pods")
    where = _count(counts.namespaces, "namespace", "different namespaces")
    return (
        "False",
        "NoEffect",
        f"{published} selected. {allocated} selected. {pods} would be evicted in {where} if the effect was NoExecute. "
        "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.",
    )


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
