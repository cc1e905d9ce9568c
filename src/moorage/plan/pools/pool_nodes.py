"""Ask the scheduler's plugins about nodes that pools could start, each beside the cluster as it is.

A template becomes a node in the columns of the simulated cluster, with the DaemonSet pods that it would get and the
devices that an annotation says, and is taken out again. Plugins whose answer depends on a node alone are asked about
all of them at once, so that ten thousand cost little. Those that look at other nodes, too (topology spread, pod
affinity) are asked about one node at a time, as if it were the only new one: nodes that they cannot tell apart are one
question. Startup taints are taken as gone.
Kubernetes: Cluster Autoscaler's template nodes in its snapshot; Karpenter's in-flight NodeClaims.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count

import msgspec
import numpy as np

from moorage.autoscale.topology_keys import affinity_keys, keys_read_by
from moorage.columns.cluster import PodRecord
from moorage.columns.resources import amounts
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import ResourceSlice
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import HOSTNAME
from moorage.plan.pools.daemon_overhead import Daemon, daemons_of, daemons_on
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import NodeTemplate, Pool
from moorage.run.devices.spec import DEVICES, new_slices, wanted_devices
from moorage.run.node_objects import SIMULATOR
from moorage.schedule.candidates import Candidates
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.framework.plugin import Mask, unresolvable

#: A new node of a pool has no name yet, and no node of a cluster has one with a slash.
_NAME = "{}/{}"
_OTHER_NODES = "node(s) didn't satisfy the nodes that the pod names"


class PoolAnswer(msgspec.Struct, frozen=True, eq=False):
    """What becomes of one pod on every kind of node: `accepted` and `refusals` have the order of `PoolNodes.kinds`.

    `refusals` are empty for nodes that take the pod, and for all unless the reasons are asked for.
    """

    accepted: Mask
    refusals: Sequence[tuple[Refusal, ...]] = ()


class NodeKind(msgspec.Struct, frozen=True, eq=False):
    """A kind of node that a pool can start, as a node, with the DaemonSet pods and the devices that it gets."""

    pool: Pool
    template: NodeTemplate
    node: Node
    daemons: tuple[Daemon, ...]
    slices: tuple[ResourceSlice, ...] = ()

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def room(self) -> Mapping[str, int]:
        """What is left for other pods, in the units of the scheduler: millicores, bytes, pods."""
        left = dict(amounts(self.node.status.allocatable))
        for daemon in self.daemons:
            for resource, amount in daemon.requests.items():
                left[resource] = left.get(resource, 0) - amount
        return left


class PoolNodes:
    """The kinds of node of pools, beside one simulated cluster, which is left as it was after each question."""

    def __init__(self, simulation: Simulation, pools: Iterable[Pool]) -> None:
        self._simulation, self._cluster = simulation, simulation.cluster
        simulation.scheduling.take_in()
        daemons = daemons_of(simulation)
        features = tuple(simulation.kubelets.features)
        self.kinds: tuple[NodeKind, ...] = tuple(
            NodeKind(pool, template, node, tuple(daemons_on(daemons, node)), tuple(_slices_of(node)))
            for pool in pools
            for template, node in _nodes_of(pool, features)
        )
        self._shapes = {daemon.key: self._cluster.shape_of(daemon.pod) for daemon in daemons}

    def __len__(self) -> int:
        return len(self.kinds)

    def indexes_of(self, pool: Pool) -> list[int]:
        return [index for index, kind in enumerate(self.kinds) if kind.pool is pool]

    # -- asking -------------------------------------------------------------------------------------------------------

    def ask(self, pods: Sequence[Pod], *, why: bool = True) -> list[PoolAnswer]:
        """Return what the plugins say of each pod, as if it had no node; with `why`, all refusals of each node."""
        free = [without_node(pod) for pod in pods]
        wide = self._wide_refusals([pod for pod in free if self._looks_further(pod)])
        with self._placed(range(len(self.kinds))) as slots:
            return [self._answer(pod, slots, wide.get(id(pod)), why=why) for pod in free]

    def accepts(self, pod: Pod) -> Mask:
        """Return which kinds of node take a pod."""
        return self.ask([pod], why=False)[0].accepted

    def accepts_by_itself(self, pods: Sequence[Pod]) -> Mask:
        """Return which kinds of node take which pods (pods × kinds), by plugins that look at one node alone."""
        free = [without_node(pod) for pod in pods]
        with self._placed(range(len(self.kinds))) as slots:
            found = [self._answer(pod, slots, None, why=False).accepted for pod in free]
        return np.array(found, np.bool_).reshape(len(free), len(self.kinds))

    def _answer(
        self, pod: Pod, slots: Sequence[int], wide: Sequence[tuple[Refusal, ...]] | None, *, why: bool
    ) -> PoolAnswer:
        candidates = candidates_of(self._simulation, pod)
        number = len(self.kinds)
        if candidates.rejection is not None:
            plugin, verdict = candidates.rejection
            refused = (Refusal(plugin.name, verdict),)
            return PoolAnswer(np.zeros(number, np.bool_), (refused,) * number if why else ())
        where = np.array(slots, np.int64)
        considered = candidates.considered()[where] if number else np.zeros(0, np.bool_)
        accepted = considered.copy()
        refusals: list[list[Refusal]] = [[] for _ in range(number if why else 0)]
        for item in candidates.filters:
            if not item.plugin.local:
                continue
            mask = candidates.mask(item)[where]
            accepted &= mask
            for index in np.flatnonzero(~mask).tolist() if why else ():
                refusal = item.plugin.explain(item.prepared.want, self._cluster, slots[index])
                if refusal is not None:
                    refusals[index].append(Refusal(item.plugin.name, refusal))
        for index, more in enumerate(wide or ()):
            accepted[index] &= not more
            if why:
                refusals[index] += more
        if why:
            for index in np.flatnonzero(~considered).tolist():
                if not refusals[index]:
                    refusals[index].append(Refusal("", unresolvable(_OTHER_NODES)))
        return PoolAnswer(accepted, tuple(map(tuple, refusals)))

    # -- plugins that look at other nodes -----------------------------------------------------------------------------

    def _looks_further(self, pod: Pod) -> bool:
        return any(not item.plugin.local for item in candidates_of(self._simulation, pod).filters)

    def _wide_refusals(self, pods: Sequence[Pod]) -> dict[int, list[tuple[Refusal, ...]]]:
        """Return by pod what those plugins say of each kind of node, with no other new node beside it."""
        found: dict[int, list[tuple[Refusal, ...]]] = {id(pod): [()] * len(self.kinds) for pod in pods}
        if not pods:
            return found
        asked = [(pod, candidates_of(self._simulation, pod)) for pod in pods]
        for indexes in self._alike(pods):
            with self._placed(indexes[:1]) as [slot]:
                for pod, candidates in asked:
                    said = tuple(self._wide_verdicts(candidates, slot))
                    for index in indexes if said else ():
                        found[id(pod)][index] = said
        return found

    def _wide_verdicts(self, candidates: Candidates, slot: int) -> Iterator[Refusal]:
        for item in candidates.filters if candidates.rejection is None else ():
            verdict = None if item.plugin.local else item.plugin.explain(item.prepared.want, self._cluster, slot)
            if verdict is not None:
                yield Refusal(item.plugin.name, verdict)

    def _alike(self, pods: Sequence[Pod]) -> list[list[int]]:
        """Return the kinds of node, those together that have the same pods, taints and values of labels that count."""
        keys: set[str] = set()
        for pod in pods:
            keys |= keys_read_by(pod.spec)
        for shape in self._cluster.shapes:
            keys |= affinity_keys(shape.spec.affinity)
        keys -= {HOSTNAME}
        groups: dict[object, list[int]] = {}
        for index, kind in enumerate(self.kinds):
            labels = kind.node.metadata.labels
            facts = tuple(labels.get(key) for key in keys), kind.template.taints, tuple(one.key for one in kind.daemons)
            groups.setdefault(facts, []).append(index)
        return list(groups.values())

    # -- in the cluster -----------------------------------------------------------------------------------------------

    @contextmanager
    def _placed(self, indexes: Sequence[int]) -> Iterator[list[int]]:
        """Have these nodes in the cluster inside the block, in slots."""
        cluster, slots, names, slices = self._cluster, list[int](), list[str](), list[ResourceSlice]()
        try:
            for index in indexes:
                kind = self.kinds[index]
                slots.append(cluster.add_node(kind.node))
                names.append(kind.name)
                for one in kind.slices:
                    cluster.devices.set(one)
                    slices.append(one)
                for daemon in kind.daemons:
                    record = PodRecord(f"{daemon.key}@{kind.name}", daemon.pod, self._shapes[daemon.key])
                    cluster.add_pod(record, slots[-1])
            yield slots
        finally:
            for one in slices:
                cluster.devices.remove(one)
            for name in names:
                cluster.remove_node(name)


def _slices_of(node: Node) -> Iterator[ResourceSlice]:
    """Yield what the drivers of a node would publish of the devices that its annotation says."""
    for driver, devices in wanted_devices(node).items() if DEVICES in node.metadata.annotations else ():
        for number, document in enumerate(new_slices(node, driver, devices, 1, SIMULATOR)):
            metadata = {**document["metadata"], "name": f"{node.metadata.name}/{driver}/{number}"}
            yield convert_view({**document, "metadata": metadata}, ResourceSlice)


def candidates_of(simulation: Simulation, pod: Pod) -> Candidates:
    """Return what the plugins of a pod's scheduler say of it; those of the first profile for another scheduler."""
    scheduler = simulation.scheduler
    name = pod.spec.schedulerName
    engine = scheduler.engines[name if scheduler.knows(name) else next(iter(scheduler.engines))]
    return Candidates(engine.profile, simulation.cluster.shape_of(pod, by_name=True), simulation.cluster)


def without_node(pod: Pod) -> Pod:
    """Return the pod as if it had no node yet."""
    if not pod.spec.nodeName:
        return pod
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, nodeName=""))


def _nodes_of(pool: Pool, features: tuple[str, ...]) -> Iterator[tuple[NodeTemplate, Node]]:
    """Yield each template of a pool with a node of it, under a name of its own."""
    taken: set[str] = set()
    for template in pool.templates:
        base = _NAME.format(pool.name, template.name)
        name = (
            base
            if base not in taken
            else next(name for number in count(2) if (name := f"{base}#{number}") not in taken)
        )
        taken.add(name)
        yield template, template.view(name, features)
