"""Read how far the update of a workload is from its status, in the same words for all kinds.

Kubernetes: kubectl rollout status. What may be too many and too few is counted by the controllers' own functions.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.control.daemon_set.controller import template_generation
from moorage.control.daemon_set.tracker import TEMPLATE_GENERATION_LABEL
from moorage.control.deployment.rollout import is_same_template
from moorage.control.deployment.status import PAUSED, REPLICA_FAILURE, TIMED_OUT
from moorage.control.framework.workloads import is_active
from moorage.model.types.pod import Pod
from moorage.plan.rollout import partition_of, update_limits

DEPLOYMENT, STATEFUL_SET, DAEMON_SET = "Deployment", "StatefulSet", "DaemonSet"


class Figures(NamedTuple):
    """Pods of a workload: how many it wants, has of the new and of the old template, and how many are available."""

    wanted: int
    updated: int
    old: int
    available: int
    max_surge: int
    max_unavailable: int

    @property
    def total(self) -> int:
        return self.updated + self.old

    @property
    def surge(self) -> int:
        return max(0, self.total - self.wanted)

    @property
    def unavailable(self) -> int:
        return max(0, self.wanted - self.available)


def figures_of(found: Object, pods: Iterable[Pod]) -> Figures:
    """Return what the workload's status says. `pods` are those of a DaemonSet, whose status counts nodes."""
    view: Any = found.view
    limits, status = update_limits(found.kind.name, view), view.status
    if found.kind.name == DAEMON_SET:
        active = [pod for pod in pods if is_active(pod)]
        # The status comes after the pods: one that was just made is not one of the old template until then.
        updated = max(status.updatedNumberScheduled if is_observed(found) else 0, _of_template(found, active))
        total = max(updated, len(active))
        return Figures(status.desiredNumberScheduled, updated, total - updated, status.numberAvailable, *limits)
    wanted = 1 if view.spec.replicas is None else view.spec.replicas
    old = max(0, status.replicas - status.updatedReplicas)
    return Figures(wanted, status.updatedReplicas, old, status.availableReplicas, *limits)


def _of_template(daemon_set: Object, pods: Iterable[Pod]) -> int:
    """Return how many pods were made from the template as it is now; none where the API server does not count."""
    generation = template_generation(daemon_set)
    return sum(1 for pod in pods if generation and pod.metadata.labels.get(TEMPLATE_GENERATION_LABEL) == generation)


def is_observed(found: Object) -> bool:
    """Return whether the status is about the workload as it is now."""
    return bool(found.view.status.observedGeneration >= found.view.metadata.generation)


def has_another_template(old: Object, new: Object) -> bool:
    if new.kind.name == DEPLOYMENT:
        return not is_same_template(old.view.spec.template, new.view.spec.template)
    return bool(old.view.spec.template != new.view.spec.template)


def is_updating(found: Object, figures: Figures) -> bool:
    """Return whether pods of an old template are there that an update is going to replace."""
    return not is_observed(found) or figures.old > partition_of(found.kind.name, found.view)


def is_rolled_out(found: Object, figures: Figures) -> bool:
    """Return whether every pod that is to be updated is, no other is left, and all are available."""
    kept = min(partition_of(found.kind.name, found.view), figures.wanted)
    return (
        is_observed(found)
        and figures.updated >= figures.wanted - kept
        and figures.total == figures.wanted
        and figures.available >= figures.wanted
    )


def strategy_of(found: Object) -> str:
    spec = found.view.spec
    return str((spec.strategy if found.kind.name == DEPLOYMENT else spec.updateStrategy).type)


def is_paused(found: Object) -> bool:
    return bool(getattr(found.view.spec, "paused", False))


def why_stuck(found: Object) -> list[str]:
    """Return what the workload's conditions say against its update."""
    said = []
    for condition in found.view.status.conditions:
        if condition.reason == TIMED_OUT and condition.status == "False":
            said.append(f"{TIMED_OUT}: {condition.message}")
        elif condition.type == REPLICA_FAILURE and condition.status == "True":
            said.append(f"{condition.reason}: {condition.message}")
        elif condition.reason == PAUSED:
            said.append("it is paused")
    if strategy_of(found) == "OnDelete":
        said.append("its update strategy is OnDelete: pods are replaced when they are deleted")
    return said
