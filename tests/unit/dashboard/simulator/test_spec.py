"""What the server sends is what the simulator plans, and what `moorage plan` plans."""

import os
import signal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.unit.dashboard.simulator.conftest import CLUSTER, Make, answer_of

from moorage.dashboard.simulator.spec import InputSpec, LiveInput, lines_of, planner_of, spec_from
from moorage.model.gates import GATES, Component, default_gates
from moorage.plan.input.live_cluster import LiveCluster, Missing, load_live
from moorage.plan.input.live_gates import LiveGates, gates_to_plan_with
from moorage.plan.planner import Planner, Settings
from moorage.plan.report.plain import plain

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "1", "resourceVersion": "5"},
    "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "d", "uid": "2", "resourceVersion": "6"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "schedulerName": "default-scheduler"},
    "status": {"phase": "Pending"},
}
GATE = "TaintTolerationComparisonOperators"
COMPARISONS = next(gate for gate in GATES if gate.name == GATE)
LIVE = LiveCluster(
    "https://cluster.example:6443",
    "team",
    [NODE, POD],
    [Missing("PodDisruptionBudget", "it is forbidden")],
    LiveGates({GATE: {"kube-apiserver": True, "kube-scheduler": False}}, ("the kubelet does not answer",)),
    parameters=frozenset({"ConfigMap"}),
)
SCHEDULER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: mine}]
"""


def test_a_spec_survives_its_way() -> None:
    spec = InputSpec.of_live(LIVE, seed=3, feature_gates={GATE: True}, seq=17)
    assert spec_from(lines_of(spec)) == spec
    assert len(list(lines_of(spec))) == 3


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_a_truncated_spec_is_refused(lines: int) -> None:
    with pytest.raises(EOFError):
        spec_from(islice(lines_of(InputSpec.of_live(LIVE)), lines))


def test_a_truncated_line_is_refused() -> None:
    with pytest.raises(EOFError, match="ends early"):
        spec_from([next(lines_of(InputSpec.of_live(LIVE))), b'{"kind":'])


def direct(live: LiveCluster) -> dict[str, Any]:
    found = gates_to_plan_with(live.gates, {})
    planner = Planner(Settings(found[Component.API_SERVER], namespace=live.namespace, others=found))
    load_live(planner, live)
    return plain(planner.plan(planner.build()))


def test_a_live_cluster_has_its_gates_and_notes() -> None:
    planner = planner_of(spec_from(lines_of(InputSpec.of_live(LIVE))))
    assert planner.inventory.is_live
    assert planner.inventory.has_all("ConfigMap")
    assert not planner.inventory.has_all("PodDisruptionBudget")
    assert planner.settings.namespace == "team"
    assert planner.settings.gates_of(Component.API_SERVER).enabled(COMPARISONS)
    assert not planner.settings.gates_of(Component.SCHEDULER).enabled(COMPARISONS)
    notes = "\n".join(map(str, planner.inventory.notes))
    assert "PodDisruptionBudget: was not read: it is forbidden" in notes
    assert "the kubelet does not answer" in notes
    assert plain(planner.plan(planner.build())) == direct(LIVE)


def test_gates_of_the_command_line_come_first() -> None:
    planner = planner_of(InputSpec.of_live(LIVE, feature_gates={GATE: True}))
    assert planner.settings.gates_of(Component.SCHEDULER).enabled(COMPARISONS)
    assert any("is on here, as --feature-gates says" in note.message for note in planner.inventory.notes)


def test_files_have_default_gates_and_namespace() -> None:
    settings = planner_of(InputSpec(files=CLUSTER.files)).settings
    assert settings == Settings(default_gates())


def test_standard_input_is_a_file() -> None:
    planner = planner_of(InputSpec(files=["-"], stdin="{apiVersion: v1, kind: Node, metadata: {name: n1}}"))
    assert [item.key.name for item in planner.inventory.of_kind("Node")] == ["n1"]


@pytest.mark.real_time
async def test_seed_namespace_and_configuration_arrive(simulators: Make) -> None:
    spec = InputSpec(files=CLUSTER.files, seed=5, namespace="team", configuration=SCHEDULER)
    async with simulators(spec) as simulator:
        (part,) = await answer_of(simulator, "settings")
    assert (part["seed"], part["namespace"], part["profiles"]) == (5, "team", ["mine"])


@pytest.mark.real_time
async def test_live_objects_are_planned_as_the_command_plans_them(simulators: Make) -> None:
    async with simulators(InputSpec.of_live(LIVE)) as simulator:
        (part,) = await answer_of(simulator, "plan")
    assert part.pop("done") is True
    assert part == direct(LIVE)
    assert part["summary"]["placed"] == 1


@pytest.mark.real_time
async def test_the_next_generation_has_the_newest_revision_of_each_object(simulators: Make) -> None:
    def changed(raw: Any, version: str, **more: Any) -> Any:
        return {**raw, **more, "metadata": {**raw["metadata"], "resourceVersion": version}}

    async with simulators(InputSpec.of_live(LIVE)) as simulator:
        cordoned = changed(NODE, "7", spec={"unschedulable": True})
        for objects in ([cordoned, POD], [NODE, POD], [NODE], [cordoned, changed(POD, "8"), POD]):
            live = LIVE._replace(objects=objects)
            await simulator.load(InputSpec.of_live(live))
            (part,) = await answer_of(simulator, "plan")
            assert part.pop("done") is True
            assert part == direct(live)


@pytest.mark.real_time
async def test_other_gates_are_other_admissions(simulators: Make) -> None:
    tolerates = {"key": "level", "operator": "Lt", "value": "5", "effect": "NoSchedule"}
    pod = {**POD, "spec": {**POD["spec"], "tolerations": [tolerates]}}
    live = LIVE._replace(objects=[NODE, pod], gates=LiveGates({}))
    async with simulators(InputSpec.of_live(live)) as simulator:
        for on in (True, False, True):
            await simulator.load(InputSpec.of_live(live, feature_gates={GATE: on}))
            (part,) = await answer_of(simulator, "plan")
            planner = planner_of(InputSpec.of_live(live, feature_gates={GATE: on}))
            assert {**part, "done": True} == {**plain(planner.plan(planner.build())), "done": True}


@pytest.mark.real_time
async def test_a_reader_that_dies_is_restarted(simulators: Make) -> None:
    async with simulators(InputSpec.of_live(LIVE)) as simulator:
        (part,) = await answer_of(simulator, "settings")
        reader = int(Path(f"/proc/{part['pid']}/stat").read_text("ascii").rpartition(")")[2].split()[1])
        assert reader != simulator.pid
        os.kill(reader, signal.SIGKILL)
        await simulator.load(InputSpec.of_live(LIVE, seq=9))
        assert simulator.generation.seq == 9
        assert len(await answer_of(simulator, "plan")) == 1


def test_the_gates_of_live_input_are_optional() -> None:
    planner = planner_of(InputSpec(live=LiveInput("https://x"), objects=[NODE]))
    assert any("does not tell them" in note.message for note in planner.inventory.notes)
