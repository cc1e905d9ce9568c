"""Find workloads whose pods end the same way again and again: refused by kubelets, or evicted, and made again.

A pod that was created after one of its workload had ended that way, and ends that way too, is one more turn; after
`TURNS` turns the loop is named, once until the workload has been quiet for ten minutes. Pods that end together, such as
when a node is tainted, are no loop. Kubernetes: says nothing; KEP-5471, KEP-5721 and KEP-5500 warn of such hot loops.
"""

from collections import OrderedDict

import msgspec

from moorage.model.go.times import seconds_of
from moorage.model.types.meta import ObjectMeta
from moorage.model.well_known.labels import POD_TEMPLATE_HASH

TURNS = 3
QUIET = 600.0
_MAX_WORKLOADS = 4096


def workload_name(metadata: ObjectMeta) -> str:
    """Return `Deployment default/web` for a pod of its ReplicaSet, whose name ends with the template's hash."""
    owner = next((owner for owner in metadata.ownerReferences if owner.controller), None)
    if owner is None:
        return ""
    kind, name = owner.kind, owner.name
    suffix = f"-{metadata.labels.get(POD_TEMPLATE_HASH, '')}"
    if kind == "ReplicaSet" and len(suffix) > 1 and name.endswith(suffix):
        kind, name = "Deployment", name.removesuffix(suffix)
    return f"{kind} {metadata.namespace}/{name}"


class PodLoop(msgspec.Struct):
    """The turns of one workload so far. `is_news`: it has just become a loop."""

    workload: str
    began: float
    last: float
    pods: int = 1
    turns: int = 0

    @property
    def is_news(self) -> bool:
        return self.turns == TURNS

    def predicate(self, ended: str, why: str) -> str:
        """Write what the workload does; `ended` is what happened to its pods, such as `refused by their kubelet`."""
        seconds = max(round(self.last - self.began), 1)
        return f"makes pods again and again that are {ended}, {self.pods} within {seconds:,} s: {why}"

    def text(self, ended: str, why: str) -> str:
        return f"{self.workload} {self.predicate(ended, why)}"


class PodLoops:
    """The workloads of which pods ended lately, in one way."""

    def __init__(self) -> None:
        self._by_workload: OrderedDict[str, PodLoop] = OrderedDict()

    def ended(self, metadata: ObjectMeta, now: float) -> PodLoop | None:
        """Count a pod that ended this way; return its workload's loop if this is one more turn of it."""
        workload = workload_name(metadata)
        if not workload:
            return None
        loop = self._by_workload.get(workload)
        if loop is None or now - loop.last > QUIET:
            self._by_workload[workload] = PodLoop(workload, now, now)
            self._by_workload.move_to_end(workload)
            if len(self._by_workload) > _MAX_WORKLOADS:
                self._by_workload.popitem(last=False)
            return None
        self._by_workload.move_to_end(workload)
        loop.last = now
        loop.pods += 1
        created = seconds_of(metadata.creationTimestamp)  # in whole seconds: later than `began` is certainly after it
        if created is None or created <= loop.began:
            return None
        loop.turns += 1
        return loop
