"""Explanations on random clusters: what is suggested works, every refusal is told, looking leaves no trace."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_clusters import Scene, build, scenes
from tests.laws.test_plan_laws import clusters
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Plan, Raw

from moorage.admit.admission import Rejected, admit
from moorage.columns.cluster import Cluster
from moorage.model.gates import GateSet, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod, Toleration
from moorage.plan.explain.explanation import plain
from moorage.plan.explain.groups import refused_nodes
from moorage.plan.explain.remedies.change import Blockers, Change, ChangeKind, with_spec
from moorage.plan.explain.remedies.trials import Propose, Trials, passing, propose
from moorage.plan.explain.text import ExplanationText
from moorage.plan.pod_lines import PRESENT, State
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.framework.plugin import Mask

GATES = gates_from({"AllAlpha": True})


class UntriedTrials(Trials):
    """Broken on purpose: believes every proposal."""

    def _opened(self, change: Change) -> Mask:
        return np.ones(self._cluster.nodes.slots.capacity, np.bool_)


class LeavesNodesChanged(Trials):
    """Broken on purpose: what was tried on a node stays."""

    def _opened_by_node(self, node: Node) -> Mask:
        mask = super()._opened_by_node(node)
        self._cluster.update_node(node)
        return mask


def _candidates(cluster: Cluster, pod: Pod) -> Candidates:
    return Candidates(default_profile(GATES), cluster.shape_of(pod, by_name=True), cluster)


def _fits(scene: Scene, pod: Pod, node: Node | None, gone: str = "") -> set[str]:
    """Where the pod fits in a cluster that is built anew, with what is changed in it."""
    cluster = build(scene)
    if gone:
        cluster.remove_pod(cluster.pods[gone])
    if node is not None:
        cluster.update_node(node)
    slots = np.flatnonzero(passing(_candidates(cluster, pod)))
    return {cluster.nodes.node(slot).metadata.name for slot in slots.tolist()}


def _law(check: Callable[[type[Trials], Scene], None], kind: type[Trials]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(scenes())
    def law(scene: Scene) -> None:
        check(kind, scene)

    return law


def _what_is_suggested_works(kind: type[Trials], scene: Scene) -> None:
    cluster, pod = build(scene), convert_view(scene.pod, Pod)
    trials = kind(default_profile(GATES), cluster, pod, GATES)
    among = cluster.nodes.alive & ~passing(_candidates(cluster, pod))
    for suggestion in trials.suggestions(among):
        assert suggestion.nodes
        change = suggestion.change
        assert set(suggestion.nodes) <= _fits(scene, change.pod or pod, change.node, change.gone), change.summary
    together = trials.together(among)
    if together is not None:
        last = together.changes[-1].pod
        assert last is not None
        assert together.node in _fits(scene, last, None)


def _trials_leave_no_trace(kind: type[Trials], scene: Scene) -> None:
    cluster, pod = build(scene), convert_view(scene.pod, Pod)
    before = refused_nodes(_candidates(cluster, pod))
    trials = kind(default_profile(GATES), cluster, pod, GATES)
    trials.suggestions(cluster.nodes.alive & ~passing(_candidates(cluster, pod)))
    assert refused_nodes(_candidates(cluster, pod)) == before


def test_what_is_suggested_works() -> None:
    _law(_what_is_suggested_works, Trials)()


def test_the_law_notices_what_was_not_tried() -> None:
    assert_notices(_law(_what_is_suggested_works, UntriedTrials))


def test_trials_leave_no_trace() -> None:
    _law(_trials_leave_no_trace, Trials)()


def test_the_law_notices_a_trace() -> None:
    assert_notices(_law(_trials_leave_no_trace, LeavesNodesChanged))


def refusals_of(candidates: Candidates, slot: int) -> tuple[Refusal, ...]:
    asked = [item for item in candidates.filters if item.prepared.rejection is None]
    verdicts = [(item, item.plugin.explain(item.prepared.want, candidates.cluster, slot)) for item in asked]
    return tuple(Refusal(item.plugin.name, verdict) for item, verdict in verdicts if verdict is not None)


@LAW_SETTINGS
@given(scenes())
def test_every_refusal_of_every_node_is_told(scene: Scene) -> None:
    cluster, pod = build(scene), convert_view(scene.pod, Pod)
    candidates = _candidates(cluster, pod)
    told = {name: group.refusals for group in refused_nodes(candidates) for name in group.nodes}
    for slot, node in cluster.nodes:
        assert told.get(node.metadata.name, ()) == refusals_of(candidates, slot)
    if candidates.rejection is None:
        fitting = {cluster.nodes.node(slot).metadata.name for slot in np.flatnonzero(passing(candidates)).tolist()}
        assert fitting == {node.metadata.name for _, node in cluster.nodes} - told.keys()


EXPLAINED = {*PRESENT, State.FAILED, State.EVICTED}


def _explain_and_plan_agree(alone: bool) -> Callable[[], None]:
    """Of every pod both say the same, because a pod is explained at its turn."""

    @LAW_SETTINGS
    @given(clusters())
    def law(documents: list[Raw]) -> None:
        lines = {line.key: line for line in Plan(*documents).outcome.pods if line.state in EXPLAINED}
        for line in lines.values():  # of pods of one name, the last one
            told = explained(*documents, pod=line.key, alone=alone, gates={})
            assert told.node == (line.node or line.last_node)
            assert (told.reason, told.message) == (line.reason, line.message)
            text = list(ExplanationText(everything=True).lines(told))
            assert text[0].startswith(f"pod {line.key}")
            json.dumps(plain(told))

    return law


def test_explain_and_plan_agree() -> None:
    _explain_and_plan_agree(alone=False)()


def test_a_pod_that_is_explained_before_its_turn_is_noticed() -> None:
    assert_notices(_explain_and_plan_agree(alone=True))


def _acceptable(scene: Scene) -> Raw:
    """The pod that asks, without what no API server would take."""
    raw: Raw = copy.deepcopy(scene.pod)
    spec = raw["spec"]
    del spec["priority"]
    spec.pop("nodeName", None)
    spec["volumes"] = [{**volume, "name": f"v{number}"} for number, volume in enumerate(spec["volumes"])]
    for container in spec["containers"]:
        for port in container["ports"]:
            port["containerPort"] = port["hostPort"]
        extended = {name: value for name, value in container["resources"]["requests"].items() if "/" in name}
        container["resources"]["limits"] = extended
    return {"apiVersion": "v1", "kind": "Pod", **raw}


def _written(value: Any) -> Any:
    """A view as a document: without what is empty."""
    if isinstance(value, dict):
        kept = {name: _written(one) for name, one in value.items()}
        return {name: one for name, one in kept.items() if one not in (None, "", [], {}, 0, False)}
    return [_written(one) for one in value] if isinstance(value, list | tuple) else value


def _what_is_suggested_would_be_accepted(proposals: Propose, scene: Scene) -> None:
    raw = _acceptable(scene)
    if isinstance(admit(copy.deepcopy(raw), None, GATES), Rejected):
        return
    cluster, pod = build(scene), convert_view(raw, Pod)
    trials = Trials(default_profile(GATES), cluster, pod, GATES, proposals=proposals)
    among = cluster.nodes.alive & ~passing(_candidates(cluster, pod))
    together = trials.together(among)
    changes = [one.change for one in trials.suggestions(among)] + list(together.changes if together is not None else ())
    for change in changes:
        if change.pod is not None:
            document = _written(msgspec.to_builtins(change.pod, enc_hook=str))
            result = admit({"apiVersion": "v1", "kind": "Pod", **document}, None, GATES)
            assert not isinstance(result, Rejected), change.summary


def _proposes_nonsense(blockers: Blockers, gates: GateSet, programs: Any) -> Iterator[Change]:
    """Broken on purpose: a toleration that the scheduler would honour and no API server takes."""
    nonsense = Toleration(operator="Exists", value="x")
    yield Change(ChangeKind.TOLERATION, "t", "nonsense", 1, pod=with_spec(blockers.pod, tolerations=(nonsense,)))


def _law_of_acceptance(proposals: Propose) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(scenes())
    def law(scene: Scene) -> None:
        _what_is_suggested_would_be_accepted(proposals, scene)

    return law


def test_what_is_suggested_would_be_accepted() -> None:
    _law_of_acceptance(propose)()


def test_a_change_that_no_server_takes_is_noticed() -> None:
    assert_notices(_law_of_acceptance(_proposes_nonsense))
