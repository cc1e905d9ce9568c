"""Rollouts as the real controllers carry them out in virtual time: steps, limits, budgets, and why one is stuck."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, node, workload

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.dashboard.state.rollouts import (
    MAX_ENDED,
    MAX_STEPS,
    ROLLOUT_KINDS,
    Figures,
    FollowedRollout,
    Rollouts,
    _add,
)
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.inventory import Key
from moorage.plan.pod_lines import why_unplaced
from moorage.plan.rollout import kind_of_workload, restart

Raw = dict[str, Any]
NODES = (node("n1"), node("n2"))
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep", "namespace": "default"},
    "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}},
}


def web(replicas: int, surge: object, unavailable: object, cpu: str = "1") -> Raw:
    strategy = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return workload("Deployment", "web", cpu, None, replicas=replicas, strategy=strategy)


class Followed:
    """A settled simulation whose changes are followed from now on."""

    def __init__(self, *documents: Raw) -> None:
        self.simulation = Plan(*documents).simulation
        self.rollouts = Rollouts()
        for kind in ROLLOUT_KINDS:
            self.rollouts.changed(kind, [Delta(None, found) for found in self.simulation.world.all(kind)], 0.0)
        self.rollouts.begin(self.simulation.clock.now)
        self.simulation.api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind in ROLLOUT_KINDS:
            self.rollouts.changed(kind, [Delta(old, new)], self.simulation.clock.now)

    def restart(self, name: str, kind: str = "Deployment") -> None:
        restart(self.simulation, Key(kind, "default", name))
        self.simulation.settle()

    def scale(self, name: str, replicas: int) -> None:
        self.simulation.api.patch(kind_of_workload("Deployment"), name, "default", {"spec": {"replicas": replicas}}, "")
        self.simulation.settle()

    def say_why_pods_wait(self) -> None:
        """Write what the live scheduler would: a simulation keeps it to itself."""
        for pod in self.simulation.pods():
            if not pod.view.spec.nodeName:
                said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                said["message"] = why_unplaced(self.simulation, pod)
                patch = {"status": {"conditions": [said]}}
                self.simulation.api.patch(KINDS.POD, pod.name, pod.namespace, patch, "status")

    def told(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.rollouts.document()["rollouts"]
        return found


@pytest.mark.parametrize(
    ("surge", "unavailable", "limits"), [("25%", "25%", (1, 1)), (2, 0, (2, 0)), (0, 1, (0, 1)), ("100%", 0, (4, 0))]
)
def test_a_rollout_is_followed_to_its_end_within_its_limits(
    surge: object, unavailable: object, limits: tuple[int, int]
) -> None:
    followed = Followed(*NODES, web(4, surge, unavailable))
    assert followed.told() == []
    followed.restart("web")
    (rollout,) = followed.told()
    assert (rollout["workload"], rollout["state"], rollout["sawStart"]) == ("Deployment default/web", "complete", True)
    first, last = rollout["steps"][0], rollout["steps"][-1]
    assert (first["message"], first["updated"], first["old"]) == ("the template changed", 0, 4)
    assert (last["updated"], last["old"], last["available"]) == (4, 0, 4)
    for step in rollout["steps"]:
        assert (step["maxSurge"], step["maxUnavailable"]) == limits
        assert step["surge"] <= limits[0]
        assert step["unavailable"] <= limits[1]
        assert step["total"] == step["updated"] + step["old"]
    assert rollout["peakSurge"] == max(step["surge"] for step in rollout["steps"]) == limits[0]
    assert rollout["peakUnavailable"] == max(step["unavailable"] for step in rollout["steps"])
    assert last["surge"] == 0
    assert [step["time"] for step in rollout["steps"]] == sorted(step["time"] for step in rollout["steps"])
    assert any("scaled up from 0 to" in step["message"] for step in rollout["steps"])
    assert rollout["ended"] >= rollout["began"]


def test_a_stuck_rollout_lists_what_it_waits_for() -> None:
    followed = Followed(node("n1", cpu="2"), web(2, 1, 0))
    followed.restart("web")
    followed.say_why_pods_wait()
    (rollout,) = followed.told()
    assert rollout["state"] == "stuck"
    assert rollout["ended"] is None
    ((pod, why),) = rollout["pending"]
    assert pod.startswith("default/web-")
    assert "1 Insufficient cpu" in why
    simulation = followed.simulation
    simulation.run_until(simulation.clock.now + 700)
    (rollout,) = followed.told()
    assert rollout["stuck"][0].startswith("ProgressDeadlineExceeded: ReplicaSet ")


def test_a_rollout_lists_the_disruption_budgets_of_its_pods() -> None:
    other = {
        **BUDGET,
        "metadata": {"name": "other"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
    }
    followed = Followed(*NODES, web(4, 1, 0), BUDGET, other)
    followed.restart("web")
    (rollout,) = followed.told()
    (budget,) = rollout["budgets"]
    assert (budget["name"], budget["disruptionsAllowed"], budget["desiredHealthy"]) == ("keep", 1, 3)


def test_scaling_is_not_a_rollout() -> None:
    followed = Followed(*NODES, web(2, 1, 0))
    followed.scale("web", 4)
    assert followed.told() == []


def test_a_second_change_supersedes_the_first() -> None:
    followed = Followed(node("n1", cpu="2"), web(2, 1, 0))
    followed.restart("web")
    followed.simulation.run_until(followed.simulation.clock.now + 5)
    followed.restart("web")
    assert [rollout["state"] for rollout in followed.told()] == ["progressing", "superseded"]


def test_a_deleted_workload_ends_its_rollout() -> None:
    followed = Followed(node("n1", cpu="2"), web(2, 1, 0))
    followed.restart("web")
    followed.simulation.api.delete(kind_of_workload("Deployment"), "web", "default")
    followed.simulation.settle()
    assert [rollout["state"] for rollout in followed.told()] == ["deleted"]


def test_a_rollout_under_way_is_followed_from_the_middle() -> None:
    planned = Followed(node("n1", cpu="2"), web(2, 1, 0))
    planned.restart("web")
    late = Rollouts()
    for kind in ROLLOUT_KINDS:
        late.changed(kind, [Delta(None, found) for found in planned.simulation.world.all(kind)], 0.0)
    late.begin(9.0)
    (rollout,) = late.document()["rollouts"]
    assert (rollout["sawStart"], rollout["began"]) == (False, 9.0)
    (step,) = rollout["steps"]
    assert (step["updated"], step["old"], step["message"]) == (1, 2, "it was under way when it was first seen")


@pytest.mark.parametrize(("kind", "fields"), [("StatefulSet", {"replicas": 3, "serviceName": "s"}), ("DaemonSet", {})])
def test_other_kinds_are_followed_to_their_end(kind: str, fields: Raw) -> None:
    followed = Followed(*NODES, node("n3"), workload(kind, "agent", "1", None, **fields))
    followed.restart("agent", kind)
    (rollout,) = followed.told()
    assert rollout["state"] == "complete"
    steps = rollout["steps"]
    assert (steps[0]["updated"], steps[-1]["updated"], steps[-1]["old"]) == (0, 3, 0)
    assert all(step["unavailable"] <= step["maxUnavailable"] == 1 for step in steps)
    assert all(step["surge"] == step["maxSurge"] == 0 for step in steps)
    old = [step["old"] for step in steps]
    assert old == sorted(old, reverse=True)  # a new pod is never one of the old template, not even for a moment


def test_the_number_of_ended_rollouts_is_bounded() -> None:
    followed = Followed(*NODES, web(1, 1, 0))
    for _ in range(MAX_ENDED + 3):
        followed.simulation.run_until(followed.simulation.clock.now + 5)
        followed.restart("web")
    assert len(followed.told()) == MAX_ENDED


def test_the_peak_is_kept_when_steps_are_not() -> None:
    rollout = FollowedRollout(workload="w", uid="u", generation=1, began=0.0, saw_start=True, steps=[])
    figures = Figures(4, 0, 4, 4, 2, 1)
    for number in range(3 * MAX_STEPS):
        _add(rollout, figures._replace(updated=2 if number == 7 else 0, available=4 - (number == 9)), "", float(number))
    assert len(rollout.steps) <= MAX_STEPS
    assert (rollout.peak_surge, rollout.peak_unavailable) == (2, 1)
