"""PodDisruptionBudgets say how many of their pods may be disrupted, and pods that were not are told so.

In: budgets, pods, and the controllers of pods. Out: the status of budgets, events, and for pods that were marked as the
target of a disruption which never came, that mark's end. Keys are those of budgets, and those of pods with `pod:`
before them. Kubernetes: pkg/controller/disruption. Differs: all budgets of a pod are kept up to date, also when it has
several; a change of replicas is noticed before the pods change; the event about a pod that was not deleted has the
name of the budget.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from moorage.client.events.event_action import reference_to
from moorage.client.protocol import Object
from moorage.control.disruption.expected_pods import SCALABLE, CannotExpect, expected_pods
from moorage.control.disruption.status import budget_status, disrupted_pods, failed_status, healthy_pods
from moorage.control.framework.actions import NORMAL, NOTHING, WARNING, Action, Patch, Plan, Report, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.pods_of import POD, ready_condition, seconds_of, time_text
from moorage.control.framework.world import World
from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import LabelSelector
from moorage.model.types.pod import Pod
from moorage.model.types.pod_status import PodCondition

BUDGET = KINDS["policy/v1", "PodDisruptionBudget"]
#: Seconds for which a pod may be the target of a disruption without being deleted.
STALE_AFTER = 120.0
_POD_KEY = "pod:"
_TERMINAL = ("Succeeded", "Failed")


class DisruptionController(Controller):
    """See the module."""

    name = "disruption-controller"
    component = "controllermanager"
    watches = (BUDGET, POD, *SCALABLE)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        changed = new or old
        if changed is None:
            return ()
        if kind is BUDGET:
            return (changed.key,)
        if kind is not POD:
            if old is not None and new is not None and old.view.spec.replicas == new.view.spec.replicas:
                return ()
            return [budget.key for budget in world.in_namespace(BUDGET, changed.namespace)]
        keys = [_POD_KEY + new.key] if new is not None and _stale_condition(new.view) is not None else []
        if _is_same(old, new) or not world.has_any(BUDGET, changed.namespace):
            return keys
        labels = [one.view.metadata.labels for one in (old, new) if one is not None]
        for budget in world.in_namespace(BUDGET, changed.namespace):
            if any(_selects(budget, each) for each in labels):
                keys.append(budget.key)
        return keys

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        if key.startswith(_POD_KEY):
            return _clean_pod(world.get(POD, key[len(_POD_KEY) :]), now)
        budget = world.get(BUDGET, key)
        if budget is None:
            return NOTHING
        pods = [pod for pod in world.in_namespace(POD, budget.namespace) if _selects(budget, pod.view.metadata.labels)]
        actions: list[Action] = []
        if not pods:
            actions.append(Report(reference_to(budget), NORMAL, "NoPods", "No matching pods found"))
        try:
            expected = expected_pods(budget.view.spec, pods, world)
        except CannotExpect as error:
            text = f"Failed to calculate the number of expected pods: {error}"
            actions.append(Report(reference_to(budget), WARNING, "CalculateExpectedPodCountFailed", text))
            return Plan((*actions, *_write(budget, failed_status(budget, str(error), now))))
        if expected.unmanaged:
            text = _UNMANAGED.replace("{selector}", _selector_text(budget.view.spec.selector))
            actions.append(Report(reference_to(budget), WARNING, "UnmanagedPods", text))
        disrupted = disrupted_pods(budget, pods, now)
        actions += [_not_deleted(pod, budget) for pod in disrupted.not_deleted]
        healthy = healthy_pods(pods, disrupted, now)
        written = list(_write(budget, budget_status(budget, expected, healthy, disrupted, now)))
        if written:
            actions += _shared(budget, pods, world)
        return Plan((*actions, *written), again_after=disrupted.again_after)


def _selects(budget: Object, labels: Mapping[str, str]) -> bool:
    """No selector selects nothing, an empty one everything."""
    selector = budget.view.spec.selector
    if selector is None:
        return False
    if not selector.matchExpressions:
        return all(labels.get(key) == value for key, value in selector.matchLabels.items())
    try:
        return compile_label_selector(selector).match(labels)
    except SelectorError:
        return False


def _is_same(old: Object | None, new: Object | None) -> bool:
    """Whether a change of a pod is none to budgets."""
    if old is None or new is None:
        return False
    before, after = old.view.metadata, new.view.metadata
    return (
        before.labels == after.labels
        and before.deletionTimestamp == after.deletionTimestamp
        and before.ownerReferences == after.ownerReferences
        and (ready_condition(old.view) is None) == (ready_condition(new.view) is None)
    )


def _write(budget: Object, status: dict[str, object]) -> Iterator[Update]:
    if status != (budget.raw.get("status") or {}):
        yield Update(BUDGET, {**budget.raw, "status": status}, "status")


def _not_deleted(pod: Object, budget: Object) -> Report:
    text = f"Pod was expected by PDB {budget.namespace}/{budget.name} to be deleted but it wasn't"
    return Report(reference_to(pod), WARNING, "NotDeleted", text)


def _shared(budget: Object, pods: Sequence[Object], world: World) -> Iterator[Report]:
    """Pods of which this is the first of several budgets: they cannot be evicted at all."""
    others = [other for other in world.in_namespace(BUDGET, budget.namespace) if other.name != budget.name]
    for pod in pods if others else ():
        names = [other.name for other in others if _selects(other, pod.view.metadata.labels)]
        if names and budget.name < min(names):
            text = (
                f'Pod "{pod.namespace}"/"{pod.name}" matches multiple PodDisruptionBudgets.  '
                f'Chose "{budget.name}" arbitrarily.'
            )
            yield Report(reference_to(pod), WARNING, "MultiplePodDisruptionBudgets", text)


_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a result, the "
    "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these "
    'pods please set ".spec.minAvailable" field of the PDB to an integer value.'
)


def _selector_text(selector: LabelSelector | None) -> str:
    """As Go prints one."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.matchLabels.items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one.key},Operator:{one.operator},Values:[{' '.join(one.values)}],}},"
        for one in selector.matchExpressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _stale_condition(pod: Pod) -> PodCondition | None:
    """The condition that says the pod is about to be disrupted, if it may turn out to be wrong."""
    if pod.metadata.deletionTimestamp is not None or pod.status.phase in _TERMINAL:
        return None
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            is_true = condition.status == "True" and condition.reason != "TerminationByKubelet"
            return condition if is_true else None
    return None


def _clean_pod(pod: Object | None, now: float) -> Plan:
    condition = _stale_condition(pod.view) if pod is not None else None
    if pod is None or condition is None:
        return NOTHING
    left = (seconds_of(condition.lastTransitionTime) or 0.0) + STALE_AFTER - now
    if left > 0:
        return Plan(again_after=left)
    changed = {"type": condition.type, "status": "False", "lastTransitionTime": time_text(now)}
    if condition.observedGeneration:
        changed["observedGeneration"] = pod.view.metadata.generation
    status = {"conditions": [{**changed, "reason": None, "message": None}]}
    metadata = {"uid": pod.uid, "resourceVersion": str(pod.revision)}
    return Plan((Patch(POD, pod.namespace, pod.name, {"metadata": metadata, "status": status}, "status"),))
