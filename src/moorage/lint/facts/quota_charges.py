"""Charge the quotas of the input with its objects and with the pods of its workloads, in the order of creation.

What exists already is used of a quota, unless the quota has a status, which says what is used. A DaemonSet has a pod
on each node of the input that it runs on; without nodes nothing is known about their number, so that only one pod is
tried. Kubernetes: the quota plugin of the API server, the quota controller, NodeShouldRunDaemonPod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.lint.facts.creation_order import makes_pods_in_order, pods_rank
from moorage.match.daemon_pods import DaemonTemplate
from moorage.match.evaluation.accounts import EVALUATION_BUDGET, Evaluations
from moorage.match.quota.usage import COUNTED_KINDS, count_used, usage_of
from moorage.match.tolerations import ProgramCache
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.quantity import Quantity, ResourceAmounts
from moorage.model.types.node import Node
from moorage.model.types.policy import ResourceQuotaStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.admit.chain import Admission
    from moorage.admit.objects_world import ObjectsWorld
    from moorage.model.gates import GateSet
    from moorage.model.kinds import Kind
    from moorage.model.types.pod import PodSpec
    from moorage.model.types.policy import ResourceQuota

#: The most pods that are charged, all together.
_MAX_CHARGED = 20_000
#: The most objects that exist of which is remembered what they use.
_MAX_EXISTING = 2_000
_COUNTED = frozenset(COUNTED_KINDS)
_ZERO = Quantity.from_int(0)


class OverQuota(msgspec.Struct, frozen=True):
    """A refusal: what it is for, how many of how many pods fit before (None: an object, or an unknown number)."""

    held: Any
    refusal: ApiError
    fit: int = 0
    number: int | None = None


class _PodCharge(msgspec.Struct):
    """Pods of a workload that are still to be charged: as many as `number`, or one that is only tried if None."""

    held: Any
    kind: Kind
    view: Any
    number: int | None
    charged: int = 0
    is_over: bool = False

    @property
    def left(self) -> int:
        return 0 if self.is_over else max(0, (self.number or 0) - self.charged)


class QuotaCharges:
    """What quotas are charged with. Workloads wait, since controllers make their pods when all objects are there."""

    def __init__(self, world: ObjectsWorld, chain: Admission, gates: GateSet) -> None:
        self._world = world
        self._chain = chain
        self._gates = gates
        self._nodes: dict[str, Node] = {}
        self._without_status: dict[str, ResourceQuota] = {}
        self._existing: dict[tuple[str, Kind], list[Any]] = {}
        self._existing_number = 0
        self._waiting: list[_PodCharge] = []
        self._charged = 0
        self._programs = ProgramCache(evaluations=Evaluations(EVALUATION_BUDGET))

    def add_node(self, node: Node) -> None:
        self._nodes[node.metadata.name] = node

    def add_quota(self, key: str, quota: ResourceQuota) -> None:
        """Take a quota in: one without a status begins with what exists."""
        if not quota.status.hard:
            self._without_status[key] = quota
            quota = _with_used(quota, {})
        self._world.put(KINDS.RESOURCE_QUOTA, key, quota)

    def add_existing(self, kind: Kind, view: Any) -> None:
        """Remember an object that exists, if quotas count it and there is room."""
        if self._existing_number < _MAX_EXISTING and kind.namespaced and kind in _COUNTED:
            self._existing_number += 1
            self._existing.setdefault((view.metadata.namespace or "default", kind), []).append(view)

    def count_existing(self) -> None:
        """Count what exists, unless quotas have been charged already, for want of room to hold all objects."""
        existing, self._existing = self._existing, {}
        for key, quota in self._without_status.items() if existing and not self._charged else ():
            namespace = key.partition("/")[0]

            def views(kind: Kind, namespace: str = namespace) -> list[Any]:
                return existing.get((namespace, kind), [])

            self._world.put(KINDS.RESOURCE_QUOTA, key, _with_used(quota, count_used(quota, views, 0.0)))

    def charge_object(self, held: Any, kind: Kind, view: Any) -> OverQuota | None:
        """Charge an object of the input; return the refusal if there is no room for it."""
        return self._charge(held, kind, view, commits=True)

    def add_pods(self, held: Any, kind: Kind, view: Any) -> None:
        """Let the pods of a workload wait for their turn."""
        if self._world.quota_balances(held.namespace):
            number = self._number_of_pods(held)
            if number != 0:
                self._waiting.append(_PodCharge(held, kind, view, number))

    def charge_pods(self) -> Iterator[OverQuota]:
        """Charge the pods that wait, and yield the refusals: of each workload the first, which ends its turn."""
        waiting, self._waiting = self._waiting, []
        waiting.sort(key=lambda charge: pods_rank(charge.held.kind.name))
        in_order: list[_PodCharge] = []
        for charge in waiting:
            if makes_pods_in_order(charge.held.kind.name, charge.held.view.spec):
                yield from self._charge_some(charge, 1)
                in_order.append(charge)
            else:
                yield from self._charge_some(charge, charge.left)
        while in_order := [charge for charge in in_order if charge.left]:
            for charge in in_order:
                yield from self._charge_some(charge, 1)

    def _charge_some(self, charge: _PodCharge, number: int) -> Iterator[OverQuota]:
        """Charge a number of pods, at least one; beyond the limit of all pods they count as charged."""
        for _ in range(max(1, number)):
            if self._charged >= _MAX_CHARGED:
                charge.is_over = True
                return
            over = self._charge(charge.held, charge.kind, charge.view, commits=charge.number is not None)
            if over is not None:
                charge.is_over = True
                yield msgspec.structs.replace(over, fit=charge.charged, number=charge.number)
                return
            charge.charged += 1

    def _charge(self, held: Any, kind: Kind, view: Any, *, commits: bool) -> OverQuota | None:
        if not self._world.quota_balances(held.namespace):
            return None
        try:
            charges = self._chain.charges(kind, held.namespace, held.view.metadata.name, view, now=0.0)
        except ApiError as refusal:
            return OverQuota(held, refusal)
        if commits:
            self._charged += 1
            for charge in charges:
                self._world.charge(held.namespace, charge)
        return None

    def _number_of_pods(self, held: Any) -> int | None:
        """Return how many pods a workload has at a time; None if that is not known."""
        spec, kind = held.view.spec, held.kind.name
        if kind == "CronJob":
            return None
        if kind == "DaemonSet":
            return self._daemon_pods(held.pods.spec) if self._nodes else None
        if kind == "Job":
            parallelism = 1 if spec.parallelism is None else spec.parallelism
            return 0 if spec.suspend else int(min(parallelism, spec.completions or parallelism))
        return 1 if spec.replicas is None else int(spec.replicas)

    def _daemon_pods(self, spec: PodSpec) -> int:
        template = DaemonTemplate(spec, self._gates, self._programs)
        return sum(template.fits(node).should_run for node in self._nodes.values())


def _with_used(quota: ResourceQuota, used: ResourceAmounts) -> ResourceQuota:
    """Return a quota with the status that the quota controller gives it; what is not used is zero."""
    counted = {
        name: _ZERO
        for kind in COUNTED_KINDS
        if (counting := usage_of(kind)) is not None
        for name in counting.names(quota.spec.hard)
    }
    counted |= {name: _ZERO for name in quota.spec.hard if name.startswith("count/")}  # custom kinds, too
    status = ResourceQuotaStatus(hard=quota.spec.hard, used={**counted, **used})
    return msgspec.structs.replace(quota, status=status)
