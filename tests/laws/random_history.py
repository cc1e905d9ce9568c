"""Clusters in which things happen: nodes come, change and go, pods too, namespaces get other labels.

Everything is kept twice: as a `Cluster`, event by event, and as plain dicts and lists, from which `rebuilt` makes the
same cluster at once and which the reference scheduler reads.
"""

from copy import deepcopy
from random import Random

from tests.laws.naive_spread_and_affinity import World
from tests.laws.random_clusters import NAMESPACES, Raw, random_node, random_pod, storage_objects

from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod

GATES = gates_from({"AllAlpha": True})
_NAMES = [f"n{i}" for i in range(8)]


def random_template(random: Random, has_volumes: bool) -> Raw:
    """A pod of which there will be many: as in `random_clusters`, but easier to please, and with more containers."""
    raw = random_pod(random, "template")
    spec = raw["spec"]
    if random.random() < 0.6:
        spec.pop("nodeSelector", None)
        spec.get("affinity", {}).get("nodeAffinity", {}).pop("requiredDuringSchedulingIgnoredDuringExecution", None)
        spec["containers"][0]["ports"] = []
    if random.random() < 0.5:
        raw["metadata"]["labels"] = {"app": random.choice(["web", "db"])}
    spec["preemptionPolicy"] = "Never"
    if not has_volumes:
        spec["volumes"] = []
    if random.random() < 0.3:
        spec["initContainers"] = [_init_container(random, i) for i in range(random.randint(1, 3))]
    if random.random() < 0.2:
        spec["overhead"] = {"cpu": "50m", "example.com/gpu": "0"}
    if random.random() < 0.05:
        spec["nodeName"] = random.choice([*_NAMES, "ghost"])
    if random.random() < 0.1:
        raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return raw


def _init_container(random: Random, number: int) -> Raw:
    requests = {"cpu": random.choice(["0", "250m", "1"]), "memory": random.choice(["1Gi", "300Mi"])}
    container: Raw = {
        "name": f"i{number}",
        "image": random.choice(["web", "db:2"]),
        "resources": {"requests": dict(random.sample(sorted(requests.items()), random.randint(0, 2)))},
        "ports": [{"hostPort": 80}] if random.random() < 0.3 else [],
    }
    if random.random() < 0.5:
        container["restartPolicy"] = "Always"
    return container


class History:
    """See the module."""

    def __init__(self, seed: int, cluster: Cluster | None = None, has_volumes: bool = False) -> None:
        self.random = Random(seed)
        self.cluster = Cluster(seed) if cluster is None else cluster
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, list[Pod]] = {}
        self.namespaces: dict[str, dict[str, str]] = {}
        self.has_volumes = has_volumes
        self.templates = [random_template(self.random, has_volumes) for _ in range(4)]
        self._count = 0
        for thing in storage_objects() if has_volumes else ():
            self.cluster.storage.set(thing)
        for name, labels in NAMESPACES.items():
            self.label_namespace(name, labels)
        for _ in range(self.random.randint(1, 10)):
            self.add_node()

    @property
    def world(self) -> World:
        return World(self.nodes, self.pods, self.namespaces, GATES)

    def pod(self) -> Pod:
        """Another pod of one of the templates."""
        self._count += 1
        raw = deepcopy(self.random.choice(self.templates))
        raw["metadata"]["name"] = f"p{self._count}"
        return convert_view(raw, Pod)

    def record(self, pod: Pod) -> PodRecord:
        return _record(self.cluster, pod)

    # -- events -------------------------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Nothing happens, or a few things."""
        often = (self.add_node, self.change_node, self.run_pod, self.run_pod, self.remove_pod)
        seldom = (self.remove_node, self.relabel_namespace, self.replace_template, self.retire_shapes)
        for _ in range(self.random.choice([0, 1, 1, 2, 4])):
            self.random.choice((*often, *often, *seldom))()

    def add_node(self) -> None:
        name = self.random.choice(_NAMES)
        if name not in self.nodes:
            self.nodes[name] = self._node(name)
            self.pods[name] = []
            self.cluster.add_node(self.nodes[name])

    def change_node(self) -> None:
        if self.nodes:
            name = self.random.choice(list(self.nodes))
            self.nodes[name] = self._node(name)
            self.cluster.update_node(self.nodes[name])

    def remove_node(self) -> None:
        if self.nodes:
            name = self.random.choice(list(self.nodes))
            del self.nodes[name], self.pods[name]
            self.cluster.remove_node(name)

    def run_pod(self) -> None:
        """A pod turns up on some node, whether it belongs there or not."""
        if self.nodes:
            pod = self.pod()
            self.put(self.record(pod), self.random.choice(list(self.nodes)))

    def put(self, record: PodRecord, name: str) -> None:
        self.pods[name].append(record.pod)
        self.cluster.add_pod(record, self.cluster.nodes.slot_of[name])

    def remove_pod(self) -> None:
        where = [name for name, there in self.pods.items() if there]
        if where:
            there = self.pods[self.random.choice(where)]
            gone = there.pop(self.random.randrange(len(there)))
            self.cluster.remove_pod(self.cluster.pods[_key(gone)])

    def relabel_namespace(self) -> None:
        name = self.random.choice(sorted(NAMESPACES))
        self.label_namespace(name, self.random.choice([{}, {"team": "a"}, {"team": "b"}]))

    def label_namespace(self, name: str, labels: dict[str, str]) -> None:
        self.namespaces[name] = {**labels, "kubernetes.io/metadata.name": name}
        self.cluster.set_namespace(name, self.namespaces[name])

    def replace_template(self) -> None:
        self.templates[self.random.randrange(len(self.templates))] = random_template(self.random, self.has_volumes)

    def retire_shapes(self) -> None:
        self.cluster.retire_shapes(())

    def _node(self, name: str) -> Node:
        raw = random_node(self.random, name)
        if self.random.random() < 0.5:  # values that no node has had before, nor will again
            raw["metadata"]["labels"]["gen"] = self._value()
            for taint in raw["spec"]["taints"]:
                taint["value"] = self._value()
        raw["spec"]["unschedulable"] = self.random.random() < 0.1
        if self.random.random() < 0.5:
            raw["spec"]["taints"] = [taint for taint in raw["spec"]["taints"] if taint["effect"] == "PreferNoSchedule"]
        if self.random.random() < 0.7:
            raw["status"]["allocatable"].update({"cpu": "16", "memory": "24Gi", "pods": "20"})
        return convert_view(raw, Node)

    def _value(self) -> str:
        """Most can be compared as integers, some cannot."""
        return self.random.choice(["", "", "", "x"]) + str(self.random.randrange(10_000))

    # -- made at once -------------------------------------------------------------------------------------------

    def rebuilt(self) -> Cluster:
        """The same cluster, by nothing but additions."""
        fresh = Cluster(self.cluster.nodes.seed)
        for thing in storage_objects() if self.has_volumes else ():
            fresh.storage.set(thing)
        for name, labels in self.namespaces.items():
            fresh.set_namespace(name, labels)
        for node in self.nodes.values():
            fresh.add_node(node)
        for name, there in self.pods.items():
            for pod in there:
                fresh.add_pod(_record(fresh, pod), fresh.nodes.slot_of[name])
        return fresh


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _record(cluster: Cluster, pod: Pod) -> PodRecord:
    """A pod may ask for a node by name, which is a part of its shape as long as it has none."""
    return PodRecord(_key(pod), pod, cluster.shape_of(pod, pod.spec.nodeName))
