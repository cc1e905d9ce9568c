"""Hold every kind of node that pools can start, in columns of its own, and ask the scheduler's plugins about them.

A plugin whose answer depends on a node alone is asked once for each shape of pod and all kinds of node. Plugins that
look at other nodes, too, are asked where the node would be: in the snapshot. Each kind has the DaemonSet pods that its
nodes would get. Kubernetes: Karpenter's instance types with daemon overhead, Cluster Autoscaler's template nodes.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.autoscale.snapshot import Columns
from moorage.client.protocol import Object
from moorage.columns.cluster import PodRecord
from moorage.columns.resources import PODS, amounts, pod_requests
from moorage.columns.shape import Shape
from moorage.control.daemon_set.controller import daemon_pods
from moorage.control.framework.world import World
from moorage.match.daemon_pods import DaemonTemplate
from moorage.match.evaluation.accounts import Evaluations
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.container import Container
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.pools.node_template import NodeTemplate, Pool
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.config.default_profile import program_cache
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.framework.plugin import Mask

Amounts = NDArray[np.int64]
_PLACEHOLDER = "new-node"
_FIT = "NodeResourcesFit"
_replace = msgspec.structs.replace


class NodeKind(msgspec.Struct, frozen=True, eq=False):
    """A kind of node, its number, and its node in the columns of kinds."""

    number: int
    pool: Pool
    template: NodeTemplate
    node: Node

    @property
    def price(self) -> float:
        """The price of an hour; infinite if it is not known."""
        return float("inf") if self.template.price is None else self.template.price


class _Daemon(msgspec.Struct, frozen=True, eq=False):
    key: str
    rule: DaemonTemplate
    pod: Pod


class Takers(msgspec.Struct, frozen=True, eq=False):
    """What local plugins say of a shape: the kinds of node that take one pod of it, and its requests as a row."""

    accepted: Mask
    asked: Amounts
    looks_further: bool


class NodeKinds(Columns):
    """All kinds of node of some pools. `room` has what each has left for pods, a column for each of `resources`."""

    def __init__(
        self,
        pools: Iterable[Pool],
        gates: GateSet,
        configuration: Configuration,
        features: tuple[str, ...] = (),
        evaluations: Evaluations | None = None,
    ) -> None:
        super().__init__(gates, configuration, evaluations)
        self.features = features
        self.pools = tuple(pools)
        self._gates, self._programs = gates, program_cache(gates, evaluations)
        self.kinds: list[NodeKind] = []
        for pool in self.pools:
            for template in pool.templates:
                number = len(self.kinds)
                node = template.view(f"{pool.name}/{template.name}/{number}", features)
                self.kinds.append(NodeKind(number, pool, template, node))
        self.of_pool: Mapping[str, NDArray[np.int64]] = {
            pool.name: np.array([kind.number for kind in self.kinds if kind.pool is pool], np.int64)
            for pool in self.pools
        }
        self.prices = np.array([kind.price for kind in self.kinds], np.float64)
        self.cheapest = np.argsort(self.prices, kind="stable")
        names = {name for kind in self.kinds for name in kind.template.capacity}
        self.resources = tuple(sorted(names))
        self.capacity = _rows([amounts(kind.template.capacity) for kind in self.kinds], self.resources)
        self.slots = np.array([self.cluster.add_node(kind.node) for kind in self.kinds], np.int64)
        self.daemons: tuple[_Daemon, ...] = ()
        self.daemons_on: list[tuple[_Daemon, ...]] = [()] * len(self.kinds)
        self._daemons_of: tuple[Object, ...] = ()
        self._answers: dict[int, tuple[object, Takers]] = {}
        self._shapes: dict[int, tuple[Shape, PodRecord]] = {}
        self.room = _rows([amounts(kind.template.allocatable) for kind in self.kinds], self.resources)

    # -- DaemonSets ---------------------------------------------------------------------------------------------------

    def take_in_daemons(self, world: World) -> None:
        """Put the pods of the DaemonSets on all kinds of node, if there are others than before."""
        found = tuple(one for one in world.all(KINDS.DAEMON_SET) if one.view.metadata.deletionTimestamp is None)
        if [_about(one) for one in found] == [_about(one) for one in self._daemons_of]:
            return
        self._daemons_of = found
        self.daemons = tuple(daemon for one in found if (daemon := self._daemon(one)) is not None)
        self._shapes.clear()
        for kind in self.kinds:
            slot = int(self.slots[kind.number])
            for record in list(self.cluster.pods_on[slot].values()):
                self.cluster.remove_pod(record)
            here = self.daemons_on[kind.number] = tuple(
                daemon for daemon in self.daemons if daemon.rule.fits(kind.node).should_run
            )
            for daemon in here:
                key = f"{daemon.key}@{kind.node.metadata.name}"
                self.cluster.add_pod(self.cluster.record(key, daemon.pod), slot)
        rows = [amounts(kind.template.allocatable) for kind in self.kinds]
        for row, here in zip(rows, self.daemons_on, strict=True):
            for daemon in here:
                row[PODS] = row.get(PODS, 0) - 1
                for name, amount in pod_requests(daemon.pod.spec).items():
                    row[name] = row.get(name, 0) - amount
        self.room = _rows(rows, self.resources)

    def _daemon(self, daemon_set: Object) -> _Daemon | None:
        [raw] = daemon_pods(daemon_set, "", [_PLACEHOLDER])
        metadata = {**raw["metadata"], "name": _PLACEHOLDER, "namespace": daemon_set.namespace}
        try:
            pod = convert_view({"apiVersion": "v1", "kind": "Pod", **raw, "metadata": metadata}, Pod)
        except ConversionError:
            return None
        spec = _replace(pod.spec, containers=tuple(map(with_requests, pod.spec.containers)))
        rule = DaemonTemplate(daemon_set.view.spec.template.spec, self._gates, self._programs)
        return _Daemon(daemon_set.key, rule, _replace(pod, spec=spec))

    # -- asking -------------------------------------------------------------------------------------------------------

    def answer(self, record: PodRecord) -> Takers:
        """Return which kinds take a pod, as far as a node alone decides."""
        own = self._own(record)
        candidates = self.candidates(own)
        revision = candidates.revision()
        kept = self._answers.get(own.shape.number)
        if kept is not None and kept[0] == revision:
            return kept[1]
        accepted = np.zeros(len(self.kinds), np.bool_)
        if candidates.rejection is None and len(self.kinds):
            accepted = candidates.considered()[self.slots]
            for item in candidates.filters:
                if item.plugin.local:
                    accepted &= candidates.mask(item)[self.slots]
        further = any(not item.plugin.local for item in candidates.filters)
        requests = {**pod_requests(record.pod.spec), PODS: 1}
        row = _rows([requests], self.resources)[0]
        if requests.keys() - set(self.resources):
            unknown = any(amount > 0 for name, amount in requests.items() if name not in self.resources)
            accepted &= not unknown
        answer = Takers(accepted, row, further)
        if len(self._answers) > 4096:
            self._answers.clear()
        self._answers[own.shape.number] = revision, answer
        return answer

    def refusals(self, record: PodRecord, kind: NodeKind) -> tuple[Refusal, ...]:
        """Return why a kind of node does not take a pod, as far as a node alone decides: each plugin's reasons."""
        own = self._own(record)
        candidates = self.candidates(own)
        if candidates.rejection is not None:
            plugin, rejection = candidates.rejection
            return (Refusal(plugin.name, rejection),)
        slot, found = int(self.slots[kind.number]), list[Refusal]()
        for item in candidates.filters:
            verdict = item.plugin.explain(item.prepared.want, self.cluster, slot) if item.plugin.local else None
            if verdict is not None:
                found.append(Refusal(item.plugin.name, verdict))
        return tuple(found)

    def _own(self, record: PodRecord) -> PodRecord:
        """Return the record of a pod in these columns; pods of one shape share it."""
        shape = record.shape
        kept = self._shapes.get(id(shape))
        if kept is not None and kept[0] is shape:
            return kept[1]
        pod = record.pod
        if pod.spec.nodeName:
            pod = _replace(pod, spec=_replace(pod.spec, nodeName=""))
        if len(self._shapes) > 4096:
            self._shapes.clear()
        own = self.cluster.record(record.key, pod)
        self._shapes[id(shape)] = shape, own
        return own

    def daemon_records(self, kind: NodeKind, node: str, columns: Columns) -> list[PodRecord]:
        """Return the records of the DaemonSet pods that a node of a kind gets, for other columns."""
        return [columns.cluster.record(f"{one.key}@{node}", one.pod) for one in self.daemons_on[kind.number]]

    def cheapest_of(self, mask: Mask) -> int:
        """Return the number of the cheapest kind in a mask, -1 if it is empty; the first of equal ones."""
        ranked = self.cheapest[mask[self.cheapest]]
        return int(ranked[0]) if len(ranked) else -1


def _rows(items: Sequence[Mapping[str, int]], resources: Sequence[str]) -> Amounts:
    rows = np.zeros((len(items), len(resources)), np.int64)
    for number, item in enumerate(items):
        for column, name in enumerate(resources):
            rows[number, column] = item.get(name, 0)
    return rows


def _about(daemon_set: Object) -> tuple[str, str, int]:
    return daemon_set.key, daemon_set.uid, daemon_set.view.metadata.generation or 0


def with_requests(container: Container) -> Container:
    """Return a container that requests its limits where it requests nothing, as the API server makes it."""
    limits, requests = container.resources.limits, container.resources.requests
    if not limits.keys() - requests.keys():
        return container
    return _replace(container, resources=_replace(container.resources, requests={**limits, **requests}))
