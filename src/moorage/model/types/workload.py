"""Views of the kinds that make pods from a template.

Kubernetes: k8s.io/api/apps/v1, k8s.io/api/batch/v1, and the ReplicationController of k8s.io/api/core/v1.
"""

from typing import Any

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, LabelSelector, ObjectMeta, ObjectReference, PlainCondition
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.types.storage import PersistentVolumeClaim
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, AppsView, BatchView, Int32, Int64, View


class PodFailurePolicyOnExitCodesRequirement(BatchView, frozen=True, gc=False):
    containerName: str | None = None
    operator: named.PodFailurePolicyOnExitCodesOperator = ""
    values: tuple[Int32, ...] = ABSENT_LIST


class PodFailurePolicyOnPodConditionsPattern(BatchView, frozen=True, gc=False):
    type: named.PodConditionType = ""
    status: named.ConditionStatus = ""


class PodFailurePolicyRule(BatchView, frozen=True, gc=False):
    action: named.PodFailurePolicyAction = ""
    onExitCodes: PodFailurePolicyOnExitCodesRequirement | None = None
    onPodConditions: tuple[PodFailurePolicyOnPodConditionsPattern, ...] = ABSENT_LIST


class PodFailurePolicy(BatchView, frozen=True, gc=False):
    rules: tuple[PodFailurePolicyRule, ...] = ABSENT_LIST


class SuccessPolicyRule(BatchView, frozen=True, gc=False):
    succeededIndexes: str | None = None
    succeededCount: Int32 | None = None


class SuccessPolicy(BatchView, frozen=True, gc=False):
    rules: tuple[SuccessPolicyRule, ...] = ABSENT_LIST


class JobSpec(BatchView, frozen=True, gc=False):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    activeDeadlineSeconds: Int64 | None = None
    podFailurePolicy: PodFailurePolicy | None = None
    successPolicy: SuccessPolicy | None = None
    backoffLimit: Int32 | None = None
    backoffLimitPerIndex: Int32 | None = None
    maxFailedIndexes: Int32 | None = None
    selector: LabelSelector | None = None
    manualSelector: bool | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    ttlSecondsAfterFinished: Int32 | None = None
    completionMode: named.CompletionMode | None = None
    suspend: bool | None = None
    podReplacementPolicy: named.PodReplacementPolicy | None = None
    managedBy: str | None = None


class JobCondition(BatchView, frozen=True, gc=False):
    type: named.JobConditionType = ""
    status: named.ConditionStatus = ""
    lastProbeTime: named.Time | None = None
    lastTransitionTime: named.Time | None = None
    reason: str = ""
    message: str = ""


class UncountedTerminatedPods(BatchView, frozen=True, gc=False):
    succeeded: tuple[named.UID, ...] = ABSENT_LIST
    failed: tuple[named.UID, ...] = ABSENT_LIST


class JobStatus(BatchView, frozen=True, gc=False):
    conditions: tuple[JobCondition, ...] = ABSENT_LIST
    startTime: named.Time | None = None
    completionTime: named.Time | None = None
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    terminating: Int32 | None = None
    completedIndexes: str = ""
    failedIndexes: str | None = None
    uncountedTerminatedPods: UncountedTerminatedPods | None = None
    ready: Int32 | None = None


class Job(ApiObject, frozen=True, gc=False):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(BatchView, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(BatchView, frozen=True, gc=False):
    schedule: str = ""
    timeZone: str | None = None
    startingDeadlineSeconds: Int64 | None = None
    concurrencyPolicy: named.ConcurrencyPolicy = ""
    suspend: bool | None = None
    jobTemplate: JobTemplateSpec = JobTemplateSpec()
    successfulJobsHistoryLimit: Int32 | None = None
    failedJobsHistoryLimit: Int32 | None = None


class CronJobStatus(BatchView, frozen=True, gc=False):
    active: tuple[ObjectReference, ...] = ABSENT_LIST
    lastScheduleTime: named.Time | None = None
    lastSuccessfulTime: named.Time | None = None


class CronJob(ApiObject, frozen=True, gc=False):
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class RollingUpdateDeployment(AppsView, frozen=True, gc=False):
    maxUnavailable: Int32 | str | None = None
    maxSurge: Int32 | str | None = None


class DeploymentStrategy(AppsView, frozen=True, gc=False):
    type: named.DeploymentStrategyType = ""
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
    type: named.DeploymentConditionType = ""
    status: named.ConditionStatus = ""
    lastUpdateTime: named.Time | None = None
    lastTransitionTime: named.Time | None = None
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


class Deployment(ApiObject, frozen=True, gc=False):
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(AppsView, frozen=True, gc=False):
    replicas: Int32 | None = None
    minReadySeconds: Int32 = 0
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSetCondition(PlainCondition, AppsView, frozen=True, gc=False):
    type: named.ReplicaSetConditionType = ""


class ReplicaSetStatus(AppsView, frozen=True, gc=False):
    replicas: Int32 = 0
    fullyLabeledReplicas: Int32 = 0
    readyReplicas: Int32 = 0
    availableReplicas: Int32 = 0
    terminatingReplicas: Int32 | None = None
    observedGeneration: Int64 = 0
    conditions: tuple[ReplicaSetCondition, ...] = ABSENT_LIST


class ReplicaSet(ApiObject, frozen=True, gc=False):
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


#: The template of a ReplicationController without one: an empty template is another mistake.
ABSENT_TEMPLATE = PodTemplateSpec()


class PodTemplate(ApiObject, frozen=True, gc=False):
    template: PodTemplateSpec = ABSENT_TEMPLATE


class ReplicationControllerSpec(View, frozen=True, gc=False):
    replicas: Int32 | None = None
    minReadySeconds: Int32 = 0
    selector: dict[str, str] = ABSENT_MAP
    template: PodTemplateSpec = ABSENT_TEMPLATE


class ReplicationControllerCondition(PlainCondition, frozen=True, gc=False):
    type: named.ReplicationControllerConditionType = ""


class ReplicationControllerStatus(View, frozen=True, gc=False):
    replicas: Int32 = 0
    fullyLabeledReplicas: Int32 = 0
    readyReplicas: Int32 = 0
    availableReplicas: Int32 = 0
    observedGeneration: Int64 = 0
    conditions: tuple[ReplicationControllerCondition, ...] = ABSENT_LIST


class ReplicationController(ApiObject, frozen=True, gc=False):
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicationControllerStatus = ReplicationControllerStatus()


class RollingUpdateStatefulSetStrategy(AppsView, frozen=True, gc=False):
    partition: Int32 | None = None
    maxUnavailable: Int32 | str | None = None


class StatefulSetUpdateStrategy(AppsView, frozen=True, gc=False):
    type: named.StatefulSetUpdateStrategyType = ""
    rollingUpdate: RollingUpdateStatefulSetStrategy | None = None


class StatefulSetPersistentVolumeClaimRetentionPolicy(AppsView, frozen=True, gc=False):
    whenDeleted: named.PersistentVolumeClaimRetentionPolicyType = ""
    whenScaled: named.PersistentVolumeClaimRetentionPolicyType = ""


class StatefulSetOrdinals(AppsView, frozen=True, gc=False):
    start: Int32 = 0


class StatefulSetSpec(AppsView, frozen=True, gc=False):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    volumeClaimTemplates: tuple[PersistentVolumeClaim, ...] = ABSENT_LIST
    serviceName: str = ""
    podManagementPolicy: named.PodManagementPolicyType = ""
    updateStrategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()
    revisionHistoryLimit: Int32 | None = None
    minReadySeconds: Int32 = 0
    persistentVolumeClaimRetentionPolicy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    ordinals: StatefulSetOrdinals | None = None


class StatefulSetCondition(ReplicaSetCondition, frozen=True, gc=False):
    type: named.StatefulSetConditionType = ""


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


class StatefulSet(ApiObject, frozen=True, gc=False):
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class RollingUpdateDaemonSet(AppsView, frozen=True, gc=False):
    maxUnavailable: Int32 | str | None = None
    maxSurge: Int32 | str | None = None


class DaemonSetUpdateStrategy(AppsView, frozen=True, gc=False):
    type: named.DaemonSetUpdateStrategyType = ""
    rollingUpdate: RollingUpdateDaemonSet | None = None


class DaemonSetSpec(AppsView, frozen=True, gc=False):
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    updateStrategy: DaemonSetUpdateStrategy = DaemonSetUpdateStrategy()
    minReadySeconds: Int32 = 0
    revisionHistoryLimit: Int32 | None = None


class DaemonSetCondition(ReplicaSetCondition, frozen=True, gc=False):
    type: named.DaemonSetConditionType = ""


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


class DaemonSet(ApiObject, frozen=True, gc=False):
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class ControllerRevision(ApiObject, frozen=True, gc=False):
    data: Any = None
    revision: Int64 = 0
