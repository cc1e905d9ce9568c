"""An inventory → a cluster with nodes and pods in it, which controllers keep filled and to which things can happen.

In: an `Inventory` with priorities. Out: `World`: the `Cluster` the scheduler works on, the pods that have a node and
those that wait for one, and the few things that happen in a plan: pods are made, bound, evicted; nodes come, change
and go. Each of them is an event for the scheduler, too.
"""

from collections.abc import Collection, Iterable

import msgspec

from moorage.admit.plugins import Plugin
from moorage.admit.plugins.standard import DefaultTolerationSeconds
from moorage.columns.cluster import Cluster, PodRecord
from moorage.match.label_selector import compile_label_selector, compile_label_set, conjunction
from moorage.model.gates import GateSet
from moorage.model.types.node import Node
from moorage.plan.controllers import Controllers, is_active
from moorage.plan.input.inventory import Inventory, Item, Key
from moorage.plan.input.notes import Level
from moorage.plan.input.references import note_dangling
from moorage.plan.naming import generated_name
from moorage.plan.owners import POD_TEMPLATE_HASH, WORKLOADS, Owners, controller_reference
from moorage.plan.planned_pod import PlannedPod
from moorage.plan.pod_maker import FailedCreate, PodMaker
from moorage.plan.priorities import resolve_priorities
from moorage.plan.volume_controller import bind_claims
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration
from moorage.schedule.config.default_profile import program_cache
from moorage.schedule.plugins.spread.default_selector import DefaultSelectors

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_FINISHED = ("Succeeded", "Failed")
STORAGE_KINDS = (
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
)


class World:
    """The cluster of a plan. Whatever happens in it happens by its methods, so that all views of it agree."""

    def __init__(
        self,
        inventory: Inventory,
        gates: GateSet,
        seed: int = 0,
        configuration: Configuration = DEFAULT_CONFIGURATION,
    ) -> None:
        self.inventory = inventory
        self.gates = gates
        self.now = 0.0
        self.programs = program_cache(gates)
        self.cluster = Cluster(seed)
        self.selectors = DefaultSelectors()
        self.scheduler = configuration.make_scheduler(self.cluster, gates, self.selectors)
        self.pods: dict[str, PlannedPod] = {}
        self.waiting: dict[str, PlannedPod] = {}  # those of them without a node
        self.failed: dict[Key, FailedCreate] = {}
        self.preempted: list[tuple[PlannedPod, str, str]] = []  # the pod, its node, the pod that it made room for
        self.given_up: list[PlannedPod] = []  # what controllers removed because it was too much
        self._of_owner: dict[Key, dict[str, PlannedPod]] = {}
        self._count = 0
        self.owners = Owners(inventory)
        self.controllers = Controllers(inventory, self.owners, self._pod_maker(), gates, self.programs)
        self._load_nodes()
        self._load_namespaces()
        self._load_services()
        bind_claims(inventory)
        for item in inventory.items.values():
            self._load_other(item)
        self._load_pods()
        for item in inventory.of_kind("PodDisruptionBudget"):
            self.scheduler.budgets.set(item.view)
        note_dangling(inventory)

    def _pod_maker(self) -> PodMaker:
        plugins: tuple[Plugin, ...] = (resolve_priorities(self.inventory), DefaultTolerationSeconds())
        return PodMaker(self.gates, plugins)

    # -- loading ------------------------------------------------------------------------------------------------------

    def _load_nodes(self) -> None:
        for item in self.inventory.of_kind("Node"):
            if not any(quantity.value() for quantity in item.view.status.allocatable.values()):
                text = "has neither capacity nor allocatable in its status: no pod fits on it"
                self.inventory.note(Level.WARNING, item.key, text, item.place)
            self.cluster.add_node(item.view)

    def _load_namespaces(self) -> None:
        for item in self.inventory.of_kind("Namespace"):
            self.cluster.set_namespace(item.key.name, item.view.metadata.labels)
        for key in self.inventory.items:
            self._know_namespace(key.namespace)

    def _know_namespace(self, name: str) -> None:
        if name and name not in self.cluster.namespaces:
            self.cluster.set_namespace(name, {_NAMESPACE_LABEL: name})

    def _load_services(self) -> None:
        for (namespace, name), selector in self.inventory.services.items():
            self.selectors.set_service(namespace, name, selector)

    def _load_storage(self) -> None:
        for item in self.inventory.of_kind("PersistentVolume", "PersistentVolumeClaim"):
            self.cluster.storage.set(item.view)

    def _load_other(self, item: Item) -> None:
        """What the scheduler looks up: volumes and whom pods belong to."""
        key, view = item.key, item.view
        if key.kind in STORAGE_KINDS:
            self.cluster.storage.set(view)
        elif key.kind in ("ReplicaSet", "StatefulSet"):
            selector = compile_label_selector(view.spec.selector)
            self.selectors.set_controller(key.kind, key.namespace, key.name, selector)

    def _load_pods(self) -> None:
        for item in self.inventory.of_kind("Pod"):
            self.add_from(item)

    def add_from(self, item: Item) -> PlannedPod | None:
        """The pod of the input that an item is; None if it has finished."""
        pod = item.view
        if pod.status.phase in _FINISHED:
            return None
        owner = self.owners.of_pod(pod.metadata)
        planned = PlannedPod(pod, owner, existing=bool(pod.spec.nodeName), place=item.place)
        self.add(planned)
        if pod.spec.nodeName:
            if pod.spec.nodeName not in self.cluster.nodes.slot_of:
                text = f"is bound to node {pod.spec.nodeName}, which is not in the input"
                self.inventory.note(Level.WARNING, item.key, text, item.place)
            self.bind(planned, pod.spec.nodeName)
        return planned

    # -- what happens to pods -----------------------------------------------------------------------------------------

    def add(self, pod: PlannedPod, like: PlannedPod | None = None) -> None:
        """A pod is there now and waits. `like` is one that differs from it by nothing but its name."""
        pod.order = self._count
        self._count += 1
        self._know_namespace(pod.pod.metadata.namespace)
        if like is not None and like.record is not None:
            pod.record = PodRecord(pod.key, pod.pod, like.record.shape)
        else:
            pod.record = self.cluster.record(pod.key, pod.pod)
        self.pods[pod.key] = self.waiting[pod.key] = pod
        if pod.owner is not None:
            self._of_owner.setdefault(pod.owner, {})[pod.key] = pod

    def bind(self, pod: PlannedPod, node: str) -> None:
        """The pod is on the node from now on; a node that is not in the input holds it without being filled."""
        slot = self.cluster.nodes.slot_of.get(node)
        self.landed(pod, node)
        if slot is not None and pod.record is not None:
            self.scheduler.pod_placed(pod.record, slot, self.now)

    def landed(self, pod: PlannedPod, node: str) -> None:
        """The scheduler has put the pod on the node."""
        pod.node, pod.reason, pod.message = node, "", ""
        self.waiting.pop(pod.key, None)

    def remove(self, pod: PlannedPod) -> None:
        """The pod is gone."""
        if pod.record is not None and pod.record.slot >= 0:
            self.scheduler.pod_gone(pod.key, self.now)
        elif not pod.node:
            self.scheduler.delete(pod.key, self.now)
        self.forget(pod)

    def forget(self, pod: PlannedPod) -> None:
        """The scheduler has removed the pod from its node: nobody else need remember it."""
        del self.pods[pod.key]
        self.waiting.pop(pod.key, None)
        if pod.owner is not None:
            del self._of_owner[pod.owner][pod.key]

    def pods_of(self, owner: Key) -> list[PlannedPod]:
        """The pods a controller counts, oldest first."""
        return [pod for pod in self._of_owner.get(owner, {}).values() if is_active(pod)]

    def pods_on(self, node: str) -> list[PlannedPod]:
        return [pod for pod in self.pods.values() if pod.node == node]

    def is_replaced(self, pod: PlannedPod) -> bool:
        """Whether somebody would make such a pod anew, if it went."""
        return pod.owner is not None and not pod.is_mirror

    # -- what happens to nodes, and to everything ---------------------------------------------------------------------

    def node_changed(self, item: Item) -> None:
        """A node came, or is different from what it was."""
        name = item.key.name
        if name in self.cluster.nodes.slot_of:
            self.scheduler.node_changed(item.view, self.now)
            return
        self.scheduler.node_added(item.view, self.now)
        for pod in self.pods_on(name):
            self.bind(pod, name)

    def node_removed(self, name: str) -> list[PlannedPod]:
        """A node went, and its pods with it."""
        gone = self.pods_on(name)
        for pod in gone:
            self.remove(pod)
        self.scheduler.node_gone(name, self.now)
        del self.inventory.items[Key("Node", "", name)]
        return gone

    def inventory_changed(self, keys: Iterable[Key]) -> None:
        """Objects of these keys came or changed. Nodes, namespaces and pods take effect; workloads with `reconcile`."""
        self.controllers.maker = self._pod_maker()
        for key in keys:
            item = self.inventory.items.get(key)
            if item is None:
                continue
            if key.kind == "Node":
                self.node_changed(item)
            elif key.kind == "Namespace":
                self.scheduler.namespace_changed(key.name, item.view.metadata.labels, self.now)
            elif key.kind == "PodDisruptionBudget":
                self.scheduler.budgets.set(item.view)
            elif key.kind == "Pod":
                self._pod_changed(item)
            else:
                self._load_other(item)
        self._load_services()
        bind_claims(self.inventory)
        self._load_storage()
        self._look_again()

    def _look_again(self) -> None:
        """Pods that wait may see other volumes and classes than before."""
        for pod in self.waiting.values():
            self.scheduler.delete(pod.key, self.now)
            pod.record = self.cluster.record(pod.key, pod.pod)

    def _pod_changed(self, item: Item) -> None:
        old = self.pods.get(f"{item.key.namespace}/{item.key.name}")
        if old is not None:
            self.remove(old)
        new = self.add_from(item)
        if new is not None and old is not None and old.node and not new.node:
            new.existing = old.existing
            self.bind(new, old.node)

    # -- what controllers do ------------------------------------------------------------------------------------------

    def reconcile(self, gone: Iterable[PlannedPod] = (), only: Collection[Key] | None = None) -> list[PlannedPod]:
        """Let controllers make what is missing and remove what is too much; returns the pods they made.

        `gone` are pods that went: each pod made for the same workload takes the place of one of them. With `only`, just
        these workloads are looked after.
        """
        made: list[PlannedPod] = []
        nodes = [node for _, node in self.cluster.nodes]
        vacancies: dict[Key, list[PlannedPod]] = {}
        for pod in gone:
            if pod.owner is not None:
                vacancies.setdefault(pod.owner, []).append(pod)
        for item in list(self.inventory.of_kind(*WORKLOADS)):
            if only is not None and item.key not in only:
                continue
            made += self._reconcile_one(item, nodes, vacancies.pop(item.key, []))
        for left in vacancies.values():
            made += [copy for pod in left if (copy := self._made_anew(pod)) is not None]
        return made

    def _reconcile_one(self, item: Item, nodes: list[Node], gone: list[PlannedPod]) -> list[PlannedPod]:
        wish = self.controllers.wish(item, self.pods_of(item.key), nodes)
        for pod in wish.delete:
            self.remove(pod)
        self.given_up += wish.delete
        self.failed.pop(item.key, None)
        if wish.failed:
            self.failed[item.key] = wish.failed[0]
        if claims := self.controllers.claims_made():
            bind_claims(self.inventory, claims)
            self._load_storage()
        same_shape = item.key.kind in ("Deployment", "ReplicaSet")
        if item.key.kind == "Deployment" and wish.create:
            self._know_replica_set(item, wish.create[0])
        for pod in wish.create:
            if gone:
                pod.replaces = gone.pop(0).key
            self.add(pod, wish.create[0] if same_shape and pod is not wish.create[0] else None)
        return wish.create

    def _know_replica_set(self, item: Item, pod: PlannedPod) -> None:
        """A Deployment's pods belong together by the ReplicaSet that its controller makes."""
        owner = controller_reference(pod.pod.metadata)
        if owner is not None:
            revision = compile_label_set({POD_TEMPLATE_HASH: pod.pod.metadata.labels.get(POD_TEMPLATE_HASH, "")})
            selector = compile_label_selector(item.view.spec.selector)
            both = conjunction((*selector.requirements, *revision.requirements))
            self.selectors.set_controller(owner.kind, item.key.namespace, owner.name, both)

    def _made_anew(self, pod: PlannedPod) -> PlannedPod | None:
        """What a controller that is not in the input would make in a pod's stead: the same by another name."""
        owner = pod.owner
        if owner is None or owner in self.inventory.items or owner.kind == "DaemonSet" or pod.is_mirror:
            return None
        if controller_reference(pod.pod.metadata) is None:
            return None
        metadata = pod.pod.metadata
        name = metadata.name
        if owner.kind != "StatefulSet":
            name = generated_name(f"{owner.name}-", f"{pod.key}/again")
        copy = msgspec.structs.replace(
            pod.pod,
            metadata=msgspec.structs.replace(metadata, name=name, deletionTimestamp=None),
            spec=msgspec.structs.replace(pod.pod.spec, nodeName=""),
        )
        made = PlannedPod(copy, owner, place=pod.place)
        made.replaces = pod.key
        self.add(made)
        return made
