"""What controllers and users did, told from what the real controllers change in virtual time."""

from typing import Any

from tests.unit.plan.planning import Plan, node, workload

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.dashboard.state.workload_changes import workload_changes
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.inventory import Key
from moorage.plan.rollout import kind_of_workload, restart


def told_after(act: Any, *documents: dict[str, Any]) -> list[str]:
    """What is told while a settled cluster reacts to something."""
    simulation = Plan(*documents).simulation
    lines: list[str] = []

    def changed(kind: Kind, old: Object | None, new: Object | None) -> None:
        lines.extend(
            f"{one.subject}: {one.detail}" for one in workload_changes(kind, [Delta(old, new)], simulation.clock.now)
        )

    simulation.api.listeners.append(changed)
    act(simulation)
    simulation.settle()
    return lines


def test_scaling_is_reported_for_the_workload_and_its_controller() -> None:
    def act(simulation: Any) -> None:
        simulation.api.patch(kind_of_workload("Deployment"), "web", "default", {"spec": {"replicas": 3}})

    lines = told_after(act, node("n1"), workload("Deployment", "web", replicas=2))
    assert lines[0] == "Deployment default/web: was scaled up from 2 to 3"
    assert lines[1].startswith("Deployment default/web: web-")
    assert lines[1].endswith(" was scaled up from 2 to 3")
    assert lines[2].startswith("ReplicaSet default/web-")
    assert ": created Pod web-" in lines[2]
    assert len(lines) == 3


def test_a_new_template_and_its_consequences_are_reported() -> None:
    lines = told_after(
        lambda simulation: restart(simulation, Key("Deployment", "default", "web")),
        node("n1"),
        workload("Deployment", "web", replicas=1),
    )
    assert lines[0] == "Deployment default/web: has another template"
    assert lines[1].startswith("Deployment default/web: created ReplicaSet web-")
    assert any(line.endswith("was scaled down from 1 to 0") for line in lines)


def test_pausing_and_deletion_are_reported() -> None:
    def act(simulation: Any) -> None:
        kind = kind_of_workload("Deployment")
        simulation.api.patch(kind, "web", "default", {"spec": {"paused": True}})
        simulation.api.patch(kind, "web", "default", {"spec": {"paused": False}})
        simulation.api.delete(kind, "web", "default")

    lines = told_after(act, node("n1"), workload("Deployment", "web", replicas=1))
    assert lines == [f"Deployment default/web: {what}" for what in ("was paused", "goes on", "was deleted")]


def test_what_one_controller_creates_at_once_is_one_line() -> None:
    simulation = Plan(node("n1"), workload("Deployment", "web", replicas=3)).simulation
    pods = [Delta(None, found) for found in simulation.world.all(KINDS.POD)]
    (line,) = workload_changes(KINDS.POD, pods, simulation.clock.now)
    assert line.detail == f"created Pod {pods[0].new and pods[0].new.name} and 2 more"
    assert line.workload == "Deployment default/web"


def test_objects_of_a_first_list_are_no_news() -> None:
    simulation = Plan(node("n1"), workload("Deployment", "web", replicas=3)).simulation
    pods = [Delta(None, found) for found in simulation.world.all(KINDS.POD)]
    assert workload_changes(KINDS.POD, pods, simulation.clock.now + 3600) == []
