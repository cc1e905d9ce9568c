"""The HorizontalPodAutoscaler controller in virtual time: first look, scaling, refusals, kinds of metrics, targets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.unit.control.test_custom_kinds import definition
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import Object, PatchType
from moorage.control.pod_autoscaler.controller import PodAutoscalerController
from moorage.control.replica_set import ReplicaSetController
from moorage.model.gates import GateSet, gates_from
from moorage.model.kind_rows.kind import stored_kind
from moorage.model.kinds import KINDS

Raw = dict[str, Any]
_ZONE = "default"


@asynccontextmanager
async def running(gates: GateSet | None = None) -> AsyncIterator[VirtualCluster]:
    def make() -> list[Any]:
        return [PodAutoscalerController(controller_context(gates)), ReplicaSetController(controller_context())]

    async with VirtualCluster.running(make, gates=gates) as cluster:
        await cluster.client.create(KINDS.NODE, {"metadata": {"name": "node-1"}})
        yield cluster


async def workload(cluster: VirtualCluster, name: str = "web", replicas: int = 2, **annotations: str) -> None:
    """A ReplicaSet whose pods run at once."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    about = {f"simulate.moorage.dev/{key}": value for key, value in annotations.items()}
    await cluster.client.create(
        KINDS.REPLICA_SET,
        {
            "metadata": {"name": name, "namespace": _ZONE, "annotations": about},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
        },
    )
    await cluster.settle(1)
    await run_pods(cluster)


async def run_pods(cluster: VirtualCluster) -> None:
    """Let all pods run, since ten minutes ago."""
    for pod in await cluster.all(KINDS.POD, _ZONE):
        if not pod.view.spec.nodeName:
            await cluster.client.bind(_ZONE, pod.name, pod.uid, "node-1")
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
            status = {"phase": "Running", "startTime": "2020-01-01T00:00:00Z", "conditions": [ready]}
            await cluster.client.patch(KINDS.POD, pod.name, _ZONE, {"status": status}, subresource="status")
    await cluster.settle(0.5)


def resource(percent: int = 50) -> Raw:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


async def autoscaler(cluster: VirtualCluster, *metrics: Raw, name: str = "web", most: int = 10, **spec: Any) -> None:
    target = spec.pop("target", {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name})
    await cluster.client.create(
        KINDS.HORIZONTAL_POD_AUTOSCALER,
        {
            "metadata": {"name": name, "namespace": _ZONE},
            "spec": {"scaleTargetRef": target, "maxReplicas": most, "metrics": list(metrics), **spec},
        },
    )


async def found(cluster: VirtualCluster, name: str = "web") -> Object:
    return await cluster.client.get(KINDS.HORIZONTAL_POD_AUTOSCALER, name, _ZONE)


async def replicas(cluster: VirtualCluster, name: str = "web") -> int:
    view = (await cluster.client.get(KINDS.REPLICA_SET, name, _ZONE)).view
    return int(view.spec.replicas)


def conditions(hpa: Object) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in hpa.view.status.conditions}


async def test_first_look_is_fifteen_seconds_after_creation_and_then_every_fifteen() -> None:
    async with running() as cluster:
        await workload(cluster, load="cpu=2")
        await autoscaler(cluster, resource())
        await cluster.settle(14)
        assert (await found(cluster)).view.status.desiredReplicas == 0
        await cluster.settle(2)
        assert await replicas(cluster) == 4
        reason = "New size: 4; reason: cpu resource utilization (percentage of request) above target"
        assert ("Normal", "SuccessfulRescale", reason) in [event[1:] for event in cluster.events]
        await run_pods(cluster)
        await cluster.settle(20)
        assert await replicas(cluster) == 4  # 2 CPUs of four pods: half of what they request
        status = (await found(cluster)).view.status
        assert (status.currentReplicas, status.desiredReplicas) == (4, 4)
        assert conditions(await found(cluster)) == {
            "AbleToScale": ("True", "ReadyForNewScale"),
            "ScalingActive": ("True", "ValidMetricFound"),
            "ScalingLimited": ("False", "DesiredWithinRange"),
        }


async def test_scaling_down_waits_for_the_stabilization_window_also_not_after_a_restart() -> None:
    async with running() as cluster:
        await workload(cluster, replicas=6, load="cpu=1")
        await autoscaler(cluster, resource())
        await cluster.settle(200)
        assert await replicas(cluster) == 6
        await cluster.restart()  # what it recommended before is forgotten
        await cluster.settle(250)
        assert await replicas(cluster) == 6
        await cluster.settle(100)
        assert await replicas(cluster) == 2


async def test_bounds_count_without_metrics() -> None:
    async with running() as cluster:
        await workload(cluster, replicas=1)
        await autoscaler(cluster, resource(), minReplicas=3)
        await cluster.settle(16)
        assert await replicas(cluster) == 3
        assert "FailedGetResourceMetric" not in cluster.reasons()
        await cluster.settle(15)
        await run_pods(cluster)
        await cluster.settle(15)
        assert conditions(await found(cluster))["ScalingActive"] == ("False", "FailedGetResourceMetric")


async def test_pods_object_and_external_metrics() -> None:
    async with running() as cluster:
        await workload(cluster, load="hits=90")
        metrics = {"simulate.moorage.dev/metrics": "queue=70"}
        about = {"name": "front", "namespace": _ZONE, "annotations": metrics}
        await cluster.client.create(KINDS.SERVICE, {"metadata": about, "spec": {"ports": [{"port": 80}]}})
        labels = {"simulate.moorage.dev/external-metrics": "true"}
        about = {"name": "outside", "namespace": _ZONE, "labels": labels}
        data = {"a": 'jobs{kind="a"} 50\njobs{kind="b"} 1000'}
        await cluster.client.create(KINDS.CONFIG_MAP, {"metadata": about, "data": data})
        described = {"apiVersion": "v1", "kind": "Service", "name": "front"}
        identified = {"name": "jobs", "selector": {"matchLabels": {"kind": "a"}}}
        average: Raw = {"type": "AverageValue", "averageValue": "10"}
        pods: Raw = {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {**average, "averageValue": "40"}}}
        queue: Raw = {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "20"}}
        jobs: Raw = {"metric": identified, "target": average}
        behavior = {"scaleUp": {"policies": [{"type": "Pods", "value": 20, "periodSeconds": 15}]}}
        for name, metric, wanted in (
            ("web", pods, 3),
            ("web", {"type": "Object", "object": {"describedObject": described, **queue}}, 7),
            ("web", {"type": "External", "external": jobs}, 5),
        ):
            await autoscaler(cluster, metric, name=name, behavior=behavior)
            await cluster.settle(16)
            assert await replicas(cluster) == wanted
            await cluster.client.delete(KINDS.HORIZONTAL_POD_AUTOSCALER, name, _ZONE)
            await cluster.client.patch(KINDS.REPLICA_SET, "web", _ZONE, {"spec": {"replicas": 2}})
            await cluster.settle(1)


async def test_what_cannot_be_scaled_is_told() -> None:
    async with running() as cluster:
        await autoscaler(cluster, resource(), name="lost")
        target = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent"}
        await autoscaler(cluster, resource(), name="daemons", target=target)
        target = {"apiVersion": "example.com/v1", "kind": "Boat", "name": "ship"}
        await autoscaler(cluster, resource(), name="boats", target=target)
        await cluster.settle(16)
        told = {event.involved["name"]: event.message for event in cluster.events}
        assert told == {
            "lost": 'replicasets.apps "lost" not found',
            "daemons": "the server could not find the requested resource",
            "boats": 'no matches for kind "Boat" in group "example.com"',
        }
        assert conditions(await found(cluster, "lost")) == {"AbleToScale": ("False", "FailedGetScale")}


async def test_custom_kinds_with_a_scale_are_scaled() -> None:
    async with running() as cluster:
        document = definition()
        version = document["spec"]["versions"][0]
        version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version["subresources"] = {
            "scale": {
                "specReplicasPath": ".spec.crew",
                "statusReplicasPath": ".status.crew",
                "labelSelectorPath": ".status.selector",
            }
        }
        await cluster.client.create(KINDS.CUSTOM_RESOURCE_DEFINITION, document)
        await cluster.settle(1)
        made = await cluster.client.get(KINDS.CUSTOM_RESOURCE_DEFINITION, document["metadata"]["name"])
        kind = stored_kind(made.raw)
        assert kind is not None
        await workload(cluster, "crew", load="cpu=2")
        status = {"crew": 2, "selector": "app=crew"}
        about = {"name": "ship", "namespace": _ZONE} if kind.namespaced else {"name": "ship"}
        ship = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": about, "spec": {"crew": 2}}
        await cluster.client.create(kind, {**ship, "status": status})
        target = {"apiVersion": kind.api_version, "kind": kind.name, "name": "ship"}
        await autoscaler(cluster, resource(), name="ship", target=target)
        await cluster.settle(16)
        assert (await cluster.client.get(kind, "ship", _ZONE)).raw["spec"]["crew"] == 4


async def test_two_autoscalers_of_the_same_pods_do_nothing() -> None:
    async with running() as cluster:
        await workload(cluster, load="cpu=2")
        target = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
        await autoscaler(cluster, resource())
        await cluster.settle(1)
        await autoscaler(cluster, resource(), name="other", target=target)
        await cluster.settle(16)
        assert cluster.reasons("other") == ["AmbiguousSelector", "FailedComputeMetricsReplicas"]
        await cluster.client.delete(KINDS.HORIZONTAL_POD_AUTOSCALER, "web", _ZONE)
        await cluster.settle(30)
        assert conditions(await found(cluster, "other"))["ScalingActive"] == ("True", "ValidMetricFound")


@pytest.mark.parametrize("is_on", [False, True])
async def test_scaling_to_zero_needs_its_gate(is_on: bool) -> None:
    gates = gates_from({"HPAScaleToZero": True})
    async with running(gates) as cluster:
        if not is_on:
            cluster._make = lambda: [PodAutoscalerController(controller_context())]
            await cluster.restart()
        await workload(cluster, replicas=2)
        labels = {"simulate.moorage.dev/external-metrics": "true"}
        about = {"name": "outside", "namespace": _ZONE, "labels": labels}
        await cluster.client.create(KINDS.CONFIG_MAP, {"metadata": about, "data": {"a": "jobs steps(0s=0, 120s=50)"}})
        jobs: Raw = {"metric": {"name": "jobs"}, "target": {"type": "AverageValue", "averageValue": "10"}}
        behavior = {"scaleDown": {"stabilizationWindowSeconds": 0}}
        metric: Raw = {"type": "External", "external": jobs}
        await autoscaler(cluster, metric, minReplicas=0, behavior=behavior)
        await cluster.settle(60)
        assert await replicas(cluster) == 0
        await cluster.settle(90)
        assert await replicas(cluster) == (5 if is_on else 0)
        if not is_on:
            assert conditions(await found(cluster))["ScalingActive"] == ("False", "ScalingDisabled")


async def test_refused_scale_is_told_and_tried_again() -> None:
    async with running() as cluster:
        await workload(cluster, load="cpu=2")
        policy = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "small"},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": ["apps"],
                            "apiVersions": ["v1"],
                            "operations": ["UPDATE"],
                            "resources": ["replicasets/scale"],
                        }
                    ]
                },
                "validations": [{"expression": "object.spec.replicas < 4", "message": "too many"}],
            },
        }
        binding = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "small"},
            "spec": {"policyName": "small", "validationActions": ["Deny"]},
        }
        await cluster.client.create(KINDS.VALIDATING_ADMISSION_POLICY, policy)
        await cluster.client.create(KINDS.VALIDATING_ADMISSION_POLICY_BINDING, binding)
        await autoscaler(cluster, resource())
        await cluster.settle(16)
        assert cluster.reasons("web")[-1] == "FailedRescale"
        assert cluster.events[-1].message.endswith("denied request: too many")
        assert conditions(await found(cluster))["AbleToScale"] == ("False", "FailedUpdateScale")
        assert await replicas(cluster) == 2
        await cluster.client.delete(KINDS.VALIDATING_ADMISSION_POLICY_BINDING, "small")
        await cluster.settle(16)
        assert await replicas(cluster) == 4


async def test_metrics_of_the_controller() -> None:
    async with running() as cluster:
        await workload(cluster, load="cpu=2")
        await autoscaler(cluster, resource())
        await cluster.settle(16)
        text = PodAutoscalerController.name  # the metrics are those of the controller's context
        assert text in {runner.controller.name for runner in cluster.manager.runners}
        controller = next(one.controller for one in cluster.manager.runners if one.controller.name == text)
        rendered = controller.context.metrics.render()[0].decode()
        prefix = "horizontal_pod_autoscaler_controller"
        assert f'{prefix}_reconciliations_total{{action="scale_up",error="none"}} 1' in rendered
        assert (
            f'{prefix}_metric_computation_total{{action="scale_up",error="none",metric_type="Resource"}} 1' in rendered
        )
        assert f'{prefix}_desired_replicas{{hpa_name="web",namespace="default"}} 4' in rendered.replace(
            'namespace="default",hpa_name="web"', 'hpa_name="web",namespace="default"'
        )
        await cluster.client.patch(
            KINDS.HORIZONTAL_POD_AUTOSCALER, "web", _ZONE, {"spec": {"maxReplicas": 3}}, patch_type=PatchType.MERGE
        )
        await cluster.client.delete(KINDS.HORIZONTAL_POD_AUTOSCALER, "web", _ZONE)
        await cluster.settle(1)
        assert f"{prefix}_num_horizontal_pod_autoscalers 0" in controller.context.metrics.render()[0].decode()
