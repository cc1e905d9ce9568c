"""Tell which nodes a rule matches, and of the others why not: nodes with the same answer are one group."""

import re
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import msgspec

from moorage.columns.cluster import Cluster
from moorage.dashboard.questions.playing.known_nodes import KnownNode, KnownNodes, taint_parts
from moorage.match.node_selector import compile_preferred_terms, compile_required_node_affinity, gate_obstacle
from moorage.match.taint_eviction import When, decide_eviction
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.match.tolerations import NO_TOLERATION, TolerationSet
from moorage.model.gates import GateSet
from moorage.model.types.node import NodeSelectorTerm, Taint
from moorage.model.types.pod import Affinity, Pod, PodSpec
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from moorage.schedule.plugins.inter_pod_affinity import InterPodAffinity

MAX_NAMES = 200
MAX_GROUPS = 100
#: More groups than this are merged where only values differ, of which this many are told.
MAX_APART = 12
MAX_ALIKE = 50
MAX_TAINTS = 500
_HARD = (NO_SCHEDULE, NO_EXECUTE)
_VALUE = re.compile(r"(?<![\w/.-])v?\d[\w.+-]*")


class NodeAnswer(msgspec.Struct, frozen=True):
    """What a rule says of a node. `reasons` say why it does not match; `notes` what it means where it does."""

    matches: bool
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    evicts: str = ""
    seconds: int | None = None
    because: str = ""
    score: int | None = None


def grouped(nodes: Iterable[KnownNode], answer: Callable[[KnownNode], NodeAnswer]) -> dict[str, Any]:
    """Return counts, and the nodes with the same answer together: those that match first, then the largest groups."""
    # Answers are the same object for nodes that are alike, which is told much quicker than that they are equal.
    alike: dict[int, tuple[NodeAnswer, list[KnownNode]]] = {}
    for node in nodes:
        node_answer = answer(node)
        alike.setdefault(id(node_answer), (node_answer, []))[1].append(node)
    groups: dict[NodeAnswer, list[KnownNode]] = {}
    for node_answer, members in alike.values():
        groups.setdefault(node_answer, []).extend(members)
    matched = sum(len(members) for node_answer, members in groups.items() if node_answer.matches)
    total = sum(map(len, groups.values()))
    merged = _merged(groups)
    ordered = sorted(merged, key=lambda group: (not group[0][0].matches, -len(group[1]), group[0][0].reasons))
    left_out = ordered[MAX_GROUPS:]
    return {
        "total": total,
        "matched": matched,
        "unmatched": total - matched,
        "groups": [_group(answers, members) for answers, members in ordered[:MAX_GROUPS]],
        "leftOut": {"groups": len(left_out), "nodes": sum(len(members) for _, members in left_out)},
    }


_Merged = list[tuple[list[NodeAnswer], list[KnownNode]]]


def _merged(groups: dict[NodeAnswer, list[KnownNode]]) -> _Merged:
    """Return the groups, those together that differ by numbers and versions only, if there are many."""
    if len(groups) <= MAX_APART:
        return [([node_answer], members) for node_answer, members in groups.items()]
    alike: dict[Hashable, tuple[list[NodeAnswer], list[KnownNode]]] = {}
    for node_answer, members in groups.items():
        reasons = tuple(_VALUE.sub("…", reason) for reason in node_answer.reasons)
        answers, nodes = alike.setdefault(
            (node_answer.matches, node_answer.evicts, node_answer.seconds, node_answer.score, reasons), ([], [])
        )
        answers.append(node_answer)
        nodes += members
    return list(alike.values())


def _group(answers: list[NodeAnswer], members: list[KnownNode]) -> dict[str, Any]:
    first = answers[0]
    document: dict[str, Any] = {
        "matches": first.matches,
        "count": len(members),
        "nodes": [node.name for node in members[:MAX_NAMES]],
        "reason": "; ".join(first.reasons),
        "reasons": list(first.reasons),
        "notes": list(first.notes),
    }
    if len(answers) > 1:
        document["alike"] = {
            "count": len(answers) - 1,
            "reasons": ["; ".join(answer.reasons) for answer in answers[1 : MAX_ALIKE + 1] if answer.reasons],
        }
    if first.evicts:
        document["eviction"] = {"when": first.evicts, "seconds": first.seconds, "because": first.because}
    if first.score is not None:
        document["score"] = first.score
    return document


# -- tolerations ------------------------------------------------------------------------------------------------------


class TaintAnswers:
    """What tolerations say of nodes' taints. `given` is how many of them the user wrote: admission adds others.

    Whether a pod is placed is up to the scheduler's tolerations, whether it is evicted to the controller manager's.
    """

    def __init__(self, scheduler: TolerationSet, manager: TolerationSet, given: int) -> None:
        self._scheduler, self._manager, self._given = scheduler, manager, given
        self._known: dict[int, NodeAnswer] = {}

    def of_node(self, node: KnownNode) -> NodeAnswer:
        known_answer = self._known.get(node.taint_code)
        if known_answer is None:
            known_answer = self._known[node.taint_code] = self._answer(node.taints)
        return known_answer

    def _answer(self, taints: tuple[Taint, ...]) -> NodeAnswer:
        if not taints:
            return NodeAnswer(True, notes=("the node has no taints",), evicts=When.NEVER)
        reasons = tuple(self._why(taint) for taint in self._scheduler.untolerated(taints, _HARD))
        avoided = tuple(
            f"the scheduler prefers other nodes: {self._why(taint)}"
            for taint in self._scheduler.untolerated(taints, (PREFER_NO_SCHEDULE,))
        )
        eviction = decide_eviction(taints, self._manager)
        is_limited = eviction.when is When.AFTER
        return NodeAnswer(
            not reasons,
            reasons,
            avoided,
            str(eviction.when),
            eviction.seconds if is_limited else None,
            eviction.because,
        )

    def _why(self, taint: Taint) -> str:
        return self._scheduler.explain(taint) or f"taint {describe_taint_with_effect(taint)}: {NO_TOLERATION}"

    def table(self, nodes: KnownNodes) -> list[dict[str, Any]]:
        """Return each distinct taint: whether it is tolerated and by which toleration, or why it is not."""
        return [self._row(taint, count) for taint, count in nodes.taints[:MAX_TAINTS]]

    def _row(self, taint: Taint, count: int) -> dict[str, Any]:
        matching = self._scheduler.first_matching(taint)
        row = {**taint_parts(taint), "nodes": count, "tolerated": matching is not None}
        if matching is None:
            return {**row, "reason": self._why(taint)}
        index, toleration = matching
        by = index if index < self._given else None  # None: added by the API server
        return {**row, "by": by, "seconds": toleration.tolerationSeconds}


# -- node affinity ----------------------------------------------------------------------------------------------------


class LabelAnswers:
    """What a node selector and node affinity say of nodes' labels, once for all nodes that have them alike."""

    def __init__(self, spec: PodSpec, gates: GateSet) -> None:
        self._required = compile_required_node_affinity(spec.nodeSelector, spec.affinity, gates)
        node_affinity = spec.affinity.nodeAffinity if spec.affinity else None
        preferred = node_affinity.preferredDuringSchedulingIgnoredDuringExecution if node_affinity else ()
        self._preferred = compile_preferred_terms(preferred, gates) if preferred else None
        required = node_affinity.requiredDuringSchedulingIgnoredDuringExecution if node_affinity else None
        self._obstacle = gate_obstacle(required, gates)
        terms = _terms(spec.affinity)
        keys = {requirement.key for term in terms for requirement in term.matchExpressions} | set(spec.nodeSelector)
        self._keys = sorted(keys)
        self._reads_name = any(term.matchFields for term in terms)
        self._known: dict[Hashable, NodeAnswer] = {}

    def of_node(self, node: KnownNode) -> NodeAnswer:
        values = tuple(node.labels.get(key) for key in self._keys)
        name = node.name if self._reads_name else ""
        known_answer = self._known.get((values, name))
        if known_answer is None:
            known_answer = self._known[values, name] = self._answer(node.labels, node.name)
        return known_answer

    def _answer(self, labels: dict[str, str], name: str) -> NodeAnswer:
        reason = self._required.explain(labels, name)
        if reason is not None and self._obstacle is not None:
            reason = f"{self._obstacle} in the scheduler"
        if self._preferred is None:
            return NodeAnswer(reason is None, (reason,) if reason else ())
        notes = tuple(self._preferred.explain(labels, name)) if reason is None else ()
        score = self._preferred.score(labels, name)
        return NodeAnswer(reason is None, (reason,) if reason else (), notes, score=score)


def _terms(affinity: Affinity | None) -> list[NodeSelectorTerm]:
    node_affinity = affinity.nodeAffinity if affinity else None
    if node_affinity is None:
        return []
    required = node_affinity.requiredDuringSchedulingIgnoredDuringExecution
    preferred = node_affinity.preferredDuringSchedulingIgnoredDuringExecution
    return [*(required.nodeSelectorTerms if required else ()), *(term.preference for term in preferred)]


# -- pod affinity -----------------------------------------------------------------------------------------------------


class PodAnswers:
    """What pod affinity and anti-affinity say of nodes, by the pods that are there: the scheduler's own plugin."""

    def __init__(self, pod: Pod, cluster: Cluster) -> None:
        self._plugin, self._cluster = InterPodAffinity(), cluster
        self._prepared = self._plugin.prepare(cluster.shape_of(pod), cluster)

    def of_node(self, node: KnownNode) -> NodeAnswer:
        rejection = self._prepared.rejection
        if rejection is None and self._prepared.filters and node.slot >= 0:
            rejection = self._plugin.explain(self._prepared.want, self._cluster, node.slot)
        if rejection is None:
            return NodeAnswer(True)
        return NodeAnswer(False, rejection.details or rejection.reasons)


def both(first: NodeAnswer, second: NodeAnswer) -> NodeAnswer:
    """Return the answer of two rules that must both match."""
    return msgspec.structs.replace(
        first, matches=first.matches and second.matches, reasons=first.reasons + second.reasons
    )
