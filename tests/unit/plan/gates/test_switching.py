"""Gates switched step by step: who is evicted, refused, dropped, or stays Pending, and when."""

from typing import Any

import pytest
from tests.unit.plan.planning import Raw, node, pod, workload, written

from moorage.model.gates import Component, GateSet, default_gates, gates_from
from moorage.plan.gates.gate_file import Switch, read_gate_file
from moorage.plan.gates.switching import NO_POD, GatePlay, play_switches, settings_with
from moorage.plan.planner import Planner, Settings
from moorage.plan.report.gate_steps import GateStepsReport, markdown_play, plain_play

GATE = "TaintTolerationComparisonOperators"
KEYS = "MatchLabelKeysInPodAffinity"
API, SCHEDULER, MANAGER, KUBELET = Component
ON, OFF = gates_from({GATE: True}), default_gates()
TAINT = {"key": "fp", "value": "3", "effect": "NoExecute"}
BELOW_FIVE = {"tolerations": [{"key": "fp", "operator": "Lt", "value": "5", "effect": "NoExecute"}]}
WEB = workload("Deployment", "web", "1", BELOW_FIVE, replicas=2)
TAINTED = node("n1", taints=[TAINT])


def played(before: GateSet, steps: list[Switch] | str, *documents: Raw) -> GatePlay:
    switches = read_gate_file(steps.encode(), "f") if isinstance(steps, str) else steps
    settings = settings_with(Settings(default_gates()), [dict.fromkeys(Component, before)])
    return play_switches(Planner(settings), written(*documents), switches)


def one_by_one(gates: GateSet, *components: Component) -> list[Switch]:
    return [{component: gates} for component in components]


def test_rollback_in_the_order_of_the_runbook() -> None:
    play = played(ON, one_by_one(OFF, API, SCHEDULER, MANAGER, KUBELET), TAINTED, WEB)
    api, scheduler, manager, kubelet = play.steps
    assert api.switched == (f"kube-apiserver: {GATE} on → off",)
    assert [(write.subject, write.gate) for write in api.refused] == [("Deployment default/web", GATE)]
    assert "new pods of it are rejected" in api.refused[0].message
    assert (api.summary, api.evicted, api.harms) == (NO_POD, [], True)
    assert (scheduler.summary, scheduler.harms) == (NO_POD, False)
    assert [(one.workload, one.node) for one in manager.evicted] == [("Deployment default/web", "n1")] * 2
    assert [line.counts for line in manager.not_created] == ["0 of 2 pods exist; 2 are refused"]
    assert (kubelet.summary, kubelet.harms) == (NO_POD, False)
    assert not any(step.notes for step in play.steps)
    assert play.sentence == "2 pods are evicted and not replaced, 2 are refused"


def test_rollback_that_begins_with_the_controller_manager_evicts_without_end() -> None:
    play = played(ON, one_by_one(OFF, MANAGER, SCHEDULER, API), TAINTED, WEB)
    manager, scheduler, _ = play.steps
    assert [loop.workload for loop in manager.loops] == ["Deployment default/web"]
    assert f"disable {GATE} in kube-apiserver, kube-scheduler before kube-controller-manager" in " ".join(manager.notes)
    assert "half enabled" in " ".join(manager.notes)
    assert len(scheduler.pending) == 2
    assert scheduler.evicted == []  # those that the loop goes on with are not its doing
    assert play.sentence == "2 pods become Pending"


def test_upgrade_applies_what_was_refused_once_more() -> None:
    play = played(OFF, one_by_one(ON, KUBELET, MANAGER, SCHEDULER, API), TAINTED, WEB)
    assert [step.summary for step in play.steps] == [NO_POD, NO_POD, NO_POD, "2 pods are added"]
    assert (play.before.rejected, play.after.rejected) == (1, 0)
    assert not play.harms


def test_upgrade_that_begins_with_the_api_server_leaves_pods_pending_then_evicts_them() -> None:
    api, scheduler, manager, kubelet = played(OFF, one_by_one(ON, API, SCHEDULER, MANAGER, KUBELET), TAINTED, WEB).steps
    assert len(api.pending) == 2
    assert f"needs the feature gate {GATE} in the scheduler" in api.pending[0].message
    assert scheduler.loops
    assert {pod.reason for pod in manager.failed} == {"TaintToleration"}
    assert not kubelet.harms


def test_fields_that_the_api_server_drops_are_named_and_dropped() -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "keys"}},
        "matchLabelKeys": ["pod-template-hash"],
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    keys = workload("Deployment", "keys", "1", {"affinity": affinity}, replicas=1)
    (step,) = played(OFF, [{API: gates_from({KEYS: False})}], node("n1"), keys).steps
    assert [(write.subject, write.gate) for write in step.dropped] == [("Deployment default/keys", KEYS)]
    assert step.refused == []
    assert (step.summary, step.harms) == (NO_POD, True)


def test_components_of_one_entry_are_switched_at_once() -> None:
    play = played(OFF, f"- all: {{{GATE}: true}}", TAINTED, WEB)
    assert [len(step.switched) for step in play.steps] == [4]
    assert not play.harms


def test_same_gates_switch_nothing() -> None:
    (step,) = played(ON, [{API: ON}], TAINTED, WEB).steps
    assert (step.switched, step.summary, step.harms) == ((), NO_POD, False)


def test_gates_that_a_component_does_not_read_are_not_named() -> None:
    (step,) = played(OFF, [{KUBELET: gates_from({KEYS: False})}], node("n1")).steps
    assert step.switched == ()


def test_what_is_refused_with_all_gates_stays_refused() -> None:
    bad = workload("Deployment", "bad", replicas=-1)
    play = played(OFF, one_by_one(ON, API, SCHEDULER), TAINTED, WEB, bad)
    assert (play.before.rejected, play.after.rejected) == (2, 1)


def test_names_of_new_pods_are_not_those_of_pods_that_left() -> None:
    play = played(ON, one_by_one(OFF, SCHEDULER, MANAGER), node("n1", taints=[TAINT]), node("n2"), WEB, pod("bare"))
    left = {one.pod for step in play.steps for one in step.evicted}
    assert left
    assert not left & {pod.key for pod in play.after.pods if pod.is_present}


@pytest.mark.parametrize("everything", [False, True])
def test_reports_tell_the_same(everything: bool) -> None:
    play = played(ON, one_by_one(OFF, API, SCHEDULER, MANAGER), TAINTED, WEB)
    text = "\n".join(GateStepsReport(width=1000, everything=everything).play(play))
    page = "\n".join(markdown_play(play, everything=everything))
    for part in (
        f"1. kube-apiserver: {GATE} on → off",
        "refused from now on: Deployment default/web: the template stays",
        "evicted: Deployment default/web 2 pods at once from n1, then not replaced: operator Lt needs the feature gate",
        "not created: Deployment default/web 0 of 2 pods exist; 2 are refused: Error creating: ",
        "After 3 steps: 2 pods are evicted and not replaced, 2 are refused.",
    ):
        assert part in text
        assert part in page
    steps: list[dict[str, Any]] = plain_play(play)["gateSteps"]
    assert [step["number"] for step in steps] == [1, 2, 3]
    assert steps[0]["refused"][0]["object"] == "Deployment default/web"
    assert len(steps[2]["evicted"]) == 2
    assert steps[2]["notCreated"][0]["refused"] == 2
