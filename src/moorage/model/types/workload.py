"""The kinds that make pods from a template. Jobs, which live in a file of their own, can be imported from here too.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/apps/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from typing import Any

from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.schema.named_types import (
    ConditionStatus,
    DaemonSetConditionType,
    DaemonSetUpdateStrategyType,
    DeploymentConditionType,
    DeploymentStrategyType,
    PersistentVolumeClaimRetentionPolicyType,
    PodManagementPolicyType,
    ReplicaSetConditionType,
    StatefulSetConditionType,
    StatefulSetUpdateStrategyType,
    Time,
)
from moorage.model.types.job import (
    CronJob,
    CronJobSpec,
    CronJobStatus,
    Job,
    JobCondition,
    JobSpec,
    JobStatus,
    JobTemplateSpec,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
    UncountedTerminatedPods,
)
from moorage.model.types.meta import LabelSelector, ObjectMeta, TypeMeta
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.types.storage.persistent_volume import PersistentVolumeClaim
from moorage.model.types.view import AppsView, Int32, Int64

__all__ = [
    "ControllerRevision",
    "CronJob",
    "CronJobSpec",
    "CronJobStatus",
    "DaemonSet",
    "DaemonSetCondition",
    "DaemonSetSpec",
    "DaemonSetStatus",
    "DaemonSetUpdateStrategy",
    "Deployment",
    "DeploymentCondition",
    "DeploymentSpec",
    "DeploymentStatus",
    "DeploymentStrategy",
    "Job",
    "JobCondition",
    "JobSpec",
    "JobStatus",
    "JobTemplateSpec",
    "PodFailurePolicy",
    "PodFailurePolicyOnExitCodesRequirement",
    "PodFailurePolicyOnPodConditionsPattern",
    "PodFailurePolicyRule",
    "PodTemplateSpec",
    "ReplicaSet",
    "ReplicaSetCondition",
    "ReplicaSetSpec",
    "ReplicaSetStatus",
    "RollingUpdateDaemonSet",
    "RollingUpdateDeployment",
    "RollingUpdateStatefulSetStrategy",
    "StatefulSet",
    "StatefulSetCondition",
    "StatefulSetOrdinals",
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    "StatefulSetSpec",
    "StatefulSetStatus",
    "StatefulSetUpdateStrategy",
    "SuccessPolicy",
    "SuccessPolicyRule",
    "UncountedTerminatedPods",
]


class RollingUpdateDeployment(AppsView, frozen=True, gc=False):
    maxUnavailable: Int32 | str | None = None
    maxSurge: Int32 | str | None = None


class DeploymentStrategy(AppsView, frozen=True, gc=False):
    type: DeploymentStrategyType = ""
    rollingUpdate: RollingUpdateDeployment | None = None


class DeploymentSpec(AppsView, frozen=True, gc=False):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    strategy: DeploymentStrategy = DeploymentStrategy()
    minReadySeconds: Int32 = 0
    revisionHistoryLimit: Int32 | None = None
    paused: bool = False
    progressDeadlineSeconds: Int32 | None = None


class DeploymentCondition(AppsView, frozen=True, gc=False):
    type: DeploymentConditionType = ""
    status: ConditionStatus = ""
    lastUpdateTime: Time | None = None
    lastTransitionTime: Time | None = None
    reason: str = ""
    message: str = ""


class DeploymentStatus(AppsView, frozen=True, gc=False):
    observedGeneration: Int64 = 0
    replicas: Int32 = 0
    updatedReplicas: Int32 = 0
    readyReplicas: Int32 = 0
    availableReplicas: Int32 = 0
    unavailableReplicas: Int32 = 0
    terminatingReplicas: Int32 | None = None
    conditions: tuple[DeploymentCondition, ...] = ABSENT_LIST
    collisionCount: Int32 | None = None


class Deployment(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(AppsView, frozen=True, gc=False):
    replicas: Int32 | None = None
    minReadySeconds: Int32 = 0
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSetCondition(AppsView, frozen=True, gc=False):
    type: ReplicaSetConditionType = ""
    status: ConditionStatus = ""
    lastTransitionTime: Time | None = None
    reason: str = ""
    message: str = ""


class ReplicaSetStatus(AppsView, frozen=True, gc=False):
    replicas: Int32 = 0
    fullyLabeledReplicas: Int32 = 0
    readyReplicas: Int32 = 0
    availableReplicas: Int32 = 0
    terminatingReplicas: Int32 | None = None
    observedGeneration: Int64 = 0
    conditions: tuple[ReplicaSetCondition, ...] = ABSENT_LIST


class ReplicaSet(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class RollingUpdateStatefulSetStrategy(AppsView, frozen=True, gc=False):
    partition: Int32 | None = None
    maxUnavailable: Int32 | str | None = None


class StatefulSetUpdateStrategy(AppsView, frozen=True, gc=False):
    type: StatefulSetUpdateStrategyType = ""
    rollingUpdate: RollingUpdateStatefulSetStrategy | None = None


class StatefulSetPersistentVolumeClaimRetentionPolicy(AppsView, frozen=True, gc=False):
    whenDeleted: PersistentVolumeClaimRetentionPolicyType = ""
    whenScaled: PersistentVolumeClaimRetentionPolicyType = ""


class StatefulSetOrdinals(AppsView, frozen=True, gc=False):
    start: Int32 = 0


class StatefulSetSpec(AppsView, frozen=True, gc=False):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    volumeClaimTemplates: tuple[PersistentVolumeClaim, ...] = ABSENT_LIST
    serviceName: str = ""
    podManagementPolicy: PodManagementPolicyType = ""
    updateStrategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()
    revisionHistoryLimit: Int32 | None = None
    minReadySeconds: Int32 = 0
    persistentVolumeClaimRetentionPolicy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    ordinals: StatefulSetOrdinals | None = None


class StatefulSetCondition(AppsView, frozen=True, gc=False):
    type: StatefulSetConditionType = ""
    status: ConditionStatus = ""
    lastTransitionTime: Time | None = None
    reason: str = ""
    message: str = ""


class StatefulSetStatus(AppsView, frozen=True, gc=False):
    observedGeneration: Int64 = 0
    replicas: Int32 = 0
    readyReplicas: Int32 = 0
    currentReplicas: Int32 = 0
    updatedReplicas: Int32 = 0
    currentRevision: str = ""
    updateRevision: str = ""
    collisionCount: Int32 | None = None
    conditions: tuple[StatefulSetCondition, ...] = ABSENT_LIST
    availableReplicas: Int32 = 0


class StatefulSet(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class RollingUpdateDaemonSet(AppsView, frozen=True, gc=False):
    maxUnavailable: Int32 | str | None = None
    maxSurge: Int32 | str | None = None


class DaemonSetUpdateStrategy(AppsView, frozen=True, gc=False):
    type: DaemonSetUpdateStrategyType = ""
    rollingUpdate: RollingUpdateDaemonSet | None = None


class DaemonSetSpec(AppsView, frozen=True, gc=False):
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    updateStrategy: DaemonSetUpdateStrategy = DaemonSetUpdateStrategy()
    minReadySeconds: Int32 = 0
    revisionHistoryLimit: Int32 | None = None


class DaemonSetCondition(AppsView, frozen=True, gc=False):
    type: DaemonSetConditionType = ""
    status: ConditionStatus = ""
    lastTransitionTime: Time | None = None
    reason: str = ""
    message: str = ""


class DaemonSetStatus(AppsView, frozen=True, gc=False):
    currentNumberScheduled: Int32 = 0
    numberMisscheduled: Int32 = 0
    desiredNumberScheduled: Int32 = 0
    numberReady: Int32 = 0
    observedGeneration: Int64 = 0
    updatedNumberScheduled: Int32 = 0
    numberAvailable: Int32 = 0
    numberUnavailable: Int32 = 0
    collisionCount: Int32 | None = None
    conditions: tuple[DaemonSetCondition, ...] = ABSENT_LIST


class DaemonSet(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class ControllerRevision(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    data: Any = None
    revision: Int64 = 0
