"""The table of controllers: one row each, in the order in which they are listed.

Kubernetes: the controller descriptors of kube-controller-manager, `--controllers`.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import NamedTuple

from moorage.control.framework.controller import Controller, ControllerContext

__all__ = ["CONTROLLERS", "ControllerContext", "Row", "UnknownController", "chosen"]


class Row(NamedTuple):
    """One controller. Its module is imported when it is made, so that what does not run is not imported.

    `started_by`: the kinds of which every object is work for it. Without any, it has work on other occasions only.
    `only_simulated`: `*` means it only where nodes are simulated.
    """

    name: str
    module: str
    class_name: str
    started_by: tuple[str, ...] = ()
    only_simulated: bool = False

    def make(self, context: ControllerContext) -> Controller:
        controller: type[Controller] = getattr(import_module(f"moorage.control.{self.module}"), self.class_name)
        return controller(context)


_VOLUME, _CLAIM = "PersistentVolume", "PersistentVolumeClaim"

CONTROLLERS: tuple[Row, ...] = (
    Row("node-lifecycle-controller", "node_lifecycle.controller", "NodeLifecycleController", ("Node",)),
    Row("pod-garbage-collector-controller", "pod_garbage", "PodGarbageController"),
    Row("taint-eviction-controller", "taint_eviction", "TaintEvictionController"),
    Row("replicaset-controller", "replica_set", "ReplicaSetController", ("ReplicaSet",)),
    Row(
        "replicationcontroller-controller", "replica_set", "ReplicationControllerController", ("ReplicationController",)
    ),
    Row("deployment-controller", "deployment.controller", "DeploymentController", ("Deployment",)),
    Row("daemonset-controller", "daemon_set.controller", "DaemonSetController", ("DaemonSet",)),
    Row("statefulset-controller", "stateful_set.controller", "StatefulSetController", ("StatefulSet",)),
    Row("job-controller", "job.controller", "JobController", ("Job",)),
    Row("cronjob-controller", "cron_job", "CronJobController", ("CronJob",)),
    Row("ttl-after-finished-controller", "job.controller", "TimeToLiveController", ("Job",)),
    Row("persistentvolume-binder-controller", "volumes.controller", "PersistentVolumeBinder", (_VOLUME, _CLAIM)),
    Row("ephemeral-volume-controller", "volumes.ephemeral", "EphemeralVolumes"),
    Row("persistentvolumeclaim-protection-controller", "volumes.protection", "ClaimProtection", (_CLAIM,)),
    Row("persistentvolume-protection-controller", "volumes.protection", "VolumeProtection", (_VOLUME,)),
    Row(
        "volumeattributesclass-protection-controller",
        "volumes.protection",
        "AttributesClassProtection",
        ("VolumeAttributesClass",),
    ),
    Row(
        "device-taint-eviction-controller",
        "device_taints.controller",
        "DeviceTaintEvictionController",
        ("DeviceTaintRule",),
    ),
    Row("resourceclaim-controller", "resource_claim.controller", "ResourceClaimController", ("ResourceClaim",)),
    Row(
        "horizontal-pod-autoscaler-controller",
        "pod_autoscaler.controller",
        "PodAutoscalerController",
        ("HorizontalPodAutoscaler",),
    ),
    Row("namespace-controller", "namespace", "NamespaceController"),
    Row("garbage-collector-controller", "garbage", "GarbageCollector"),
    Row("endpoints-controller", "endpoints.endpoints_controller", "EndpointsController"),
    Row("endpointslice-controller", "endpoints.slice_controller", "EndpointSliceController"),
    Row("endpointslice-mirroring-controller", "endpoints.mirroring", "EndpointSliceMirroringController"),
    Row("disruption-controller", "disruption", "DisruptionController", ("PodDisruptionBudget",)),
    Row("resourcequota-controller", "resource_quota", "ResourceQuotaController", ("ResourceQuota",)),
    Row(
        "clusterrole-aggregation-controller",
        "cluster_role_aggregation",
        "ClusterRoleAggregationController",
        ("ClusterRole",),
    ),
    Row("serviceaccount-controller", "namespace", "ServiceAccountController"),
    Row("serviceaccount-token-controller", "account_tokens", "AccountTokenController"),
    Row("certificatesigningrequest-approving-controller", "certificates", "CertificateApprover"),
    Row("certificatesigningrequest-signing-controller", "certificates", "CertificateSigner"),
    Row("certificatesigningrequest-cleaner-controller", "certificates", "CertificateRequestCleaner"),
    Row("root-ca-certificate-publisher-controller", "root_certificates", "RootCertificatePublisher"),
    Row(
        "validatingadmissionpolicy-status-controller",
        "policy_types",
        "PolicyTypeController",
        ("ValidatingAdmissionPolicy",),
    ),
    Row("service-lb-controller", "load_balancers", "LoadBalancerController", only_simulated=True),
)


class UnknownController(ValueError):
    """A name in `--controllers` that no controller has."""


def chosen(selection: Iterable[str], *, simulated: bool = False) -> tuple[Row, ...]:
    """Return the controllers that `--controllers` asks for: `*` for all, `name` for one, `-name` for all but it.

    `simulated`: nodes are simulated in this cluster.
    """
    known = {row.name for row in CONTROLLERS}
    wanted: set[str] = set()
    for word in selection:
        name = word.removeprefix("-")
        if name not in known and word != "*":
            listed = ", ".join(sorted(known))
            raise UnknownController(f'"{name}" is not in the list of known controllers: {listed}')
        if word == "*":
            wanted |= {row.name for row in CONTROLLERS if simulated or not row.only_simulated}
    for word in selection:
        if word.startswith("-"):
            wanted.discard(word[1:])
        elif word != "*":
            wanted.add(word)
    return tuple(row for row in CONTROLLERS if row.name in wanted)
