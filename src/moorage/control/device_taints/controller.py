"""Evict pods that use devices with a NoExecute taint, at once or after tolerationSeconds; tell the progress of rules.

Keys: pods, and DeviceTaintRules (gate DRADeviceTaintRules), whose names have no slash. Taints come from ResourceSlices
and rules. Kubernetes: pkg/controller/devicetainteviction. Differs: a pod that is being deleted is left alone and not
counted; tolerations may compare (KEP-5471, KEP-5721) and be expressions (KEP-5500).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from moorage.client.protocol import Object
from moorage.control.device_taints.tainted_claims import TaintedClaims
from moorage.control.framework.actions import NORMAL, NOTHING, Action, Delete, Plan, Raw, Report, patch_status
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.toleration_reader import TolerationReader
from moorage.control.framework.world import World
from moorage.match.devices.claims import claim_keys
from moorage.match.devices.eviction import DeviceEviction, pod_eviction
from moorage.match.devices.tolerations import DeviceTolerations, as_taint, compile_device_tolerations
from moorage.model.gates import DRA_DEVICE_TAINT_RULES, DRA_DEVICE_TAINTS
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.devices import DeviceTaintRule, DeviceToleration, ResourceClaim
from moorage.model.types.meta import Condition
from moorage.model.types.pod import Pod
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
    return next((condition for condition in rule.status.conditions if condition.type == EVICTION_IN_PROGRESS), None)


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


_REASON = "DeviceTaintManagerEviction"
_DELETING = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}
#: 5 ms to 4 min.
_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0)
_REMEMBERED = 4096
_MAX_EVICTED = 500


class DeviceTaintEvictionController(Controller):
    """Reconciles pods that use tainted devices, and DeviceTaintRules."""

    name = "device-taint-eviction-controller"
    workers = 64
    watches: tuple[Kind, ...] = (KINDS.POD, KINDS.RESOURCE_CLAIM, KINDS.RESOURCE_SLICE)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        gates, metrics = context.gates, context.metrics
        if not gates.enabled(DRA_DEVICE_TAINTS):
            self.watches = ()
        elif gates.enabled(DRA_DEVICE_TAINT_RULES):
            self.watches = (KINDS.POD, KINDS.RESOURCE_CLAIM, KINDS.RESOURCE_SLICE, KINDS.DEVICE_TAINT_RULE)
        prefix = "device_taint_eviction_controller"
        self._reader = reader = TolerationReader(context, self.name, prefix, "device-taint-eviction")

        @lru_cache(_REMEMBERED)
        def compiled(tolerations: tuple[DeviceToleration, ...]) -> DeviceTolerations:
            return compile_device_tolerations(tolerations, gates, reader.programs, reader.evaluation_failed)

        self._claims = TaintedClaims(compiled)
        self._planned: dict[str, tuple[Object, DeviceEviction]] = {}
        self._evicted: dict[str, None] = {}  # UIDs
        self._evicted_by: dict[str, int] = {}  # pods by UID of the rule
        self._status_at: dict[str, float] = {}  # rules whose status is to be written, and when
        self._deletions = metrics.counter(
            f"{prefix}_pod_deletions_total",
            "Total number of Pods deleted by DeviceTaintEvictionController since its start.",
        ).labels()
        self._latency = metrics.histogram(
            f"{prefix}_pod_deletion_duration_seconds",
            "Latency, in seconds, between the time when a device taint effect has been activated and a Pod's deletion "
            "via DeviceTaintEvictionController.",
            (),
            _BUCKETS,
        ).labels()

    # -- changes ------------------------------------------------------------------------------------------------------

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            return self._pod_changed(old, new)
        before, after = (None if one is None else one.view for one in (old, new))
        if kind is KINDS.RESOURCE_CLAIM:
            is_concerned = self._claims.claim_changed(before, after)
            return dict.fromkeys(_consumers((before, after), world)) if is_concerned else ()
        if kind is KINDS.RESOURCE_SLICE:
            return dict.fromkeys(_consumers(self._claims.slice_changed(before, after), world))
        return self._rule_changed(before, after, world)

    def _pod_changed(self, old: Object | None, new: Object | None) -> Iterable[str]:
        found = new if new is not None else old
        if found is None or not found.view.spec.resourceClaims:
            return ()
        if new is None or found.key in self._planned:
            return (found.key,) if found.key in self._planned else ()
        evictions = self._claims.evictions
        if not evictions or (old is not None and _is_alike(old.view, new.view)):
            return ()
        is_concerned = any(f"{namespace}/{name}" in evictions for namespace, name in claim_keys(new.view))
        return (new.key,) if is_concerned else ()

    def _rule_changed(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None, world: World) -> Iterable[str]:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._evicted_by.pop(old.metadata.uid, None)
            self._status_at.pop(old.metadata.name, None)
        elif old is not None and new is not None and old.spec == new.spec:
            return ()
        keys: list[str] = []
        if new is not None:  # its status is written before any pod is evicted
            self._status_at[new.metadata.name] = 0.0
            keys.append(new.metadata.name)
        keys += _consumers(self._claims.rule_changed(old, new), world)
        return dict.fromkeys(keys)

    # -- pods ---------------------------------------------------------------------------------------------------------

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return self._reconcile_pod(key, world, now) if "/" in key else self._reconcile_rule(key, world, now)

    def _reconcile_pod(self, key: str, world: World, now: float) -> Plan:
        pod = world.get(KINDS.POD, key)
        planned = self._planned.get(key)
        if planned is not None and (pod is None or pod.uid != planned[0].uid):
            planned = None
            del self._planned[key]
        if pod is None or pod.view.metadata.deletionTimestamp is not None or pod.uid in self._evicted:
            self._planned.pop(key, None)
            return NOTHING
        eviction = self._eviction(pod.view)
        if eviction is None:
            self._planned.pop(key, None)
            return NOTHING if planned is None else Plan((_report(pod, "Cancelling deletion"),))
        if planned is None:
            self._tell_unreadable(pod)
        self._planned[key] = pod, eviction
        rules = self._rules_of(eviction, world, now)
        if eviction.when > now:
            return Plan(again_after=eviction.when - now, wakes=rules)
        return Plan(tuple(_evict(pod, now)), wakes=rules)

    def _tell_unreadable(self, found: Object) -> None:
        """Log values of taints that the claims of an evicted pod would compare but cannot read."""
        for namespace, name in claim_keys(found.view):
            claim = self._claims.find(namespace, name)
            for device, taint, tolerations in self._claims.taints_of(claim) if claim is not None else ():
                where = {"device": device}
                self._reader.tell_unreadable(tolerations.tolerations, [as_taint(taint)], where, pod=found.key)

    def _eviction(self, pod: Pod) -> DeviceEviction | None:
        return pod_eviction(pod, self._claims.find, self._claims.eviction_of)

    def _rules_of(self, eviction: DeviceEviction, world: World, now: float) -> tuple[str, ...]:
        """Return the rules that evict a pod: their status is to be written after a while."""
        uids = {taint.rule for taint in eviction.taints if taint.rule}
        if not uids:
            return ()
        names = tuple(rule.name for rule in world.all(KINDS.DEVICE_TAINT_RULE) if rule.uid in uids)
        for name in names:
            self._status_at.setdefault(name, now + STATUS_PERIOD)
        return names

    def done(self, key: str, plan: Plan, now: float) -> None:
        planned = self._planned.get(key)
        if planned is None or not isinstance(plan.actions[-1], Delete):
            return
        found, eviction = self._planned.pop(key)
        self._evicted[found.uid] = None
        if len(self._evicted) > _MAX_EVICTED:
            del self._evicted[next(iter(self._evicted))]
        self._deletions.inc()
        self._latency.observe(max(0.0, now - eviction.when))
        for uid in {taint.rule for taint in eviction.taints if taint.rule}:
            self._evicted_by[uid] = self._evicted_by.get(uid, 0) + 1

    # -- rules --------------------------------------------------------------------------------------------------------

    def _reconcile_rule(self, name: str, world: World, now: float) -> Plan:
        """Write the status of a rule, at most every ten seconds."""
        found, due = world.get(KINDS.DEVICE_TAINT_RULE, name), self._status_at.get(name)
        if found is None or due is None:
            self._status_at.pop(name, None)
            return NOTHING
        wait = max(due - now, wait_for_update(found.view, now))
        if wait > 0:
            return Plan(again_after=wait)
        del self._status_at[name]
        condition = new_condition(found, self._counts(found.view, world), now)
        if condition is None:
            return NOTHING
        return Plan((patch_status(found, {"conditions": [condition]}),))

    def _counts(self, rule: DeviceTaintRule, world: World) -> RuleCounts:
        """Count what a rule does, or with the effect None what it would do if that were NoExecute."""
        effect, evicted = rule.spec.taint.effect, self._evicted_by.get(rule.metadata.uid, 0)
        claims = list(self._claims.pending(rule))
        eviction_of: Callable[[ResourceClaim], DeviceEviction | None] = self._claims.eviction_of
        published = allocated = 0
        if effect == NO_EFFECT:
            taint = replace(rule.spec.taint, effect=NO_EXECUTE)
            rule = replace(rule, spec=replace(rule.spec, taint=taint))
            claims, eviction_of = self._claims.selected(rule), self._claims.evicted_by(rule)
            published, allocated = self._claims.count_published(rule), self._claims.count_allocated(rule)
        elif effect != NO_EXECUTE:
            claims = []
        namespaces: list[str] = []
        for key in dict.fromkeys(_consumers(claims, world)):
            pod: Pod = world.view(KINDS.POD, key)
            if pod.metadata.deletionTimestamp is not None:
                continue
            eviction = pod_eviction(pod, self._claims.find, eviction_of)
            if eviction is not None and any(taint.rule == rule.metadata.uid for taint in eviction.taints):
                namespaces.append(pod.metadata.namespace)
        return RuleCounts(len(namespaces), len(set(namespaces)), published, allocated, evicted)


def _is_alike(old: Pod, new: Pod) -> bool:
    """Return whether a pod is on the same node and has the same claims as before."""
    return (
        old.spec.nodeName == new.spec.nodeName
        and old.status.resourceClaimStatuses == new.status.resourceClaimStatuses
        and old.metadata.uid == new.metadata.uid
    )


def _consumers(claims: Iterable[ResourceClaim | None], world: World) -> Iterator[str]:
    """Yield the keys of the pods for which claims are reserved, if they exist."""
    for claim in claims:
        for consumer in claim.status.reservedFor if claim is not None else ():
            key = f"{claim.metadata.namespace}/{consumer.name}" if claim is not None else ""
            pod = world.get(KINDS.POD, key) if consumer.resource == "pods" and not consumer.apiGroup else None
            if pod is not None and pod.uid == consumer.uid:
                yield key


def _evict(found: Object, now: float) -> Iterator[Action]:
    """Set the DisruptionTarget condition, then delete the pod."""
    pod: Pod = found.view
    marked = next((one for one in pod.status.conditions if one.type == _DELETING["type"]), None)
    if marked is None or any(getattr(marked, field) != value for field, value in _DELETING.items()):
        condition: Raw = {**_DELETING, "lastTransitionTime": time_text(now)}
        yield patch_status(found, {"conditions": [condition]})
    report = _report(found, "Marking for deletion")
    yield Delete(KINDS.POD, found.namespace, found.name, found.uid, report=report)


def _report(found: Object, message: str) -> Report:
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": found.namespace, "name": found.name, "uid": found.uid}
    return Report(about, NORMAL, _REASON, message)
