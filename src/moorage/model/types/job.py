"""Jobs and CronJobs.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/batch/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.schema.named_types import (
    UID,
    CompletionMode,
    ConcurrencyPolicy,
    ConditionStatus,
    JobConditionType,
    PodConditionType,
    PodFailurePolicyAction,
    PodFailurePolicyOnExitCodesOperator,
    PodReplacementPolicy,
    Time,
)
from moorage.model.types.meta import LabelSelector, ObjectMeta, ObjectReference, TypeMeta
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.types.view import BatchView, Int32, Int64


class PodFailurePolicyOnExitCodesRequirement(BatchView, frozen=True, gc=False):
    containerName: str | None = None
    operator: PodFailurePolicyOnExitCodesOperator = ""
    values: tuple[Int32, ...] = ABSENT_LIST


class PodFailurePolicyOnPodConditionsPattern(BatchView, frozen=True, gc=False):
    type: PodConditionType = ""
    status: ConditionStatus = ""


class PodFailurePolicyRule(BatchView, frozen=True, gc=False):
    action: PodFailurePolicyAction = ""
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
    completionMode: CompletionMode | None = None
    suspend: bool | None = None
    podReplacementPolicy: PodReplacementPolicy | None = None
    managedBy: str | None = None


class JobCondition(BatchView, frozen=True, gc=False):
    type: JobConditionType = ""
    status: ConditionStatus = ""
    lastProbeTime: Time | None = None
    lastTransitionTime: Time | None = None
    reason: str = ""
    message: str = ""


class UncountedTerminatedPods(BatchView, frozen=True, gc=False):
    succeeded: tuple[UID, ...] = ABSENT_LIST
    failed: tuple[UID, ...] = ABSENT_LIST


class JobStatus(BatchView, frozen=True, gc=False):
    conditions: tuple[JobCondition, ...] = ABSENT_LIST
    startTime: Time | None = None
    completionTime: Time | None = None
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    terminating: Int32 | None = None
    completedIndexes: str = ""
    failedIndexes: str | None = None
    uncountedTerminatedPods: UncountedTerminatedPods | None = None
    ready: Int32 | None = None


class Job(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(BatchView, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(BatchView, frozen=True, gc=False):
    schedule: str = ""
    timeZone: str | None = None
    startingDeadlineSeconds: Int64 | None = None
    concurrencyPolicy: ConcurrencyPolicy = ""
    suspend: bool | None = None
    jobTemplate: JobTemplateSpec = JobTemplateSpec()
    successfulJobsHistoryLimit: Int32 | None = None
    failedJobsHistoryLimit: Int32 | None = None


class CronJobStatus(BatchView, frozen=True, gc=False):
    active: tuple[ObjectReference, ...] = ABSENT_LIST
    lastScheduleTime: Time | None = None
    lastSuccessfulTime: Time | None = None


class CronJob(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
