"""What a Job's pod failure policy says about a pod that failed.

In: the policy, the pod. Out: a `Ruling`. The first rule that matches counts. Kubernetes: matchPodFailurePolicy.
"""

from typing import NamedTuple

from moorage.model.types.job import PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement
from moorage.model.types.pod import Pod
from moorage.model.types.pod_status import ContainerStatus

IGNORE, FAIL_JOB, FAIL_INDEX = "Ignore", "FailJob", "FailIndex"


class Ruling(NamedTuple):
    """`action` of the rule that matched, or none; `message` if the Job is to fail because of it."""

    action: str = ""
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure counts towards the limits."""
        return self.action != IGNORE


_NO_RULE = Ruling()


def rule_on(policy: PodFailurePolicy | None, pod: Pod) -> Ruling:
    if policy is None:
        return _NO_RULE
    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
    for number, rule in enumerate(policy.rules):
        ending = f"matching {rule.action} rule at index {number}"
        if rule.onExitCodes is not None:
            container = _container_with_code(pod, rule.onExitCodes)
            if container is not None and container.state.terminated is not None:
                code = container.state.terminated.exitCode
                said = f"Container {container.name} for pod {where} failed with exit code {code} {ending}"
                return _ruling(rule.action, said)
            continue
        wanted = {(pattern.type, pattern.status) for pattern in rule.onPodConditions}
        for condition in pod.status.conditions:
            if (condition.type, condition.status) in wanted:
                return _ruling(rule.action, f"Pod {where} has condition {condition.type} {ending}")
    return _NO_RULE


def _ruling(action: str, message: str) -> Ruling:
    return Ruling(action, message if action == FAIL_JOB else "")


def _container_with_code(pod: Pod, wanted: PodFailurePolicyOnExitCodesRequirement) -> ContainerStatus | None:
    for status in (*pod.status.containerStatuses, *pod.status.initContainerStatuses):
        ended = status.state.terminated
        if ended is None or ended.exitCode == 0 or wanted.containerName not in (None, status.name):
            continue
        is_listed = ended.exitCode in wanted.values
        if (wanted.operator == "In" and is_listed) or (wanted.operator == "NotIn" and not is_listed):
            return status
    return None
