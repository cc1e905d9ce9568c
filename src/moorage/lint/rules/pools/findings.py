"""Find pools of autoscalers that cannot be used as they are written, and workloads that no pool can serve.

Pools are objects of the input (NodePools, NodeGroups) and those that the linter was given. Memory is bounded: distinct
lists of tolerations, and the first nodes of each pool. Kubernetes: accepts all of it; Karpenter and Cluster Autoscaler
start no node, and say so in their logs at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.catalogue import ERROR, WARNING, Facts, Rule, Theme, collector
from moorage.lint.finding import SourcePlace
from moorage.lint.rules.compared_values import NODE_TAINT, ComparedValues
from moorage.lint.rules.pools.pool_facts import PoolFacts, facts_of_node_pool, facts_of_pool
from moorage.lint.subject import Complaint, PlacedComplaint, Subject, TolerationList, place_in, toleration_lists
from moorage.match.taint_messages import describe_taint, describe_toleration
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.types.node import Node, Taint
from moorage.model.well_known.taints import PREFER_NO_SCHEDULE
from moorage.pools.membership import Membership
from moorage.pools.node_pools import NO_TEMPLATE, NODE_POOL_LABEL
from moorage.pools.node_template import NORMALIZED
from moorage.pools.reading import KARPENTER_GROUP, PoolReader, Pools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moorage.lint.finding import Lines
    from moorage.model.gates import GateSet
    from moorage.model.text.documents import Document
    from moorage.model.types.pod import Toleration

_INVALID, _UNTOLERATED = "pool-invalid", "pool-taint-not-tolerated"
_UNMET, _LABEL = "pool-threshold-unmet", "pool-label-missing"
_ALL_GATES = all_gates()
_MAX_LISTS, _MAX_NODES = 2_000, 5_000
#: Operators that compare a taint's value with a threshold.
_COMPARING = frozenset({"Lt", "Gt", "SemverLt", "SemverGt", "SemverEq"})
#: Domains of labels that kubelets, clouds and autoscalers write on nodes by themselves.
_OTHERS = ("kubernetes.io", "k8s.io", "karpenter.sh", "k8s.aws", "amazonaws.com", "eksctl.io", "gke.io", "google.com",
           "azure.com", "moorage.dev")  # fmt: skip
_NO_TYPES = f"{NO_TEMPLATE}: there are no instance types"


@collector(
    Theme.BUDGETS,
    Rule(_INVALID, ERROR, "A pool of an autoscaler cannot be used as it is written."),
    Rule(_UNTOLERATED, WARNING, "No workload of the input tolerates a taint of the pool."),
    Rule(_UNMET, WARNING, "No pool has a taint that meets the threshold of a toleration."),
    Rule(_LABEL, WARNING, "Nodes of the pool have a label that its template lacks."),
)
class PoolFindings:
    """The pools, the lists of tolerations, and the nodes of the input."""

    def __init__(self, gates: GateSet) -> None:
        self._reader = PoolReader()
        self._given = Pools()
        self._places: dict[tuple[str, int], SourcePlace] = {}
        self._karpenter: dict[str, PoolFacts] = {}
        self._lists: dict[tuple[Toleration, ...], SourcePlace] = {}
        self._has_pods = False
        self._nodes: list[Node] = []

    def give(self, pools: Pools) -> None:
        """Take pools that were read elsewhere."""
        self._given = pools

    def add_document(self, document: Document, lines: Lines) -> None:
        """Take an object of the input that is a pool, or belongs to one."""
        place = place_in(document, None, lines, "metadata.name")
        self._places[document.source, document.line] = place
        self._reader.add(document)
        group, name = str(document.raw["apiVersion"]).rpartition("/")[0], _name(document)
        if group == KARPENTER_GROUP and document.raw["kind"] == "NodePool" and name not in self._karpenter:
            facts = facts_of_node_pool(document, place)
            if facts is not None:
                self._karpenter[name] = facts

    def add(self, subject: Subject) -> None:
        if subject.kind == "Node" and len(self._nodes) < _MAX_NODES:
            self._nodes.append(subject.view)
        if subject.pods is None or subject.kind == "DaemonSet":
            return
        self._has_pods = True
        for listed in toleration_lists(subject):
            if not listed.of_devices and len(self._lists) < _MAX_LISTS and listed.tolerations not in self._lists:
                self._lists[listed.tolerations] = subject.place(_path(listed))

    # -- complaints ---------------------------------------------------------------------------------------------------

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        pools = self._reader.finish()
        for problem in (*pools.problems, *self._given.problems):
            if _NO_TYPES not in problem.reason:  # they are in a file that is given to the autoscaler
                place = self._places.get((problem.place.source, problem.place.line)) or SourcePlace(
                    *problem.place, object=problem.subject
                )
                yield Complaint(_INVALID, place.path, problem.reason), place
        known = self._known(pools)
        if not known:
            return
        if self._has_pods:
            yield from self._untolerated(known)
        yield from self._unmet(known, facts)
        yield from self._labels(known)

    def _known(self, pools: Pools) -> list[PoolFacts]:
        """Return the facts of all pools, by name once."""
        found: dict[str, PoolFacts] = {}
        for pool in (*pools.pools, *self._given.pools):
            place = self._places.get((pool.place.source, pool.place.line))
            found.setdefault(pool.name, facts_of_pool(pool, place))
        return [*found.values(), *(one for name, one in self._karpenter.items() if name not in found)]

    def _untolerated(self, known: list[PoolFacts]) -> Iterator[PlacedComplaint]:
        """Complain of taints that keep all pods of the input off a pool."""
        compiled = [compile_tolerations(listed, _ALL_GATES) for listed in self._lists]
        for one in known:
            for taint in one.taints:
                if taint.effect == PREFER_NO_SCHEDULE or any(each.tolerates(taint) for each in compiled):
                    continue
                near = self._nearest(taint)
                message = f"no workload of the input tolerates taint {describe_taint(taint)} of {one.title}{near}"
                yield (
                    Complaint(_UNTOLERATED, one.place.path, message, "its autoscaler starts no node for them"),
                    one.place,
                )

    def _nearest(self, taint: Taint) -> str:
        """Return why a toleration of the taint's key does not match; empty if there is none."""
        for listed in self._lists:
            for toleration in listed:
                if toleration.key == taint.key and toleration.value:
                    return f": {compile_tolerations([toleration], _ALL_GATES).matchers[0].reason(taint)}"
        return ""

    def _unmet(self, known: list[PoolFacts], facts: Facts) -> Iterator[PlacedComplaint]:
        """Complain of thresholds that neither a pool nor a node of the input meets."""
        taints = [(one, taint) for one in known for taint in one.taints]
        on_nodes = facts.of(ComparedValues).taints_by_key(NODE_TAINT)
        seen: set[tuple[str, str, str]] = set()
        for listed, place in self._lists.items():
            for toleration in listed:
                key = toleration.key, toleration.operator, toleration.value
                of_key = [(one, taint) for one, taint in taints if taint.key == toleration.key]
                if toleration.operator not in _COMPARING or not of_key or key in seen:
                    continue
                seen.add(key)
                matcher = compile_tolerations([toleration], _ALL_GATES).matchers[0]
                others = compile_tolerations([one for one in listed if one is not toleration], _ALL_GATES)
                every = [taint for _, taint in of_key] + on_nodes.get(toleration.key, [])
                if any(matcher.match(taint) or others.tolerates(taint) for taint in every):
                    continue
                one, taint = of_key[0]
                values = ", ".join(dict.fromkeys(taint.value for _, taint in of_key))
                message = (
                    f"no pool has a taint {toleration.key} that {describe_toleration(toleration)} matches: "
                    f"{matcher.reason(taint)} ({one.title}); the values are {values}"
                )
                yield Complaint(_UNMET, place.path, message, "its pods never get a node of these pools"), place

    def _labels(self, known: list[PoolFacts]) -> Iterator[PlacedComplaint]:
        """Complain of labels that all nodes of a pool have, and its template lacks."""
        for one, nodes in self._members(known):
            shared = set.intersection(*(set(node.metadata.labels) for node in nodes))
            lacking = sorted(key for key in shared - one.labels if not _is_written_by_others(key))
            if lacking:
                pair = ", ".join(f"{key}={nodes[0].metadata.labels[key]}" for key in lacking[:4])
                message = f"the nodes of {one.title} have the label {pair}, which its template lacks"
                hint = "the autoscaler starts no node for pods that select it"
                yield Complaint(_LABEL, one.place.path, message, hint), one.place

    def _members(self, known: list[PoolFacts]) -> Iterator[tuple[PoolFacts, list[Node]]]:
        """Yield the pools that have nodes in the input, with them."""
        membership = Membership(one.pool for one in known if one.pool is not None)
        found: dict[str, list[Node]] = {}
        for node in self._nodes:
            pool = membership.pool_of(node)
            name = pool.name if pool is not None else node.metadata.labels.get(NODE_POOL_LABEL, "")
            found.setdefault(name, []).append(node)
        for one in known:
            if nodes := found.get(one.name):
                yield one, nodes


def _path(listed: TolerationList) -> str:
    return f"{listed.path}[0]" if listed.tolerations else listed.path


def _name(document: Document) -> str:
    metadata: Mapping[str, object] = document.raw.get("metadata") or {}
    return str(metadata.get("name", ""))


def _is_written_by_others(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    return key in NORMALIZED or any(domain == one or domain.endswith(f".{one}") for one in _OTHERS)
