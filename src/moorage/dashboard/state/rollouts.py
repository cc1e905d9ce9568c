"""Follow the rollouts of a live cluster step by step: who is updated, available and old, with surge and budgets.

A rollout begins when the template of a Deployment, StatefulSet or DaemonSet changes or one is created, and ends when
every pod is of the new template and available. Those that are under way when the dashboard starts are followed from
then on.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.daemon_set.controller import template_generation
from moorage.control.daemon_set.tracker import TEMPLATE_GENERATION_LABEL
from moorage.control.deployment.rollout import is_same_template
from moorage.control.deployment.status import PAUSED, REPLICA_FAILURE, TIMED_OUT
from moorage.control.disruption import budget_selects
from moorage.control.framework.workloads import desired_replicas, is_active
from moorage.control.framework.world import controller_of
from moorage.dashboard.state.workload_changes import is_news
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import Pod
from moorage.plan.report.reasons import without_preemption
from moorage.plan.rollout import partition_of, update_limits
from moorage.watch.happenings import key_of, waiting_condition

MAX_UNDER_WAY = 200
MAX_ENDED = 50
MAX_STEPS = 400
MAX_NOTES = 8
MAX_PENDING = 5
#: Pods that no controller of these has are not followed.
_OWNERS = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet"})
_WORKLOADS = (KINDS.DEPLOYMENT, KINDS.STATEFUL_SET, KINDS.DAEMON_SET)
#: What has to be watched.
ROLLOUT_KINDS = (*_WORKLOADS, KINDS.REPLICA_SET, KINDS.POD_DISRUPTION_BUDGET, KINDS.POD)


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


def figures_of(workload: Object, pods: Iterable[Pod]) -> Figures:
    """Return what the workload's status says. `pods` are those of a DaemonSet, whose status counts nodes."""
    view: Any = workload.view
    limits, status = update_limits(workload.kind.name, view), view.status
    if workload.kind.name == DAEMON_SET:
        active = [pod for pod in pods if is_active(pod)]
        # The status comes after the pods: one that was just made is not one of the old template until then.
        updated = max(status.updatedNumberScheduled if is_observed(workload) else 0, _of_template(workload, active))
        total = max(updated, len(active))
        return Figures(status.desiredNumberScheduled, updated, total - updated, status.numberAvailable, *limits)
    wanted = 1 if view.spec.replicas is None else view.spec.replicas
    old = max(0, status.replicas - status.updatedReplicas)
    return Figures(wanted, status.updatedReplicas, old, status.availableReplicas, *limits)


def _of_template(daemon_set: Object, pods: Iterable[Pod]) -> int:
    """Return how many pods were made from the template as it is now; none where the API server does not count."""
    generation = template_generation(daemon_set)
    return sum(1 for pod in pods if generation and pod.metadata.labels.get(TEMPLATE_GENERATION_LABEL) == generation)


def is_observed(workload: Object) -> bool:
    """Return whether the status is about the workload as it is now."""
    return bool(workload.view.status.observedGeneration >= workload.view.metadata.generation)


def has_another_template(old: Object, new: Object) -> bool:
    if new.kind.name == DEPLOYMENT:
        return not is_same_template(old.view.spec.template, new.view.spec.template)
    return bool(old.view.spec.template != new.view.spec.template)


def is_updating(workload: Object, figures: Figures) -> bool:
    """Return whether pods of an old template are there that an update is going to replace."""
    return not is_observed(workload) or figures.old > partition_of(workload.kind.name, workload.view)


def is_rolled_out(workload: Object, figures: Figures) -> bool:
    """Return whether every pod that is to be updated is, no other is left, and all are available."""
    kept = min(partition_of(workload.kind.name, workload.view), figures.wanted)
    return (
        is_observed(workload)
        and figures.updated >= figures.wanted - kept
        and figures.total == figures.wanted
        and figures.available >= figures.wanted
    )


def strategy_of(workload: Object) -> str:
    spec = workload.view.spec
    return str((spec.strategy if workload.kind.name == DEPLOYMENT else spec.updateStrategy).type)


def is_paused(workload: Object) -> bool:
    return bool(getattr(workload.view.spec, "paused", False))


def why_stuck(workload: Object) -> list[str]:
    """Return what the workload's conditions say against its update."""
    reasons = []
    for condition in workload.view.status.conditions:
        if condition.reason == TIMED_OUT and condition.status == "False":
            reasons.append(f"{TIMED_OUT}: {condition.message}")
        elif condition.type == REPLICA_FAILURE and condition.status == "True":
            reasons.append(f"{condition.reason}: {condition.message}")
        elif condition.reason == PAUSED:
            reasons.append("it is paused")
    if strategy_of(workload) == "OnDelete":
        reasons.append("its update strategy is OnDelete: pods are replaced when they are deleted")
    return reasons


class FollowedStep(msgspec.Struct, frozen=True, rename="camel"):
    """How many pods there were at a time, what was allowed then, and what had been done."""

    time: float
    message: str
    wanted: int
    updated: int
    old: int
    available: int
    total: int
    surge: int
    max_surge: int
    unavailable: int
    max_unavailable: int


class FollowedRollout(msgspec.Struct, rename="camel", kw_only=True):
    """One update of one workload, as far as it was seen."""

    workload: str
    uid: str
    generation: int
    began: float
    saw_start: bool
    state: str = "progressing"
    ended: float | None = None
    strategy: str = ""
    partition: int = 0
    peak_surge: int = 0  # of all steps, also of those that are not kept
    peak_unavailable: int = 0
    steps: list[FollowedStep] = []
    stuck: list[str] = []
    pending: list[tuple[str, str]] = []
    budgets: list[dict[str, Any]] = []


class Rollouts:
    """Workloads, their ReplicaSets, pods and budgets, and the rollouts seen. Before `begin` changes are no news."""

    def __init__(self) -> None:
        self.left_out = 0
        self._begun = False
        self._workloads: dict[str, Object] = {}  # by UID, as all of these
        self._deployments: dict[str, str] = {}  # of ReplicaSets
        self._pods: dict[str, dict[str, Pod]] = {}  # of ReplicaSets, StatefulSets and DaemonSets
        self._replica_sets: dict[str, set[str]] = {}  # of Deployments
        self._budgets: dict[str, Object] = {}  # by key
        self._under_way: dict[str, FollowedRollout] = {}
        self._ended: deque[FollowedRollout] = deque(maxlen=MAX_ENDED)
        self._notes: dict[str, list[str]] = {}

    def begin(self, now: float) -> None:
        """Look for rollouts that are under way, once everything is listed."""
        if self._begun:
            return
        self._begun = True
        for uid, workload in self._workloads.items():
            if is_updating(workload, self._figures(uid)):
                self._start(workload, now, saw_start=False)

    def changed(self, kind: Kind, deltas: Iterable[Delta], now: float) -> None:
        """Take changes of objects of one of ROLLOUT_KINDS."""
        touched: dict[str, None] = {}
        for old, new in deltas:
            if kind is KINDS.POD:
                uid = self._pod_changed(old, new)
            elif kind is KINDS.REPLICA_SET:
                uid = self._replica_set_changed(old, new, now)
            elif kind is KINDS.POD_DISRUPTION_BUDGET:
                uid = self._budget_changed(old, new)
            else:
                uid = self._workload_changed(old, new, now)
            if uid in self._under_way:
                touched[uid] = None
        for uid in touched:
            self._look(uid, now)

    # -- what changed -------------------------------------------------------------------------------------------------

    def _pod_changed(self, old: Object | None, new: Object | None) -> str:
        item = new or old
        owner = controller_of(item.view.metadata) if item is not None else None
        if item is None or owner is None or owner.kind not in _OWNERS:
            return ""
        if new is None:
            pods = self._pods.get(owner.uid, {})
            pods.pop(item.key, None)
            if not pods:
                self._pods.pop(owner.uid, None)
        else:
            self._pods.setdefault(owner.uid, {})[item.key] = new.view
        return self._deployments.get(owner.uid, owner.uid)

    def _replica_set_changed(self, old: Object | None, new: Object | None, now: float) -> str:
        item = new or old
        owner = controller_of(item.view.metadata) if item is not None else None
        if item is None or owner is None:
            return ""
        if new is None:
            self._deployments.pop(item.uid, None)
            self._replica_sets.get(owner.uid, set()).discard(item.uid)
        else:
            self._deployments[item.uid] = owner.uid
            self._replica_sets.setdefault(owner.uid, set()).add(item.uid)
        before, after = (desired_replicas(replica_set) if replica_set is not None else 0 for replica_set in (old, new))
        if before != after and (old is not None or is_news(item, now)):
            way = "up" if before < after else "down"
            self._note(owner.uid, f"{item.name} scaled {way} from {before} to {after}")
        return owner.uid

    def _budget_changed(self, old: Object | None, new: Object | None) -> str:
        if new is not None:
            self._budgets[new.key] = new
        elif old is not None:
            self._budgets.pop(old.key, None)
        return ""

    def _workload_changed(self, old: Object | None, new: Object | None, now: float) -> str:
        if old is not None and (new is None or new.uid != old.uid):
            self._workloads.pop(old.uid, None)
            self._replica_sets.pop(old.uid, None)
            self._notes.pop(old.uid, None)
            self._end(old.uid, "deleted", now)
            old = None
        if new is None:
            return ""
        self._workloads[new.uid] = new
        if self._begun and (is_news(new, now) if old is None else has_another_template(old, new)):
            self._end(new.uid, "superseded", now)
            self._start(new, now, saw_start=True)
        elif self._begun and old is None and is_updating(new, self._figures(new.uid)):
            self._start(new, now, saw_start=False)  # its kind was listed late
        return new.uid

    def _note(self, uid: str, text: str) -> None:
        if uid in self._under_way:
            notes = self._notes.setdefault(uid, [])
            if len(notes) < MAX_NOTES:
                notes.append(text)

    # -- rollouts -----------------------------------------------------------------------------------------------------

    def _start(self, workload: Object, now: float, *, saw_start: bool) -> None:
        if len(self._under_way) >= MAX_UNDER_WAY:
            self.left_out += 1
            return
        self._under_way[workload.uid] = rollout = FollowedRollout(
            workload=f"{workload.kind.name} {workload.key}",
            uid=workload.uid,
            generation=workload.view.metadata.generation,
            began=now,
            saw_start=saw_start,
            steps=[],
        )
        figures = self._figures(workload.uid)
        if saw_start and not is_observed(workload):  # the status still counts pods of the last template as updated
            figures = figures._replace(updated=0, old=figures.total)
        text = "the template changed" if figures.old else "it was created"
        _add(rollout, figures, text if saw_start else "it was under way when it was first seen", now)

    def _look(self, uid: str, now: float) -> None:
        """Add a step if anything changed, and end the rollout if it is over."""
        rollout, workload = self._under_way[uid], self._workloads.get(uid)
        if workload is None or not is_observed(workload):
            return
        figures, last = self._figures(uid), rollout.steps[-1]
        notes = self._notes.pop(uid, [])
        if notes or figures != _figures_in(last):
            _add(rollout, figures, "; ".join(notes) or _difference(_figures_in(last), figures), now)
        if is_rolled_out(workload, figures):
            self._describe(rollout, workload)
            self._end(uid, "complete", now)

    def _end(self, uid: str, state: str, now: float) -> None:
        rollout = self._under_way.pop(uid, None)
        if rollout is not None:
            rollout.state, rollout.ended = state, now
            rollout.pending, rollout.stuck = [], []
            self._ended.append(rollout)
            self._notes.pop(uid, None)

    def _figures(self, uid: str) -> Figures:
        workload = self._workloads[uid]
        return figures_of(workload, self._pods.get(uid, {}).values())

    # -- what is told -------------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Return the answer to `GET /api/rollouts`, the latest rollout first."""
        for uid, rollout in self._under_way.items():
            self._describe(rollout, self._workloads[uid])
        for rollout in self._ended:
            if (workload := self._workloads.get(rollout.uid)) is not None:
                rollout.budgets = list(self._budgets_of(workload))
        rollouts = sorted((*self._under_way.values(), *self._ended), key=lambda rollout: -rollout.began)
        return {"rollouts": [msgspec.to_builtins(rollout) for rollout in rollouts], "leftOut": self.left_out}

    def _describe(self, rollout: FollowedRollout, workload: Object) -> None:
        """Say what allows or hinders it now."""
        rollout.strategy, rollout.partition = strategy_of(workload), partition_of(workload.kind.name, workload.view)
        rollout.budgets = list(self._budgets_of(workload))
        rollout.pending = list(self._pending(workload.uid))
        rollout.stuck = why_stuck(workload)
        if is_paused(workload):
            rollout.state = "paused"
        else:
            rollout.state = "stuck" if rollout.stuck or rollout.pending else "progressing"

    def _budgets_of(self, workload: Object) -> Iterator[dict[str, Any]]:
        labels = workload.view.spec.template.metadata.labels
        for budget in self._budgets.values():
            if budget.namespace == workload.namespace and budget_selects(budget, labels):
                status = budget.view.status
                yield {
                    "name": budget.name,
                    "disruptionsAllowed": status.disruptionsAllowed,
                    "currentHealthy": status.currentHealthy,
                    "desiredHealthy": status.desiredHealthy,
                    "expectedPods": status.expectedPods,
                }

    def _pending(self, uid: str) -> Iterator[tuple[str, str]]:
        """Return pods that the scheduler cannot place, and why."""
        left = MAX_PENDING
        for owner in (uid, *self._replica_sets.get(uid, ())):
            for pod in self._pods.get(owner, {}).values():
                condition = waiting_condition(pod) if is_active(pod) and not pod.spec.nodeName else None
                if condition is not None and left:
                    left -= 1
                    yield key_of(pod), without_preemption(condition.message)


def _add(rollout: FollowedRollout, figures: Figures, message: str, now: float) -> None:
    rollout.steps.append(
        FollowedStep(
            now,
            message,
            figures.wanted,
            figures.updated,
            figures.old,
            figures.available,
            figures.total,
            figures.surge,
            figures.max_surge,
            figures.unavailable,
            figures.max_unavailable,
        )
    )
    rollout.peak_surge = max(rollout.peak_surge, figures.surge)
    rollout.peak_unavailable = max(rollout.peak_unavailable, figures.unavailable)
    if len(rollout.steps) > MAX_STEPS:  # the beginning and the latest steps say most
        del rollout.steps[1 : MAX_STEPS // 2 : 2]


def _figures_in(step: FollowedStep) -> Figures:
    return Figures(step.wanted, step.updated, step.old, step.available, step.max_surge, step.max_unavailable)


def _difference(before: Figures, after: Figures) -> str:
    parts = [
        f"{abs(change)} {'more' if change > 0 else 'fewer'} {word}"
        for word, change in (
            ("wanted", after.wanted - before.wanted),
            ("updated", after.updated - before.updated),
            ("old", after.old - before.old),
            ("available", after.available - before.available),
        )
        if change
    ]
    return ", ".join(parts) or "what its strategy allows changed"
