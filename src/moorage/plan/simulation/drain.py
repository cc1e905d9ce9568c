"""Play `kubectl drain`: cordon, evict, try again every five seconds what a disruption budget refuses.

The drain is that of `kubectl drain --ignore-daemonsets --delete-emptydir-data --force`; `complaints` says which pods
kubectl refuses to touch without the last two. Nodes are cordoned first and then drained one after the other. A drain
that waits for a budget while nothing else happens, or only what goes on for ever, is given up. Kubernetes:
k8s.io/kubectl/pkg/drain.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from moorage.admit.subresources.pods import TOO_MANY_BUDGETS, covers
from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.model.well_known.annotations import MIRROR_POD
from moorage.plan.simulation.simulation import Simulation

DRAIN = "drain"
#: Who evicts a pod that a user wants to leave, without a drain of its node.
EVICTION = "eviction"
_RETRY_SECONDS = 5.0
_MAX_FUTILE_TRIES = 12
_MAX_TRIES = 10_000


class Budget(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A PodDisruptionBudget and its numbers. `name` has its namespace."""

    name: str
    current_healthy: int
    expected_pods: int
    desired_healthy: int
    disruptions_allowed: int
    min_available: str = ""
    max_unavailable: str = ""

    def __str__(self) -> str:
        rule = f"maxUnavailable {self.max_unavailable}"
        if self.min_available:
            rule = f"minAvailable {self.min_available}"
        must = "" if self.min_available == str(self.desired_healthy) else f" and {self.desired_healthy} must be"
        healthy = f"{self.current_healthy} of {self.expected_pods} healthy{must}"
        disruptions = "disruption" if self.disruptions_allowed == 1 else "disruptions"
        return f"PodDisruptionBudget {self.name}: {rule}, {healthy}, {self.disruptions_allowed} {disruptions} allowed"


class Blocked(msgspec.Struct, frozen=True):
    """A pod that the drain of `node` cannot evict, the API server's reason, and the budgets that the pod has.

    Without a node the pod was to be evicted by itself.
    """

    pod: str
    node: str
    reason: str
    budgets: tuple[Budget, ...] = ()

    @property
    def message(self) -> str:
        budgets = "".join(f"; {budget}" for budget in self.budgets)
        if not self.node:
            return f"the eviction is refused: {self.reason.rstrip('.')}{budgets}"
        verb = "fails" if self.reason == TOO_MANY_BUDGETS else "waits"  # kubectl tries again after other refusals
        return f"the drain of {self.node} {verb}: {self.reason.rstrip('.')}{budgets}"


def budgets_of(simulation: Simulation, key: str) -> Iterator[Budget]:
    """Return the budgets of a pod as they are now."""
    pod = simulation.world.get(KINDS.POD, key)
    if pod is None:
        return
    for found in simulation.world.in_namespace(KINDS.POD_DISRUPTION_BUDGET, pod.namespace):
        if not covers(found.view, pod.view):
            continue
        spec, status = found.view.spec, found.view.status
        least, most = spec.minAvailable, spec.maxUnavailable
        yield Budget(
            found.key,
            status.currentHealthy,
            status.expectedPods,
            status.desiredHealthy,
            status.disruptionsAllowed,
            "" if least is None else str(least),
            "" if most is None else str(most),
        )


def cordon(simulation: Simulation, node: str) -> None:
    """Mark a node as unschedulable. Raises ApiError."""
    simulation.api.patch(KINDS.NODE, node, "", {"spec": {"unschedulable": True}})


def uncordon(simulation: Simulation, node: str) -> None:
    """Mark a node as schedulable again. Raises ApiError."""
    simulation.api.patch(KINDS.NODE, node, "", {"spec": {"unschedulable": None}})


def drain(simulation: Simulation, nodes: Sequence[str]) -> list[Blocked]:
    """Drain nodes. Return the pods that could not be evicted, each with the reason. Raises ApiError."""
    for name in nodes:
        cordon(simulation, name)
    simulation.work()
    return [blocked for name in nodes for blocked in _drain_one(simulation, name)]


def evict(simulation: Simulation, keys: Iterable[str]) -> list[Blocked]:
    """Ask once for the eviction of each pod, as the eviction API does. Return those that are refused."""
    blocked = []
    for key in keys:
        pod = simulation.world.get(KINDS.POD, key)
        if pod is None or pod.view.metadata.deletionTimestamp is not None:
            continue
        refused = _evict(simulation, pod, EVICTION)
        blocked += [Blocked(key, "", why, tuple(budgets_of(simulation, key))) for why in refused.values()]
        simulation.work()
    return blocked


def complaints(simulation: Simulation, node: str) -> Iterator[tuple[str, str]]:
    """Return the pods for whose sake kubectl refuses to drain a node without further flags, each with the flag."""
    for found in _to_evict(simulation, node):
        pod: Pod = found.view
        if pod.status.phase in FINISHED_PHASES:
            continue
        if controller_of(pod.metadata) is None:
            yield found.key, "--force: no controller makes it again"
        if any("emptyDir" in volume for volume in found.raw["spec"].get("volumes") or ()):
            yield found.key, "--delete-emptydir-data: it has an emptyDir volume, which is lost"


def _to_evict(simulation: Simulation, node: str) -> list[Object]:
    pods = sorted(simulation.world.pods_on(node), key=lambda pod: simulation.order[pod.uid])
    return [pod for pod in pods if not stays(pod.view)]


def stays(pod: Pod) -> bool:
    """Return whether kubectl leaves the pod alone: DaemonSets make theirs again at once, kubelets their mirror pods."""
    owner = controller_of(pod.metadata)
    return MIRROR_POD in pod.metadata.annotations or (owner is not None and owner.kind == "DaemonSet")


def _drain_one(simulation: Simulation, name: str) -> list[Blocked]:
    left = {pod.uid: pod.key for pod in _to_evict(simulation, name)}
    refused: dict[str, str] = {}
    futile, repetitions = 0, simulation.history.repetitions
    for _ in range(_MAX_TRIES):
        waiting, refused = len(left), {}
        for uid, key in list(left.items()):
            found = simulation.world.get(KINDS.POD, key)
            if found is None or found.uid != uid:
                del left[uid]
            elif found.view.metadata.deletionTimestamp is None:
                refused |= _evict(simulation, found, DRAIN)
            simulation.work()
        happened = simulation.run_until(simulation.clock.now + (_RETRY_SECONDS if refused else 0.0))
        if not left or simulation.stopped:
            break
        if not refused and not happened:
            happened = simulation.run_until(simulation.clock.now + _RETRY_SECONDS)
        is_progress = len(left) < waiting or (happened and not _is_looping(simulation, repetitions))
        futile = 0 if is_progress else futile + 1
        if futile > _MAX_FUTILE_TRIES:
            break
    return [
        Blocked(key, name, why, tuple(budgets_of(simulation, key)))
        for key, why in refused.items()
        if simulation.world.get(KINDS.POD, key)
    ]


def _is_looping(simulation: Simulation, repetitions: int) -> bool:
    """Return whether pods are evicted again and again since there were this many: that brings no budget nearer."""
    return simulation.history.repetitions > repetitions


def _evict(simulation: Simulation, pod: Object, actor: str) -> dict[str, str]:
    api = simulation.api
    api.actor = actor
    try:
        api.evict(pod.namespace, pod.name)
    except ApiError as error:
        return {} if error.code == 404 else {pod.key: error.message}
    finally:
        api.actor = ""
    return {}
