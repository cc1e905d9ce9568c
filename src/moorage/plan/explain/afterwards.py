"""Say what happens to a pod on its node, or on the one that the scheduler chose: for how long it stays, what follows.

A toleration with `tolerationSeconds` lets the scheduler choose a node that the pod has to leave again. Where components
have other gates, the controller manager may evict what the scheduler placed, and the kubelet refuse it, because each
reads tolerations and node affinity with its own gates. Kubernetes: "Version Skew Strategy" of KEP-5471, KEP-5721 and
KEP-5500.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from moorage.match.evaluation.accounts import Undecided
from moorage.match.eviction_clock import Deadline, deadline_if_placed
from moorage.match.node_selector import compile_required_node_affinity, gate_obstacle
from moorage.match.taint_eviction import When, no_execute
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import Component
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.departures import EvictionLoop
from moorage.plan.evictions.follow_ups import FollowUps, follow_ups, with_then
from moorage.plan.input.inventory import Key
from moorage.plan.pod_lines import PlannedPod, PodDeadline, PodRows, State
from moorage.plan.simulation.controllers import EVICTIONS
from moorage.plan.simulation.simulation import Settings, Simulation

_EXECUTE = frozenset({NO_EXECUTE})


def deadline_there(node: Node, pod: Pod, simulation: Simulation) -> Deadline | None:
    """Return the deadline of a pod that is put on the node now; None if no taint concerns it, or that is not known."""
    taints, settings = no_execute(node), simulation.settings
    if not taints:
        return None
    manager = settings.gates_of(Component.CONTROLLER_MANAGER)
    component = "the controller manager" if manager != settings.gates_of(Component.SCHEDULER) else ""
    try:
        return deadline_if_placed(
            taints, compile_tolerations(pod.spec.tolerations, manager, component=component), simulation.clock.now
        )
    except Undecided:
        return None


def deadline_here(pod: PlannedPod, simulation: Simulation) -> PodDeadline | None:
    """Return the deadline of a pod that is on its node or had to leave it; None if no taint concerns it.

    The time is counted from when the simulation began, however long the other pods of the cluster took since.
    """
    if pod.state is State.EVICTING and pod.deadline is not None:
        seconds = pod.evicted_after or 0
        text = Deadline(When.AFTER, seconds=seconds, because=pod.deadline.because).text
        return PodDeadline(text, seconds, pod.deadline.because)
    if pod.deadline is not None:
        return pod.deadline
    found, node = simulation.world.get(KINDS.POD, pod.key), simulation.world.view(KINDS.NODE, pod.node)
    if found is None or node is None or found.view.metadata.deletionTimestamp is not None:
        return None
    text = simulation.evictions.deadline(found, no_execute(node)).text
    return PodDeadline(text) if text else None


def refusals_on(node: Node, pod: Pod, settings: Settings) -> Iterator[str]:
    """Yield why the kubelet of a node would not start a pod that the scheduler puts there."""
    scheduler, kubelet = map(settings.gates_of, (Component.SCHEDULER, Component.KUBELET))
    if kubelet == scheduler:
        return
    spec = pod.spec
    tolerations = compile_tolerations(spec.tolerations, kubelet, component="the kubelet")
    lost = tolerations.untolerated(node.spec.taints, _EXECUTE)
    if lost:
        yield f"its node would refuse it (phase Failed): {tolerations.explain(lost[0])}"
    required = spec.affinity.nodeAffinity if spec.affinity is not None else None
    terms = required.requiredDuringSchedulingIgnoredDuringExecution if required is not None else None
    obstacle = gate_obstacle(terms, kubelet)
    affinity = compile_required_node_affinity(spec.nodeSelector, spec.affinity, kubelet)
    if obstacle and not affinity.match(node.metadata.labels, node.metadata.name):
        yield f"its node would refuse it (phase Failed): {obstacle} in the kubelet"


def consequences(
    simulation: Simulation, pod: PlannedPod, deadline: PodDeadline | None, goes_to: str
) -> tuple[PodDeadline | None, EvictionLoop | None]:
    """Return the deadline with what follows, and the loop of the pod's workload, if its evictions never end.

    A pod without a node `goes_to` one. The simulation stays as it is: what follows is played in a copy.
    """
    leaves = deadline is not None and deadline.seconds is not None
    if not leaves and not _has_evictions(simulation, pod):
        return deadline, None
    found = following(simulation, pod, goes_to)
    if deadline is not None and leaves:
        earlier = sum(one.pod.key == pod.key and one.actor in EVICTIONS for one in simulation.api.deletions)
        earlier -= pod.state is State.EVICTED
        deadline = with_then(deadline, found.of(pod.key, pod.workload, earlier))
    return deadline, found.loops.get(pod.workload)


def deadlines_of(simulation: Simulation, pods: Sequence[PlannedPod]) -> dict[str, PodDeadline]:
    """Return the deadlines of pods on one node, by their keys, the first to leave first, with what follows."""
    if not pods:
        return {}
    found = following(simulation)
    told: dict[str, PodDeadline] = {}
    earlier: Counter[str] = Counter()
    for pod in pods:
        if (deadline := deadline_here(pod, simulation)) is not None:
            told[pod.key] = with_then(deadline, found.of(pod.key, pod.workload, earlier[pod.key]))
            earlier[pod.key] += 1
    return dict(sorted(told.items(), key=lambda entry: entry[1].seconds or 0))


def workload_evictions(simulation: Simulation, workload: Key) -> tuple[dict[str, PodDeadline], EvictionLoop | None]:
    """Return the deadlines of a workload's pods that taints evict, and its loop, if that never ends."""
    if not any(simulation.evictions.timers()) and all(one.actor not in EVICTIONS for one in simulation.api.deletions):
        return {}, None
    rows = PodRows(simulation).all()
    pods = [pod for pod in rows if pod.owner == workload and pod.deadline is not None]
    if not pods:
        return {}, None
    return deadlines_of(simulation, pods), following(simulation).loops.get(str(workload))


def following(simulation: Simulation, pod: PlannedPod | None = None, goes_to: str = "") -> FollowUps:
    """Return what follows once all pods have left that taints evict; `pod` is bound to its node first."""

    def work() -> None:
        simulation.scheduling.follow = lambda action: None
        simulation.api.actor = ""
        if pod is not None and goes_to and simulation.world.get(KINDS.POD, pod.key) is not None:
            simulation.api.bind(pod.key, pod.pod.metadata.uid, goes_to)
        simulation.settle_with_evictions()

    return follow_ups(simulation, work)


def _has_evictions(simulation: Simulation, pod: PlannedPod) -> bool:
    """Return whether a taint evicts or has evicted a pod of the same workload."""
    if pod.owner is None:
        return False
    owner = pod.owner.kind, pod.owner.namespace, pod.owner.name
    evicted = (one.pod for one in simulation.api.deletions if one.actor in EVICTIONS)
    waiting = (timer.pod for timer in simulation.evictions.timers())
    return any(simulation.owner_of(one) == owner for pods in (waiting, evicted) for one in pods)
