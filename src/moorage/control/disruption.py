"""Status of PodDisruptionBudgets, and stale DisruptionTarget conditions of pods.

Keys: budgets, and `pod:` with a pod. Percentages and maxUnavailable count from the replicas that the pods' controllers
want. A granted eviction counts until the pod is being deleted, or for two minutes. Kubernetes:
pkg/controller/disruption. Differs: all budgets of a pod are updated, even if it has several; a change of replicas is
noticed before the pods change; the event about a pod that was not deleted names the budget; that a pod has several
budgets is told when its readiness, labels or owner change, not at each change.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework import workloads
from moorage.control.framework.actions import NOTHING, Action, Plan, Raw, note, patch_status, warn
from moorage.control.framework.controller import Controller
from moorage.control.framework.pod_tally import PodFacts
from moorage.control.framework.steps import Steps, finish, in_parts
from moorage.control.framework.world import World, controller_of
from moorage.match.label_selector import go_text
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import LabelSelector
from moorage.model.types.pod import Pod, PodCondition
from moorage.model.types.policy import PodDisruptionBudgetSpec

#: Kinds with a scale subresource.
SCALABLE = (KINDS.DEPLOYMENT, KINDS.REPLICA_SET, KINDS.STATEFUL_SET, KINDS.REPLICATION_CONTROLLER)


class CannotExpect(Exception):
    """Why the expected number of pods cannot be computed."""


class Expected(NamedTuple):
    """Expected and desired healthy pods. `unmanaged`: there are pods without a controller, which do not count."""

    pods: int
    healthy: int
    unmanaged: bool = False


#: Facts of the pods that a budget selects, and how many have them.
Selected = Sequence[tuple[PodFacts, int]]


def selected_pods(budget: Object, world: World) -> Steps[Selected]:
    """Return the pods of a budget: labels that many pods share are looked at once."""
    selected: list[tuple[PodFacts, int]] = []
    for part in in_parts(list(world.tally_of_namespace(budget.namespace).items())):
        selected += (counted for counted in part if budget_selects(budget, dict(counted[0].labels)))
        yield
    return selected


def expected_pods(budget: Object, pods: Selected, world: World) -> Expected:
    """Return the expected pods of a budget. Raises CannotExpect."""
    spec: PodDisruptionBudgetSpec = budget.view.spec
    if spec.maxUnavailable is not None:
        expected, unmanaged = _wanted_replicas(budget, pods, world)
        return Expected(
            expected, max(0, expected - workloads.scaled(spec.maxUnavailable, expected, up=True)), unmanaged
        )
    if isinstance(spec.minAvailable, int):
        return Expected(sum(count for _, count in pods), spec.minAvailable)
    if spec.minAvailable is not None:
        expected, unmanaged = _wanted_replicas(budget, pods, world)
        return Expected(expected, workloads.scaled(spec.minAvailable, expected, up=True), unmanaged)
    return Expected(0, 0)


def _wanted_replicas(budget: Object, pods: Selected, world: World) -> tuple[int, bool]:
    """Return the replicas that the owners of pods want, and whether there are pods without an owner."""
    owners = {facts.owner for facts, _ in pods}
    scales = dict(_scale_of(budget, uid, world) for uid in sorted(owners - {""}))
    return sum(scales.values()), "" in owners  # pods of several owners may have the same scale


def _scale_of(budget: Object, uid: str, world: World) -> tuple[str, int]:
    """Return the UID and the replicas of the topmost controller of the pods of an owner. Raises CannotExpect."""
    owned = world.first_owned(KINDS.POD, uid)
    pod = next((pod for pod in owned if budget_selects(budget, pod.view.metadata.labels)), None)
    owner = controller_of(pod.view.metadata) if pod is not None else None
    if pod is None or owner is None:
        return uid, 0  # they are gone since they were counted
    kind = KINDS.get((owner.apiVersion, owner.kind))
    if kind is None:
        raise CannotExpect(f'no matches for kind "{owner.kind}" in version "{owner.apiVersion}"')
    if kind not in SCALABLE:
        name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        raise CannotExpect(f"{name} does not implement the scale subresource")
    controller = workloads.find_owner(kind, owner, pod.namespace, world)
    if controller is None:
        raise CannotExpect(f'found no controllers for pod "{pod.name}"')
    above = controller_of(controller.view.metadata)
    if kind is KINDS.REPLICA_SET and above is not None and (above.apiVersion, above.kind) == ("apps/v1", "Deployment"):
        controller = workloads.find_owner(KINDS.DEPLOYMENT, above, pod.namespace, world) or controller
    return controller.uid, workloads.desired_replicas(controller)


#: Seconds after which a granted eviction no longer counts if the pod is not being deleted.
DELETION_TIMEOUT = 120.0
_ALLOWED = "DisruptionAllowed"


class Disrupted(NamedTuple):
    """Pods whose eviction was granted, with the time; those not deleted in time; when to look again."""

    pods: dict[str, str]
    not_deleted: Sequence[Object]
    again_after: float | None


def disrupted_pods(budget: Object, world: World, now: float) -> Disrupted:
    kept: dict[str, str] = {}
    late: list[Object] = []
    soonest: float | None = None
    for name, when in budget.view.status.disruptedPods.items():
        pod = world.get(KINDS.POD, f"{budget.namespace}/{name}")
        if pod is None or not budget_selects(budget, pod.view.metadata.labels):
            continue
        if pod.view.metadata.deletionTimestamp is not None:
            continue
        left = (seconds_of(when) or 0.0) + DELETION_TIMEOUT - now
        if left < 0:
            late.append(pod)
        else:
            kept[pod.name] = when
            soonest = left if soonest is None else min(soonest, left)
    # A moment later: an entry still counts in its last second.
    return Disrupted(kept, late, None if soonest is None else soonest + 0.001)


def healthy_pods(budget: Object, pods: Selected, disrupted: Disrupted, world: World, now: float) -> int:
    """Count the pods that are ready and stay: not those whose eviction was granted."""
    ready = sum(count for facts, count in pods if facts.ready_since is not None and not facts.is_leaving)
    granted = (
        world.get(KINDS.POD, f"{budget.namespace}/{name}")
        for name, when in disrupted.pods.items()
        if (seconds_of(when) or 0.0) + DELETION_TIMEOUT > now
    )
    return ready - sum(pod is not None and workloads.ready_condition(pod.view) is not None for pod in granted)


def budget_status(budget: Object, expected: Expected, healthy: int, disrupted: Disrupted, now: float) -> Raw:
    allowed = max(0, healthy - expected.healthy) if expected.pods > 0 else 0
    generation = budget.view.metadata.generation
    before = budget.raw.get("status") or {}
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": expected.healthy,
        "expectedPods": expected.pods,
        **workloads.nonempty(observedGeneration=generation, disruptedPods=disrupted.pods),
        "conditions": _with_condition(before, bool(allowed), reason, "", generation, now),
    }


def failed_status(budget: Object, why: str, now: float) -> Raw:
    """Return the status when the budget cannot be computed: disruptionsAllowed = 0."""
    before = budget.raw.get("status") or {}
    observed = budget.view.status.observedGeneration
    conditions = _with_condition(before, False, "SyncFailed", why, observed, now)
    numbers = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
    return {**numbers, **before, "disruptionsAllowed": 0, "conditions": conditions}


def _with_condition(before: Raw, allowed: bool, reason: str, message: str, observed: int, now: float) -> list[Raw]:
    condition: Raw = {"type": _ALLOWED, "status": str(allowed), "reason": reason, "message": message}
    condition |= workloads.nonempty(observedGeneration=observed)
    return workloads.set_condition(before.get("conditions") or (), condition, now)


#: Seconds after which a DisruptionTarget condition of a pod that is not being deleted is stale.
STALE_AFTER = 120.0
_POD_KEY = "pod:"
_EMPTY_SELECTOR = LabelSelector()


class DisruptionController(Controller):
    """Reconciles budgets."""

    name = "disruption-controller"
    component = "controllermanager"
    watches = (KINDS.POD_DISRUPTION_BUDGET, KINDS.POD, *SCALABLE)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        changed = new or old
        if changed is None:
            return ()
        if kind is KINDS.POD_DISRUPTION_BUDGET:
            return (changed.key,)
        if kind is not KINDS.POD:
            if old is not None and new is not None and old.view.spec.replicas == new.view.spec.replicas:
                return ()
            return [budget.key for budget in world.in_namespace(KINDS.POD_DISRUPTION_BUDGET, changed.namespace)]
        keys = [_POD_KEY + new.key] if new is not None and _stale_condition(new.view) is not None else []
        if _is_same(old, new) or not world.has_any(KINDS.POD_DISRUPTION_BUDGET, changed.namespace):
            return keys
        budgets = dict.fromkeys(budgets_of(new, world)) if new is not None else {}
        if len(budgets) > 1 and new is not None and not keys:
            keys.append(_POD_KEY + new.key)
        if old is not None and (new is None or old.view.metadata.labels != new.view.metadata.labels):
            budgets |= dict.fromkeys(budgets_of(old, world))
        return [*keys, *budgets]

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return finish(self.steps(key, world, now))

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        if key.startswith(_POD_KEY):
            pod = world.get(KINDS.POD, key[len(_POD_KEY) :])
            return NOTHING if pod is None else _reconcile_pod(pod, world, now)
        budget = world.get(KINDS.POD_DISRUPTION_BUDGET, key)
        if budget is None:
            return NOTHING
        pods = yield from selected_pods(budget, world)
        actions: list[Action] = []
        if not pods:
            actions.append(note(budget, "NoPods", "No matching pods found"))
        try:
            expected = expected_pods(budget, pods, world)
        except CannotExpect as error:
            text = f"Failed to calculate the number of expected pods: {error}"
            actions.append(warn(budget, "CalculateExpectedPodCountFailed", text))
            return Plan((*actions, *workloads.status_update(budget, failed_status(budget, str(error), now))))
        if expected.unmanaged:
            text = _UNMANAGED.replace("{selector}", go_text(budget.view.spec.selector))
            actions.append(warn(budget, "UnmanagedPods", text))
        disrupted = disrupted_pods(budget, world, now)
        text = f"Pod was expected by PDB {budget.key} to be deleted but it wasn't"
        actions += [warn(pod, "NotDeleted", text) for pod in disrupted.not_deleted]
        healthy = healthy_pods(budget, pods, disrupted, world, now)
        written = workloads.status_update(budget, budget_status(budget, expected, healthy, disrupted, now))
        return Plan((*actions, *written), again_after=disrupted.again_after)


def budget_selects(budget: Object, labels: Mapping[str, str]) -> bool:
    """Return whether a budget selects these labels. An absent selector matches nothing, an empty one everything."""
    selector = budget.view.spec.selector
    return selector is not None and (selector == _EMPTY_SELECTOR or workloads.selects(selector, labels))


def budgets_of(pod: Object, world: World) -> list[str]:
    """Return the keys of the budgets that select a pod."""
    labels = pod.view.metadata.labels
    candidates = world.selecting(KINDS.POD_DISRUPTION_BUDGET, pod.namespace, labels)
    return [budget.key for budget in candidates if budget_selects(budget, labels)]


def _is_same(old: Object | None, new: Object | None) -> bool:
    """Return whether a change of a pod does not matter to budgets."""
    if old is None or new is None:
        return False
    before, after = old.view.metadata, new.view.metadata
    return (
        before.labels == after.labels
        and before.deletionTimestamp == after.deletionTimestamp
        and before.ownerReferences == after.ownerReferences
        and (workloads.ready_condition(old.view) is None) == (workloads.ready_condition(new.view) is None)
    )


def _reconcile_pod(pod: Object, world: World, now: float) -> Plan:
    """Tell that a pod has several budgets, so that it cannot be evicted, and clean its conditions."""
    plan, budgets = _clean_pod(pod, now), budgets_of(pod, world)
    if len(budgets) < 2:
        return plan
    text = (
        f'Pod "{pod.namespace}"/"{pod.name}" matches multiple PodDisruptionBudgets.  '
        f'Chose "{min(budgets).rpartition("/")[2]}" arbitrarily.'
    )
    return plan._replace(actions=(warn(pod, "MultiplePodDisruptionBudgets", text), *plan.actions))


_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a result, the "
    "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these "
    'pods please set ".spec.minAvailable" field of the PDB to an integer value.'
)


def _stale_condition(pod: Pod) -> PodCondition | None:
    """Return the DisruptionTarget condition of a pod that is not being deleted."""
    if not workloads.is_active(pod):
        return None
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            is_true = condition.status == "True" and condition.reason != "TerminationByKubelet"
            return condition if is_true else None
    return None


def _clean_pod(pod: Object, now: float) -> Plan:
    condition = _stale_condition(pod.view)
    if condition is None:
        return NOTHING
    left = (seconds_of(condition.lastTransitionTime) or 0.0) + STALE_AFTER - now
    if left > 0:
        return Plan(again_after=left)
    changed = {"type": condition.type, "status": "False", "lastTransitionTime": time_text(now)}
    if condition.observedGeneration:
        changed["observedGeneration"] = pod.view.metadata.generation
    status = {"conditions": [{**changed, "reason": None, "message": None}]}
    return Plan((patch_status(pod, status, pod.revision),))
