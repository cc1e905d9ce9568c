"""What kubelets do not take although it was bound to them, and how they say so."""

from typing import Any

import pytest
from tests.log_text import log_text
from tests.unit.run.simulation import Simulation, container, simulating

from moorage.model.gates import GateSet, gates_from
from moorage.model.kinds import KINDS
from moorage.run.simulated_pod import REFUSAL_DELAY

_OFF = gates_from({})
_ALL = gates_from({"AllAlpha": True})
_SLA = {"key": "sla", "value": "950", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"containers": [container(resources={"requests": {"cpu": "5"}})]},
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000",
        ),
        (
            {"nodeSelector": {"disk": "ssd"}},
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        ({"os": {"name": "windows"}}, "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"),
    ],
)
async def test_refused_pod_fails(spec: dict[str, Any], reason: str, message: str, simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(**spec)
    await simulation.refusals()
    status = await simulation.status()
    assert status["phase"] == "Failed"
    assert status["observedGeneration"] == 1
    assert (status["reason"], status["message"]) == (reason, f"Pod was rejected: {message}")
    assert simulation.reports == [("p", "Warning", reason, message)]
    label = reason if reason != "NodeAffinity" else "Other"
    counted = f'kubelet_admission_rejections_total{{reason="{label}"}} 1'
    assert simulation.measured("kubelet_admission_rejections_total") == counted
    await simulation.settle(1000)
    assert await simulation.phase() == "Failed"


_RESTARTS_ALL = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}


@pytest.mark.parametrize(
    ("declared", "is_on", "reason"),
    [
        (None, True, ""),
        (None, False, "PodFeatureUnsupported"),
        ([], True, "PodFeatureUnsupported"),  # the node says that it has another kubelet, which declares nothing
        (["RestartAllContainersOnContainerExits"], False, ""),
    ],
)
async def test_pod_whose_features_the_kubelet_lacks_is_refused(
    declared: list[str] | None, is_on: bool, reason: str
) -> None:
    gates = gates_from({"RestartAllContainersOnContainerExits": is_on})
    async with simulating(gates) as world:
        await world.node()
        if declared is not None:
            status = {"nodeInfo": {"kubeletVersion": "v1.35.0"}, "declaredFeatures": declared or None}
            await world.client.patch(KINDS.NODE, "n1", "", {"status": status}, subresource="status")
        await world.pod(containers=[container(restartPolicy="Never", restartPolicyRules=[_RESTARTS_ALL])])
        await world.refusals()
        answer = await world.status()
        assert answer.get("reason", "") == reason
        if reason:
            text = "Pod requires node features that are not available: RestartAllContainersOnContainerExits"
            assert answer["message"] == f"Pod was rejected: {text}"
            counted = f'kubelet_admission_rejections_total{{reason="{reason}"}} 1'
            assert world.measured("kubelet_admission_rejections_total") == counted


async def test_ports_and_numbers_of_pods_are_counted(simulation: Simulation) -> None:
    port = container(ports=[{"containerPort": 80, "hostPort": 80}], resources={})
    await simulation.node(pods="2")
    await simulation.pod("a", containers=[port])
    await simulation.pod("b", containers=[port])
    await simulation.refusals()
    assert (await simulation.status("b"))["reason"] == "NodePorts"
    await simulation.pod("c")
    await simulation.pod("d")
    await simulation.refusals()
    said = "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2"
    assert (await simulation.status("d"))["message"] == said
    await simulation.client.delete(KINDS.POD, "a", "default")
    await simulation.settle()
    await simulation.pod("e", containers=[port])
    assert await simulation.phase("e") == "Running"


@pytest.mark.parametrize(
    ("toleration", "gates", "is_taken"),
    [
        ({"key": "sla", "operator": "Exists"}, _OFF, True),
        ({"key": "sla", "operator": "Equal", "value": "949"}, _OFF, False),
        ({"key": "sla", "operator": "Gt", "value": "900"}, _ALL, True),
        ({"key": "sla", "operator": "Gt", "value": "950"}, _ALL, False),
        ({"key": "sla", "operator": "SemverGt", "value": "900.0.0"}, _ALL, True),
        ({"expression": "taint.key == 'sla' && int(taint.value) > 900"}, _ALL, True),
        ({"expression": "taint.key == 'sla' && int(taint.value) > 999"}, _ALL, False),
    ],
)
async def test_taints_are_compared_as_the_gates_allow(toleration: dict[str, Any], gates: Any, is_taken: bool) -> None:
    async with simulating(gates) as world:
        await world.node(taints=[_SLA])
        await world.pod(tolerations=[toleration])
        await world.refusals()
        status = await world.status()
        assert status["phase"] == ("Running" if is_taken else "Failed")
        if not is_taken:
            why = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
            assert (status["reason"], status["message"]) == ("TaintToleration", f"Pod was rejected: {why}")


@pytest.mark.parametrize(
    "toleration",
    [{"key": "sla", "operator": "Gt", "value": "900"}, {"expression": "taint.key == 'sla'"}],
)
async def test_a_kubelet_whose_gate_is_off_does_not_see_the_toleration(toleration: dict[str, Any]) -> None:
    async with simulating(_ALL, starts=False) as world:
        world.gates = _OFF  # the API server's are on
        await world.start()
        await world.node(taints=[_SLA])
        await world.pod(tolerations=[toleration])
        await world.refusals()
        assert (await world.status())["reason"] == "TaintToleration"


async def test_expressions_are_compiled_once_for_all_nodes(caplog: pytest.LogCaptureFixture) -> None:
    tolerations = [{"expression": "int(taint.value) > 900"}]
    async with simulating(_ALL) as world:
        await world.node(taints=[_SLA])
        await world.node("n2", taints=[{**_SLA, "value": "gold"}])
        for name in ("a", "b", "c"):
            await world.pod(name, tolerations=tolerations)
            assert await world.phase(name) == "Running"
        await world.pod("d", "n2", tolerations=tolerations)
        await world.refusals()
        assert await world.phase("d") == "Failed"
        assert world.measured("kubelet_cel_cache_hits_total") == "kubelet_cel_cache_hits_total 3"
        assert world.measured("kubelet_cel_cache_misses_total") == "kubelet_cel_cache_misses_total 1"
        assert world.measured("kubelet_cel_cache_evictions_total") == "kubelet_cel_cache_evictions_total 0"
        assert world.measured("kubelet_cel_evaluation_errors_total") == "kubelet_cel_evaluation_errors_total 1"
    (line,) = (line for line in log_text(caplog).splitlines() if "int(taint.value) > 900" in line)
    for fact in ('node="n2"', 'pod="default/d"', 'taint="sla=gold:NoExecute"', "type conversion error"):
        assert fact in line


async def test_unreadable_taint_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with simulating(_ALL) as world:
        await world.node(taints=[{**_SLA, "value": "gold"}])
        await world.pod(tolerations=[{"key": "sla", "operator": "Gt", "value": "1"}])
        await world.refusals()
        assert await world.phase() == "Failed"
        counted = 'kubelet_unreadable_values_total{source="taint",key="sla",operator="Gt"}'
        assert world.measured(counted) == f"{counted} 1"
    said = log_text(caplog)
    assert 'node="n1"' in said
    assert 'pod="default/p"' in said
    assert "gold" in said


async def test_label_that_cannot_be_compared_is_counted() -> None:
    terms = [{"matchExpressions": [{"key": "version", "operator": "SemverGt", "values": ["1.0"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    async with simulating(_ALL) as world:
        await world.node(labels={"version": "1.2.x"})
        await world.pod(affinity=affinity)
        await world.refusals()
        assert (await world.status())["message"].endswith("node(s) didn't match Pod's node affinity/selector")
        counted = 'kubelet_unreadable_values_total{source="label",key="version",operator="SemverGt"}'
        assert world.measured(counted) == f"{counted} 1"


async def test_static_pods_ignore_taints(simulation: Simulation) -> None:
    await simulation.node(taints=[_SLA])
    await simulation.pod(annotations={"kubernetes.io/config.source": "file"})
    assert await simulation.phase() == "Running"


async def test_running_pods_stay_when_capacity_shrinks(simulation: Simulation) -> None:
    await simulation.node()
    for name in ("a", "b"):
        await simulation.pod(name)
    less = {"status": {"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}}}
    await simulation.client.patch(KINDS.NODE, "n1", "", less, subresource="status")
    await simulation.pod("c")
    await simulation.refusals()
    assert [await simulation.phase(name) for name in "abc"] == ["Running", "Running", "Failed"]


async def test_a_refused_pod_is_pending_until_its_kubelet_has_written_its_status(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(nodeSelector={"disk": "ssd"})
    await simulation.settle(REFUSAL_DELAY / 2)
    assert await simulation.phase() == "Pending"
    assert [reason for _, _, reason, _ in simulation.reports] == ["NodeAffinity"]
    await simulation.settle(REFUSAL_DELAY)
    assert await simulation.phase() == "Failed"


async def test_a_pod_that_is_replaced_whenever_it_is_refused_is_refused_once_per_delay(simulation: Simulation) -> None:
    await simulation.node()
    began, refusals = simulation.now(), 20
    for number in range(refusals):
        await simulation.pod(f"p{number}", nodeSelector={"disk": "ssd"})
        while await simulation.phase(f"p{number}") != "Failed":
            await simulation.settle(0.01)
    assert simulation.now() - began >= refusals * REFUSAL_DELAY


async def test_a_pod_that_is_deleted_before_its_status_tells_the_refusal_goes_at_once(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(nodeSelector={"disk": "ssd"}, simulate={"stop-delay": "20s"})
    await simulation.client.delete(KINDS.POD, "p", "default")
    await simulation.settle()
    assert not await simulation.exists()


async def test_a_refused_pod_takes_no_room_while_its_refusal_is_on_its_way(simulation: Simulation) -> None:
    await simulation.node(cpu="1")
    await simulation.pod("refused", nodeSelector={"disk": "ssd"})
    await simulation.pod("taken")
    assert await simulation.phase("taken") == "Running"


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        (
            _OFF,
            "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate; the "
            "feature gate TaintTolerationComparisonOperators is off in the kubelet",
        ),
        (_ALL, "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"),
    ],
)
async def test_workload_whose_pods_are_refused_again_and_again_is_logged_once(
    gates: GateSet, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with simulating(_ALL, starts=False) as world:
        world.gates = gates
        await world.start()
        await world.node(taints=[_SLA])
        tolerations = [{"key": "sla", "operator": "Gt", "value": "900"}]
        selector = {"disk": "ssd"} if gates is _ALL else {}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
        for number in range(8):
            await world.pod(f"p{number}", tolerations=tolerations, nodeSelector=selector, ownerReferences=[owner])
            while await world.phase(f"p{number}") != "Failed":
                await world.settle(0.1)
        reason = why.partition(":")[0]
        counted = f'kubelet_pods_rejected_again_total{{reason="{reason}"}}'
        assert float(world.measured(counted).split()[-1]) >= 6
    (line,) = (line for line in log_text(caplog).splitlines() if "again and again" in line)
    assert "ReplicaSet default/web makes pods again and again that are refused by their kubelet, 4 within " in line
    assert line.endswith(f's: {why}" component="kubelet"')
