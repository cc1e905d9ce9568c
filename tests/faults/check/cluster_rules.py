"""Check rules of the whole cluster, change by change, on the store's own history.

A pod is bound once; a Deployment never has more pods than surge allows; an eviction never takes more pods than a
PodDisruptionBudget allows; and a Lease changes hands only when its holder gave it up or let it run out.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec
from tests.faults.check.history import Violation

_PODS = "/registry/pods/"
#: Leases that candidates compete for; those of API servers are their own.
_LEASES = frozenset(f"/registry/leases/kube-system/{name}" for name in ("kube-scheduler", "kube-controller-manager"))
#: Seconds by which clocks of the processes may seem to differ, being read at different moments.
_TOLERANCE = 0.5


class Workload(NamedTuple):
    """What is allowed of pods with one label `app`: how many live ones, and how many healthy after an eviction."""

    most: int | None = None
    least_healthy: int = 0


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    deletionTimestamp: str | None = None


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    reason: str = ""


class _PodSpec(msgspec.Struct):
    nodeName: str = ""


class _PodStatus(msgspec.Struct):
    phase: str = ""
    conditions: list[_Condition] = []


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)

    @property
    def is_live(self) -> bool:
        return self.metadata.deletionTimestamp is None and self.status.phase not in ("Succeeded", "Failed")

    @property
    def is_healthy(self) -> bool:
        ready = any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)
        return self.metadata.deletionTimestamp is None and ready

    @property
    def is_evicted(self) -> bool:
        found = any(one.type == "DisruptionTarget" and one.status == "True" for one in self.status.conditions)
        return self.metadata.deletionTimestamp is not None and found


class _LeaseSpec(msgspec.Struct):
    holderIdentity: str | None = ""
    leaseDurationSeconds: int | None = 0
    renewTime: str | None = ""
    leaseTransitions: int | None = 0


class _Lease(msgspec.Struct):
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


_POD = msgspec.json.Decoder(_Pod)
_LEASE = msgspec.json.Decoder(_Lease)


class Held(NamedTuple):
    """A Lease as it was written, and when the recorder saw it."""

    holder: str
    seconds: int
    renewed: str
    seen: float


class ClusterRules:
    """Is told of every change, in order; keeps what there is, and `violations`."""

    def __init__(self, workloads: dict[str, Workload]) -> None:
        self._workloads = workloads
        self._pods: dict[str, _Pod] = {}
        self._nodes: dict[str, str] = {}
        self._leases: dict[str, Held] = {}
        self.violations: list[Violation] = []
        self.handovers: dict[str, int] = defaultdict(int)
        #: Nodes of all pods that ever were, by UID.
        self.bound: dict[str, str] = {}
        self.most: dict[str, int] = defaultdict(int)
        self.evictions = 0

    def hear(self, revision: int, key: str, value: bytes | None, seen: float) -> None:
        if key.startswith(_PODS):
            self._hear_pod(revision, key, value)
        elif key in _LEASES and value is not None:
            self._hear_lease(revision, key, _LEASE.decode(value), seen)

    def check_bindings(self, acknowledged: Mapping[str, str]) -> list[Violation]:
        """Check bindings that clients were told of, by UID of the pod."""
        return [
            Violation("acknowledged binding lost", f"pod {uid} on {node}; the store has {self.bound.get(uid)}")
            for uid, node in acknowledged.items()
            if self.bound.get(uid) != node
        ]

    def _blame(self, rule: str, text: str) -> None:
        self.violations.append(Violation(rule, text))

    def _hear_pod(self, revision: int, key: str, value: bytes | None) -> None:
        before = self._pods.pop(key, None)
        if value is None:
            if before is not None:
                self._nodes.pop(before.metadata.uid, None)
            return
        pod = self._pods[key] = _POD.decode(value)
        uid, node = pod.metadata.uid, pod.spec.nodeName
        known = self._nodes.get(uid)
        if known is not None and node != known:
            self._blame("pod bound twice", f"{key}@{revision} uid {uid}: {known} → {node or 'none'}")
        if node:
            self._nodes[uid] = self.bound[uid] = node
        app = pod.metadata.labels.get("app", "")
        if (workload := self._workloads.get(app)) is not None:
            self._check_workload(f"{key}@{revision}", app, workload, pod, before)

    def _check_workload(self, where: str, app: str, workload: Workload, pod: _Pod, before: _Pod | None) -> None:
        pods = [one for one in self._pods.values() if one.metadata.labels.get("app") == app]
        is_new = before is None or before.metadata.uid != pod.metadata.uid
        live = sum(one.is_live for one in pods)
        self.most[app] = max(self.most[app], live)
        if workload.most is not None and is_new and live > workload.most:
            self._blame("more pods than surge allows", f"{where}: {app} has {live} pods, at most {workload.most}")
        if before is not None and before.is_healthy and pod.is_evicted:
            self.evictions += 1
            healthy = sum(one.is_healthy for one in pods)
            if healthy < workload.least_healthy:
                text = f"{where}: {healthy} healthy pods of {app} after an eviction, at least {workload.least_healthy}"
                self._blame("budget broken", text)

    def _hear_lease(self, revision: int, key: str, lease: _Lease, seen: float) -> None:
        spec = lease.spec
        now = Held(spec.holderIdentity or "", spec.leaseDurationSeconds or 0, spec.renewTime or "", seen)
        before = self._leases.get(key)
        self._leases[key] = now
        if before is None or not before.holder or before.holder == now.holder or not now.holder:
            return
        self.handovers[key] += 1
        by_text = _seconds(now.renewed) - _seconds(before.renewed)
        by_sight = now.seen - before.seen
        # Clocks may have been stepped, and the recorder may have been late: only both together are a proof.
        if max(by_text, by_sight) < before.seconds - _TOLERANCE:
            gap = f"{by_text:.2f} s by its times, {by_sight:.2f} s as seen, of {before.seconds} s"
            self._blame("lease taken too early", f"{key}@{revision}: {before.holder} → {now.holder} after {gap}")


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() if text else 0.0
