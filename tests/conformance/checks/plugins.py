"""plugins*.json: real kube-scheduler plugins on random clusters, each by itself and all of them together.

Kubernetes no longer names the taint in TaintToleration's reason and Moorage does, so that reason is mapped back before
the comparison. Whatever the vectors leave unsaid is checked too: that masks, single slots and explanations agree.
"""

import re
from collections import Counter
from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import NO_SLOT, Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.diagnosis import Diagnosis, diagnose
from moorage.schedule.framework.plugin import Plugin, Prepared, Verdict
from moorage.schedule.preemption.preemption import DefaultPreemption

_NAMESPACES: dict[str, dict[str, str]] = {
    "default": {},
    "team-a": {"team": "a", "env": "prod"},
    "team-b": {"team": "b"},
}
_WITH_PREFILTER = ("InterPodAffinity", "NodeAffinity", "NodePorts", "NodeResourcesFit", "PodTopologySpread")
_WITHOUT_PREFILTER = ("NodeName", "NodeUnschedulable", "TaintToleration")
_TAINT_REASON = re.compile(r"node\(s\) had untolerated taint \{.*\}( \(.*\))?")


def check_plugins(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    cluster, candidates = _asked(given)
    got: dict[str, Any] = {"preFilter": _prefilter(candidates), "filter": _filter(cluster, candidates)}
    feasible = candidates.feasible()
    slots = {node.metadata.name: slot for slot, node in cluster.nodes if feasible[slot]}
    got["feasible"] = sorted(slots)
    if slots:
        table = candidates.score_table(feasible)
        got["scores"] = {
            plugin: {name: int(scores[slot]) for name, slot in slots.items()} for plugin, scores in table.items()
        }
        got["total"] = {name: sum(int(scores[slot]) for scores in table.values()) for name, slot in slots.items()}
        best = candidates.best()
        if not feasible[best] or got["total"][cluster.nodes.node(best).metadata.name] != max(got["total"].values()):
            return f"{cluster.nodes.node(best).metadata.name} is not the best node: {got['total']}"
    else:
        diagnosis = _as_kubernetes_counts(diagnose(candidates))
        got["fitError"] = diagnosis.text()
        got["fitErrorWithPreemption"] = diagnosis.text(DefaultPreemption(cluster).preempt(candidates).message)
        if candidates.best() != NO_SLOT:
            return "no node is feasible, yet there is a best one"
    return _difference(got, want) or _disagreement(cluster, candidates)


def _asked(given: dict[str, Any]) -> tuple[Cluster, Candidates]:
    cluster = Cluster()
    for name, labels in _NAMESPACES.items():
        cluster.set_namespace(name, {**labels, "kubernetes.io/metadata.name": name})
    for raw in given["nodes"]:
        cluster.add_node(convert_view(raw, Node))
    for raw in given["pods"] or ():
        pod = convert_view(raw, Pod)
        slot = cluster.nodes.slot_of.get(pod.spec.nodeName)
        if slot is not None:
            cluster.add_pod(cluster.record(f"{pod.metadata.namespace}/{pod.metadata.name}", pod), slot)
    profile = default_profile(gates_from({"TaintTolerationComparisonOperators": given["gate"]}))
    pod = convert_view(given["pod"], Pod)
    return cluster, Candidates(profile, cluster.shape_of(pod, pod.spec.nodeName), cluster)


def _prefilter(candidates: Candidates) -> dict[str, Any]:
    statuses: dict[str, Any] = {}
    for plugin, prepared in candidates.prepared.items():
        if plugin.name not in _WITH_PREFILTER:
            continue
        if prepared.rejection is not None:
            statuses[plugin.name] = _status(prepared.rejection)
        elif not _filters(plugin, prepared, candidates.cluster):
            statuses[plugin.name] = {"code": "Skip"}
        else:
            statuses[plugin.name] = {"code": "Success"}
            if prepared.only_nodes is not None:
                statuses[plugin.name]["nodeNames"] = sorted(prepared.only_nodes)
    return statuses


def _filter(cluster: Cluster, candidates: Candidates) -> dict[str, Any]:
    statuses: dict[str, Any] = {name: {} for name in _WITHOUT_PREFILTER}
    for item in candidates.filters:
        plugin, prepared = item.plugin, item.prepared
        if plugin.name in _WITHOUT_PREFILTER or (
            plugin.name in _WITH_PREFILTER and prepared.rejection is None and _filters(plugin, prepared, cluster)
        ):
            statuses[plugin.name] = {
                node.metadata.name: _status(verdict)
                for slot, node in cluster.nodes
                if (verdict := plugin.explain(prepared.want, cluster, slot)) is not None
            }
    return statuses


def _filters(plugin: Plugin[Any], prepared: Prepared, cluster: Cluster) -> bool:
    return prepared.filters and plugin.filters_now(prepared.want, cluster)


def _status(verdict: Verdict) -> dict[str, Any]:
    return {"code": str(verdict.code), "reasons": [_as_kubernetes(reason) for reason in verdict.reasons]}


def _as_kubernetes(reason: str) -> str:
    return "node(s) had untolerated taint(s)" if _TAINT_REASON.fullmatch(reason) else reason


def _as_kubernetes_counts(diagnosis: Diagnosis) -> Diagnosis:
    reasons: Counter[str] = Counter()
    for reason, count in diagnosis.reasons.items():
        reasons[_as_kubernetes(reason)] += count
    return msgspec.structs.replace(diagnosis, reasons=reasons)


def _difference(got: dict[str, Any], want: dict[str, Any]) -> str | None:
    for key in sorted(got.keys() | want.keys()):
        ours, theirs = got.get(key), want.get(key)
        if ours == theirs:
            continue
        if not isinstance(ours, dict) or not isinstance(theirs, dict):
            return f"{key}: got {ours}, want {theirs}"
        for part in sorted(ours.keys() | theirs.keys()):
            if ours.get(part) != theirs.get(part):
                return f"{key}.{part}: got {ours.get(part)}, want {theirs.get(part)}"
    return None


def _disagreement(cluster: Cluster, candidates: Candidates) -> str | None:
    """Mask, single slot and explanation say the same, and reasons are counted as they are given."""
    for item in candidates.filters:
        plugin, want = item.plugin, item.prepared.want
        if item.prepared.rejection is not None:
            continue
        mask = candidates.mask(item)
        counted: Counter[str] = Counter()
        for slot, node in cluster.nodes:
            verdict = plugin.explain(want, cluster, slot)
            if bool(mask[slot]) != (verdict is None) or plugin.filter_slot(want, cluster, slot) != (verdict is None):
                return f"{plugin.name} on {node.metadata.name}: the mask says {mask[slot]}, the explanation {verdict}"
            counted.update(verdict.reasons if verdict is not None else ())
        refused = np.flatnonzero(cluster.nodes.alive & ~mask)
        if plugin.reasons(want, cluster, refused) != counted:
            return f"{plugin.name} counts {plugin.reasons(want, cluster, refused)}, and explains {counted}"
    return None
