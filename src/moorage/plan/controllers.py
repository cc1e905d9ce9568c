"""Workloads → pods, as their controllers would make them: how many are missing, which are too many.

In: a workload, the pods it has, the nodes. Out: a `Wish`: pods to create and pods to delete. Asked again after pods
were evicted, so that a what-if plays on as a cluster would. Kubernetes: the Deployment, ReplicaSet, StatefulSet,
DaemonSet and Job controllers. Differs: a Deployment's rolling update is played by `rollout`; here its pods are simply
those of one template. CronJobs make nothing: nobody knows at what time the plan is carried out.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.match.daemon_pods import DaemonTemplate, daemon_tolerations, pinned_affinity, pinned_to
from moorage.model.gates import GateSet
from moorage.model.types.node import Node
from moorage.plan.claim_templates import add_claim_volumes
from moorage.plan.input.inventory import Inventory, Item, Key
from moorage.plan.input.notes import Level
from moorage.plan.naming import generated_name, template_hash
from moorage.plan.owners import POD_TEMPLATE_HASH, Owners
from moorage.plan.planned_pod import PlannedPod
from moorage.plan.pod_maker import FailedCreate, PodMaker, pod_from_template, with_affinity

_REVISION = "controller-revision-hash"
_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


#: More pods than Kubernetes supports in a whole cluster: whoever asks for them has made a mistake.
MAX_PODS = 150_000


class Wish(msgspec.Struct):
    """What a controller wants done."""

    create: list[PlannedPod] = msgspec.field(default_factory=list)
    delete: list[PlannedPod] = msgspec.field(default_factory=list)
    failed: list[FailedCreate] = msgspec.field(default_factory=list)

    def add(self, made: PlannedPod | FailedCreate) -> bool:
        """Whether a pod came of it."""
        if isinstance(made, FailedCreate):
            self.failed.append(made)
            return False
        self.create.append(made)
        return True


class Controllers:
    """All controllers. `wish` is the one question they answer."""

    def __init__(
        self, inventory: Inventory, owners: Owners, maker: PodMaker, gates: GateSet, programs: Any = None
    ) -> None:
        self._inventory = inventory
        self.maker = maker
        self._gates = gates
        self._programs = programs
        self._owners = owners
        self._made: dict[Any, int] = {}
        self._taken: set[Key] = set()
        self._claims: list[Key] = []
        self._revisions: dict[Any, str] = {}
        self._daemons: dict[Any, DaemonTemplate] = {}
        self._by_kind: dict[str, Callable[[Item, Sequence[PlannedPod], Iterable[Node]], Wish]] = {
            "Deployment": self._deployment,
            "ReplicaSet": self._replica_set,
            "StatefulSet": self._stateful_set,
            "DaemonSet": self._daemon_set,
            "Job": self._job,
        }

    def wish(self, item: Item, pods: Sequence[PlannedPod], nodes: Iterable[Node]) -> Wish:
        """What is to be done so that the workload has the pods it asks for, given those it has."""
        if self._owners.above(item) is not None:
            return Wish()
        return self._by_kind[item.key.kind](item, pods, nodes)

    def _bounded(self, item: Item, wanted: int) -> int:
        if wanted > MAX_PODS:
            text = f"asks for {wanted:,} pods; {MAX_PODS:,} are planned"
            self._inventory.note(Level.WARNING, item.key, text, item.place)
        return min(wanted, MAX_PODS)

    # -- Deployments and ReplicaSets ----------------------------------------------------------------------------------

    def revision(self, item: Item, pods: Sequence[PlannedPod]) -> str:
        """The pod-template-hash of a Deployment's pods: what its ReplicaSet or its pods say, else a computed one."""
        known = self._revisions.get((item.key, id(item.raw)))
        if known is None:
            known = self._revisions[item.key, id(item.raw)] = self._find_revision(item, pods)
        return known

    def _find_revision(self, item: Item, pods: Sequence[PlannedPod]) -> str:
        template = item.raw["spec"]["template"]
        for other in self._inventory.of_kind("ReplicaSet"):
            if self._owners.above(other) == item.key and _without_hash(other.raw["spec"]["template"]) == template:
                return str(other.view.metadata.labels.get(POD_TEMPLATE_HASH, ""))
        hashes = [pod.pod.metadata.labels.get(POD_TEMPLATE_HASH) for pod in pods if pod.existing]
        return next((found for found in reversed(hashes) if found), None) or template_hash(template)

    def _deployment(self, item: Item, pods: Sequence[PlannedPod], nodes: Iterable[Node]) -> Wish:
        return self._scale(item, pods, self.revision(item, pods))

    def _replica_set(self, item: Item, pods: Sequence[PlannedPod], nodes: Iterable[Node]) -> Wish:
        return self._scale(item, pods, "")

    def _scale(self, item: Item, pods: Sequence[PlannedPod], revision: str) -> Wish:
        wanted = item.view.spec.replicas
        wanted = self._bounded(item, 1 if wanted is None else wanted)
        wish = Wish(delete=surplus(pods, len(pods) - wanted))
        for _ in range(wanted - len(pods)):
            if not wish.add(self.replica(item, revision)):
                break
        return wish

    def replica(self, item: Item, revision: str, template: Raw | None = None) -> PlannedPod | FailedCreate:
        """One more pod of a Deployment or ReplicaSet."""
        owner_name = f"{item.key.name}-{revision}" if revision else item.key.name
        labels = {POD_TEMPLATE_HASH: revision} if revision else {}
        name = self._new_name(item, f"{owner_name}-")
        alike = (item.key, revision, id(item.raw)) if template is None else (item.key, revision)
        again = self.maker.again(item, name, alike)
        if again is not None:
            return again
        owner = ("apps/v1", "ReplicaSet", owner_name)
        raw = pod_from_template(item, owner, {"generateName": f"{owner_name}-"}, labels, template)
        return self.maker.make(item, raw, name, alike=alike)

    def _new_name(self, item: Item, base: str, about: str = "") -> str:
        """A generated name that no other pod has; `about` is what tells the pod from its siblings, if not a number."""
        while True:
            self._made[item.key, about] = number = self._made.get((item.key, about), 0) + 1
            seed = f"{item.key}/{about}" if about and number == 1 else f"{item.key}/{about}{number}"
            name = generated_name(base, seed)
            key = Key("Pod", item.key.namespace, name)
            if key not in self._taken and key not in self._inventory.items:
                self._taken.add(key)
                return name

    # -- StatefulSets -------------------------------------------------------------------------------------------------

    def _stateful_set(self, item: Item, pods: Sequence[PlannedPod], nodes: Iterable[Node]) -> Wish:
        spec = item.view.spec
        first = spec.ordinals.start if spec.ordinals is not None else 0
        count = self._bounded(item, 1 if spec.replicas is None else spec.replicas)
        names = {f"{item.key.name}-{ordinal}": ordinal for ordinal in range(first, first + count)}
        have = {pod.pod.metadata.name for pod in pods}
        wish = Wish(delete=[pod for pod in pods if pod.pod.metadata.name not in names])
        revision = f"{item.key.name}-{template_hash(item.raw['spec']['template'])}"
        for name, ordinal in names.items():
            if name in have:
                continue
            labels = {
                _REVISION: revision,
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(ordinal),
            }
            raw = pod_from_template(item, ("apps/v1", "StatefulSet", item.key.name), {"name": name}, labels)
            raw["spec"]["hostname"] = name
            if spec.serviceName:
                raw["spec"]["subdomain"] = spec.serviceName
            made = add_claim_volumes(raw, item, self._inventory, self._gates)
            self._claims += [claim.key for claim in made]
            if not wish.add(self.maker.make(item, raw, name)):
                break
        return wish

    def claims_made(self) -> list[Key]:
        """The claims made since the last time somebody asked."""
        made, self._claims = self._claims, []
        return made

    # -- DaemonSets ---------------------------------------------------------------------------------------------------

    def _daemon_set(self, item: Item, pods: Sequence[PlannedPod], nodes: Iterable[Node]) -> Wish:
        template = self._daemons.get((item.key, id(item.raw)))
        if template is None:
            spec = item.view.spec.template.spec
            template = self._daemons[item.key, id(item.raw)] = DaemonTemplate(spec, self._gates, self._programs)
        on_node: dict[str, list[PlannedPod]] = {}
        for pod in pods:
            on_node.setdefault(pod.node or pinned_to(pod.pod.spec), []).append(pod)
        wish = Wish()
        base: PlannedPod | None = None
        for node in nodes:
            name, fit = node.metadata.name, template.fits(node)
            here = on_node.pop(name, [])
            if not fit.should_continue:
                wish.delete += here
            elif fit.should_run and not here and not wish.failed:
                if base is None:
                    made = self._daemon_pod(item, name)
                    base = made if wish.add(made) and isinstance(made, PlannedPod) else None
                else:
                    wish.create.append(self._copy_daemon(item, base, name))
        for left in on_node.values():
            wish.delete += [pod for pod in left if not pod.node]  # for a node that is no longer there
        return wish

    def _daemon_pod(self, item: Item, node: str) -> PlannedPod | FailedCreate:
        template = item.raw["spec"]["template"]
        generation = str(item.view.metadata.generation or 1)
        labels = {_REVISION: template_hash(template), "pod-template-generation": generation}
        name = self._new_name(item, f"{item.key.name}-", node)
        base = {"generateName": f"{item.key.name}-"}
        raw = pod_from_template(item, ("apps/v1", "DaemonSet", item.key.name), base, labels)
        spec = item.view.spec.template.spec
        tolerations = daemon_tolerations(spec.tolerations, host_network=spec.hostNetwork)
        raw["spec"]["tolerations"] = [_written(one) for one in msgspec.to_builtins(tolerations)]
        raw["spec"]["affinity"] = pinned_affinity(raw["spec"].get("affinity"), node)
        return self.maker.make(item, raw, name)

    def _copy_daemon(self, item: Item, base: PlannedPod, node: str) -> PlannedPod:
        affinity = pinned_affinity(msgspec.to_builtins(base.pod.spec.affinity), node)
        name = self._new_name(item, f"{item.key.name}-", node)
        return self.maker.copy(item, with_affinity(base.pod, affinity), name)

    # -- Jobs ---------------------------------------------------------------------------------------------------------

    def _job(self, item: Item, pods: Sequence[PlannedPod], nodes: Iterable[Node]) -> Wish:
        spec, status = item.view.spec, item.view.status
        over = any(c.type in ("Complete", "Failed") and c.status == "True" for c in status.conditions)
        parallelism = 1 if spec.parallelism is None else spec.parallelism
        wanted = 0 if over or spec.suspend else self._bounded(item, parallelism)
        if spec.completions is not None:
            wanted = min(wanted, max(spec.completions - status.succeeded, 0))
        wish = Wish(delete=surplus(pods, len(pods) - wanted))
        indexed = spec.completionMode == "Indexed"
        taken = {pod.pod.metadata.annotations.get(_COMPLETION_INDEX) for pod in pods}
        free = (index for index in range(spec.completions or 0) if str(index) not in taken)
        for _ in range(wanted - len(pods)):
            if not wish.add(self._job_pod(item, next(free, 0) if indexed else None)):
                break
        return wish

    def _job_pod(self, item: Item, index: int | None) -> PlannedPod | FailedCreate:
        owner, base = ("batch/v1", "Job", item.key.name), f"{item.key.name}-"
        if index is None:
            name, alike = self._new_name(item, base), (item.key, id(item.raw))
            again = self.maker.again(item, name, alike)
            if again is not None:
                return again
            raw = pod_from_template(item, owner, {"generateName": base}, {})
            return self.maker.make(item, raw, name, alike=alike)
        name = self._new_name(item, f"{base}{index}-")
        raw = pod_from_template(item, owner, {"generateName": f"{base}{index}-"}, {_COMPLETION_INDEX: str(index)})
        raw["metadata"]["annotations"][_COMPLETION_INDEX] = str(index)
        raw["spec"].setdefault("hostname", f"{base}{index}")
        return self.maker.make(item, raw, name)


def surplus(pods: Sequence[PlannedPod], number: int) -> list[PlannedPod]:
    """Which pods a ReplicaSet gives up first: those without a node, those that share one, the youngest."""
    if number <= 0:
        return []
    beside: dict[str, int] = {}
    for pod in pods:
        beside[pod.node] = beside.get(pod.node, 0) + 1
    ranked = sorted(pods, key=lambda pod: (bool(pod.node), -beside[pod.node], -pod.order, pod.key))
    return ranked[:number]


def is_active(pod: PlannedPod) -> bool:
    """Whether a controller counts the pod: it is not on its way out."""
    return pod.pod.metadata.deletionTimestamp is None


def _written(toleration: dict[str, Any]) -> Raw:
    return {name: value for name, value in toleration.items() if value not in ("", None)}


def _without_hash(template: Raw) -> Raw:
    """A ReplicaSet's template as its Deployment has it."""
    metadata = template.get("metadata") or {}
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != POD_TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}
