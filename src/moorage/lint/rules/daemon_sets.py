"""Find DaemonSets that none of the input's nodes would run: DESIRED is 0, and no event says why.

Judged by the rule of the DaemonSet controller, only if the input has nodes. Left alone are DaemonSets for another
operating system or architecture, and those that a label switches on which no node has yet (`gpu-agent: "true"`), as
people park them. Memory and time are bounded. Kubernetes: nodes that do not fit are passed over in silence.
"""

import time
from collections.abc import Iterator, Sequence

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, collector
from moorage.lint.finding import SourcePlace
from moorage.lint.meant_words import did_you_mean
from moorage.lint.report.form import counted
from moorage.lint.report.reason_shapes import without_values
from moorage.lint.rules.placement import label_advice
from moorage.lint.rules.spread import Domains, NodeFacts
from moorage.lint.subject import Complaint, PlacedComplaint, Subject
from moorage.match.daemon_pods import DaemonTemplate
from moorage.match.evaluation.accounts import EVALUATION_BUDGET, Evaluations
from moorage.match.label_keys import REQUIRED
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.match.tolerations import ProgramCache
from moorage.model.gates import GateSet, all_gates
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node, NodeSelectorTerm, NodeSpec, Taint
from moorage.model.types.pod import PodSpec
from moorage.model.well_known.labels import ARCH, BETA_ARCH, BETA_OS, OS

_RULE = "daemonset-runs-nowhere"
_ALL_GATES = all_gates()
_MAX_KEPT = 2_000
_MAX_SECONDS = 3.0
_MAX_GROUPS = 4
_PLATFORM = frozenset({OS, ARCH, BETA_OS, BETA_ARCH})
#: Values of labels that switch something on.
_SWITCHED_ON = frozenset({"true", "yes", "on", "enabled", ""})


class _Kept(msgspec.Struct, frozen=True):
    """A DaemonSet's pod spec, and where its fields are."""

    spec: PodSpec
    selector: SourcePlace
    tolerations: SourcePlace


@collector(
    Theme.BUDGETS,
    Rule(
        _RULE, WARNING, "None of the input's nodes would run a pod of this DaemonSet: DESIRED is 0, without any event."
    ),
)
class DaemonSetFacts:
    """The DaemonSets of the input."""

    def __init__(self, gates: GateSet) -> None:
        self._kept: list[_Kept] = []
        self._programs = ProgramCache(evaluations=Evaluations(EVALUATION_BUDGET))

    def add(self, subject: Subject) -> None:
        pods = subject.pods
        if subject.kind != "DaemonSet" or pods is None or len(self._kept) >= _MAX_KEPT:
            return
        spec = pods.spec
        field = "nodeName" if spec.nodeName else "nodeSelector"
        if not spec.nodeName and not spec.nodeSelector and spec.affinity is not None:
            field = f"affinity.nodeAffinity.{REQUIRED}"
        places = [subject.place(f"{pods.spec_path}.{name}") for name in (field, "tolerations")]
        self._kept.append(_Kept(spec, *places))

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        known = facts.of(Domains).nodes
        nodes = [_as_node(one) for one in known] if self._kept else []
        until = time.monotonic() + _MAX_SECONDS
        for kept in self._kept if nodes else ():
            if time.monotonic() > until:
                return
            template = DaemonTemplate(kept.spec, _ALL_GATES, self._programs)
            if not any(template.fits(node).should_run for node in nodes) and not _is_parked(kept.spec, known):
                yield _complaint(template, kept, nodes, known)


def _as_node(facts: NodeFacts) -> Node:
    return Node(metadata=ObjectMeta(name=facts.name, labels=facts.labels), spec=NodeSpec(taints=facts.taints))


def _is_parked(spec: PodSpec, nodes: Sequence[NodeFacts]) -> bool:
    """Return whether the DaemonSet is meant for other nodes than these."""
    keys = {key for node in nodes for key in node.labels}
    for key, value in spec.nodeSelector.items():
        if key in _PLATFORM and not any(node.labels.get(key) == value for node in nodes):
            return True
        if key not in keys and value.lower() in _SWITCHED_ON and not did_you_mean(key, keys):
            return True
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else None
    terms = required.nodeSelectorTerms if required is not None else ()
    return bool(terms) and all(_is_other_platform(term, nodes) for term in terms)


def _is_other_platform(term: NodeSelectorTerm, nodes: Sequence[NodeFacts]) -> bool:
    return any(
        one.key in _PLATFORM
        and one.operator == "In"
        and not any(node.labels.get(one.key) in one.values for node in nodes)
        for one in term.matchExpressions
    )


def _complaint(
    template: DaemonTemplate, kept: _Kept, nodes: Sequence[Node], known: Sequence[NodeFacts]
) -> PlacedComplaint:
    groups: dict[tuple[str, ...], list[Node]] = {}
    taints: dict[Taint, None] = {}
    by_labels = 0
    for node in nodes:
        objections = template.objections(node)
        by_labels += bool(objections.labels or objections.node_name)
        taints.update(dict.fromkeys(objections.taints))
        groups.setdefault(tuple(map(without_values, template.sentences(objections))), []).append(node)
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].metadata.name))
    said = [_group_text(template, group) for group in ordered[:_MAX_GROUPS]]
    more = len(ordered) - _MAX_GROUPS
    if more > 0:
        said.append(f"{counted(sum(map(len, ordered[_MAX_GROUPS:])), 'node')} for {more:,} other reasons")
    who = (
        "the node of the input should not"
        if len(nodes) == 1
        else f"none of the {len(nodes):,} nodes of the input should"
    )
    message = f"{who} run a pod, so that DESIRED is 0 and no event says why; {'; '.join(said)}"
    # What keeps most nodes out is the place to look at.
    if 2 * by_labels >= len(nodes):
        return Complaint(_RULE, kept.selector.path, message, label_advice(kept.spec, known)), kept.selector
    taint = next(iter(taints))
    hint = f"tolerate the taint {describe_taint_with_effect(taint)}, or remove it from nodes that should run a pod"
    return Complaint(_RULE, kept.tolerations.path, message, hint), kept.tolerations


def _group_text(template: DaemonTemplate, group: Sequence[Node]) -> str:
    name = group[0].metadata.name
    who = f"node {name}" if len(group) == 1 else f"{len(group):,} nodes, such as {name}"
    return f"{who}: {'; '.join(template.sentences(template.objections(group[0])))}"
