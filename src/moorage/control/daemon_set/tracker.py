"""Pods and nodes of one DaemonSet, with a verdict for each node that is recomputed when the node changes.

A tracker rebuilt from the same world is equal. Kubernetes: podsShouldBeOnNode, findUpdatedPodsOnNode,
updateDaemonSetStatus, rollingUpdate, updatedDesiredNodeCounts. Differs: Kubernetes looks at all nodes and pods every
time; a rolling update takes nodes in the order in which they reached their stage, not at random.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.workloads import ROLLING_UPDATE, ready_condition, scaled, selects
from moorage.match.daemon_pods import DaemonFit, DaemonTemplate, pinned_to
from moorage.match.evaluation.accounts import Undecided
from moorage.model.go.times import seconds_of
from moorage.model.types.meta import LabelSelector
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.model.types.workload import DaemonSetUpdateStrategy
from moorage.model.well_known.labels import REVISION_HASH

TEMPLATE_GENERATION_LABEL = "pod-template-generation"


class DaemonPod(NamedTuple):
    """What matters of a pod. `node` is where it is, or is pinned to while `is_bound` is false."""

    name: str
    uid: str
    node: str
    is_bound: bool
    is_leaving: bool
    phase: str
    is_ready: bool
    ready_since: float | None
    created: str
    hash: str
    generation: str

    @property
    def is_over(self) -> bool:
        return self.is_leaving and self.phase in FINISHED_PHASES

    @property
    def age_key(self) -> tuple[bool, str, str]:
        """Bound pods first, then the oldest."""
        return not self.is_bound, self.created, self.name

    def is_updated(self, hash_: str, generation: str) -> bool:
        """Return whether it was made from this revision of the template."""
        return (self.hash == hash_ and bool(hash_)) or (self.generation == generation and bool(generation))

    def available_at(self, min_ready_seconds: int) -> float | None:
        """Return from when on it is available if it stays ready; None if it is not ready."""
        if not self.is_ready:
            return None
        if min_ready_seconds <= 0:
            return 0.0
        return None if self.ready_since is None else self.ready_since + min_ready_seconds


def daemon_pod(found: Object) -> DaemonPod:
    pod: Pod = found.view
    metadata, condition = pod.metadata, ready_condition(pod)
    labels = metadata.labels
    return DaemonPod(
        name=found.name,
        uid=found.uid,
        node=pod.spec.nodeName or pinned_to(pod.spec),
        is_bound=bool(pod.spec.nodeName),
        is_leaving=metadata.deletionTimestamp is not None,
        phase=pod.status.phase,
        is_ready=condition is not None,
        ready_since=seconds_of(condition.lastTransitionTime) if condition is not None else None,
        created=metadata.creationTimestamp or "",
        hash=labels.get(REVISION_HASH, ""),
        generation=labels.get(TEMPLATE_GENERATION_LABEL, ""),
    )


class Wishes(NamedTuple):
    """What a DaemonSet asks of all its nodes. `hash` and `generation` identify up-to-date pods."""

    hash: str
    generation: str
    min_ready_seconds: int
    surges: bool


class Counts(NamedTuple):
    """What a node, or all of them, contribute to the status."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    updated: int = 0
    available: int = 0


class Stage(Enum):
    """Progress of a rolling update on a node. Pods that are being deleted do not count."""

    ELSEWHERE = "no pod, and none is wanted"
    EXCESS = "several pods of the same age"
    MISSING = "no pod"
    NEW_WAITS = "a new pod that is not available"
    NEW = "a new pod"
    OLD_WAITS = "an old pod that is not available"
    OLD = "an old pod"
    BOTH_WAIT = "an old pod and a new one that is not available"
    BOTH = "an old pod and a new one"


class NodeVerdict(NamedTuple):
    """What to do on a node. `failed` and `succeeded` are also in `delete`. `until`: when time alone changes this."""

    creates: bool = False
    delete: tuple[DaemonPod, ...] = ()
    failed: tuple[DaemonPod, ...] = ()
    succeeded: tuple[DaemonPod, ...] = ()
    counts: Counts = Counts()
    stage: Stage = Stage.ELSEWHERE
    should_run: bool = False
    old: DaemonPod | None = None
    is_available: bool = False
    until: float | None = None


_NO_FIT = DaemonFit(should_run=False, should_continue=False)


def judge_node(fit: DaemonFit | None, pods: Sequence[DaemonPod], wishes: Wishes, now: float) -> NodeVerdict:
    """Return the verdict for a node. `fit` is None for a node that is gone: pod GC removes its bound pods."""
    pods = sorted((pod for pod in pods if not pod.is_over), key=lambda pod: pod.age_key)
    here = [pod for pod in pods if not pod.is_leaving]
    known = fit if fit is not None else _NO_FIT
    creates = False
    delete: list[DaemonPod] = []
    failed: list[DaemonPod] = []
    succeeded: list[DaemonPod] = []
    if fit is None:
        delete = [pod for pod in here if not pod.is_bound]
    elif fit.should_run and not pods:
        creates = True
    elif fit.should_continue:
        failed = [pod for pod in here if pod.phase == "Failed"]
        succeeded = [pod for pod in here if pod.phase == "Succeeded"]
        running = [pod for pod in here if pod.phase not in FINISHED_PHASES]
        surplus = _surplus(running, wishes, now) if wishes.surges else running[1:]
        creates = wishes.surges and not running and fit.should_run
        delete = [*failed, *succeeded, *surplus]
    else:
        delete = here
    stage, old, is_available = _stage(here, known, wishes, now, has_pods=bool(pods))
    moments = [at for pod in pods if (at := pod.available_at(wishes.min_ready_seconds)) is not None and at > now]
    return NodeVerdict(
        creates,
        tuple(delete),
        tuple(failed),
        tuple(succeeded),
        _counts(pods, known, wishes, now) if fit is not None else Counts(),
        stage,
        known.should_run,
        old,
        is_available,
        min(moments, default=None),
    )


def _is_available(pod: DaemonPod, wishes: Wishes, now: float) -> bool:
    at = pod.available_at(wishes.min_ready_seconds)
    return at is not None and at <= now


def _surplus(running: Sequence[DaemonPod], wishes: Wishes, now: float) -> list[DaemonPod]:
    """Return the pods to delete. Two may run while the old one is ready and the new one not available."""
    if len(running) <= 1:
        return []
    new = [pod for pod in running if pod.hash == wishes.hash]
    old = [pod for pod in running if pod.hash != wishes.hash]
    surplus = new[1:] + old[1:]
    if new and old and (not old[0].is_ready or _is_available(new[0], wishes, now)):
        surplus.append(old[0])
    return surplus


def _stage(
    here: Sequence[DaemonPod], fit: DaemonFit, wishes: Wishes, now: float, *, has_pods: bool
) -> tuple[Stage, DaemonPod | None, bool]:
    """Return the stage, the old pod, and whether the node has an available pod."""
    updated = [pod.is_updated(wishes.hash, wishes.generation) for pod in here]
    new = [pod for pod, is_new in zip(here, updated, strict=True) if is_new]
    old = [pod for pod, is_new in zip(here, updated, strict=True) if not is_new]
    if len(new) > 1 or len(old) > 1:
        return Stage.EXCESS, None, False
    new_waits = bool(new) and not _is_available(new[0], wishes, now)
    if old:
        old_waits = not _is_available(old[0], wishes, now)
        if new:
            return (Stage.BOTH_WAIT if new_waits else Stage.BOTH), old[0], not old_waits
        return (Stage.OLD_WAITS if old_waits else Stage.OLD), old[0], not old_waits
    if new:
        return (Stage.NEW_WAITS if new_waits else Stage.NEW), None, not new_waits
    return (Stage.MISSING if has_pods or fit.should_run else Stage.ELSEWHERE), None, False


def _counts(pods: Sequence[DaemonPod], fit: DaemonFit, wishes: Wishes, now: float) -> Counts:
    if not fit.should_run:
        return Counts(misscheduled=1 if pods else 0)
    if not pods:
        return Counts(desired=1)
    oldest = pods[0]
    return Counts(
        desired=1,
        current=1,
        ready=int(oldest.is_ready),
        updated=int(oldest.is_updated(wishes.hash, wishes.generation)),
        available=int(_is_available(oldest, wishes, now)),
    )


class UpdateLimits(NamedTuple):
    """How many pods may be unavailable, and how many nodes may have two pods."""

    unavailable: int
    surge: int


def surges(strategy: DaemonSetUpdateStrategy) -> bool:
    """Return whether a node may have two pods."""
    update = strategy.rollingUpdate
    return strategy.type == ROLLING_UPDATE and update is not None and scaled(update.maxSurge, 1, up=True) > 0


def limits_of(strategy: DaemonSetUpdateStrategy, desired: int) -> UpdateLimits:
    update = strategy.rollingUpdate
    unavailable = scaled(update.maxUnavailable, desired, up=True) if update is not None else 0
    surge = scaled(update.maxSurge, desired, up=True) if update is not None else 0
    if desired > 0 and unavailable == 0 and surge == 0:
        unavailable = 1
    return UpdateLimits(unavailable, surge)


class Tracker:
    """The pods, nodes and verdicts. `strays` are owned pods that the selector does not match."""

    def __init__(self, template: DaemonTemplate, selector: LabelSelector | None, wishes: Wishes) -> None:
        self.template, self.wishes = template, wishes
        self.strays: dict[str, Object] = {}
        self.orphans: set[str] = set()
        self._selector = selector
        self._pods: dict[str, DaemonPod] = {}
        self._pods_on: dict[str, dict[str, DaemonPod]] = {}
        self._fits: dict[str, DaemonFit] = {}
        self._undecided: dict[str, Node] = {}
        self._verdicts: dict[str, NodeVerdict] = {}
        self._stages: dict[Stage, dict[str, NodeVerdict]] = {stage: {} for stage in Stage}
        self._counts = [0] * len(Counts._fields)
        self._creating: dict[str, None] = {}
        self._deleting: dict[str, None] = {}
        self._until: dict[str, float] = {}
        self._dirty: dict[str, None] = {}
        self.available_nodes = 0

    def node_changed(self, name: str, node: Node | None) -> bool:
        """Record a node; return whether that makes a difference, or is undecided."""
        self._undecided.pop(name, None)
        try:
            fit = self.template.fits(node) if node is not None else None
        except Undecided:
            assert node is not None
            self._undecided[name] = node
            return True
        if self._fits.get(name) == fit:
            return False
        if fit is None:
            del self._fits[name]
        else:
            self._fits[name] = fit
        self._dirty[name] = None
        return True

    def decide(self) -> None:
        """Ask again about nodes for which expensive expressions were being evaluated. Raises Undecided if they are."""
        for name, node in list(self._undecided.items()):
            self.node_changed(name, node)
        if self._undecided:
            self.template.fits(next(iter(self._undecided.values())))

    def pod_changed(self, key: str, pod: Object | None) -> bool:
        """Record a pod of this DaemonSet, None if it is no longer; return whether that matters."""
        new = None
        was_stray = key in self.strays
        stray = pod is not None and not selects(self._selector, pod.view.metadata.labels)
        if stray and pod is not None:
            self.strays[key] = pod
        else:
            self.strays.pop(key, None)
            new = daemon_pod(pod) if pod is not None else None
        old = self._pods.get(key)
        if new == old:
            return stray or was_stray
        if old is not None:
            self._remove(key, old)
        if new is not None:
            self._pods[key] = new
            if new.node:
                self._pods_on.setdefault(new.node, {})[key] = new
                self._dirty[new.node] = None
        return True

    def _remove(self, key: str, pod: DaemonPod) -> None:
        del self._pods[key]
        there = self._pods_on.get(pod.node)
        if there is None:
            return
        there.pop(key, None)
        if not there:
            del self._pods_on[pod.node]
        self._dirty[pod.node] = None

    def refresh(self, now: float) -> None:
        """Recompute the verdicts of nodes that changed or whose time has come."""
        due = [node for node, until in self._until.items() if until <= now]
        for node in (*self._dirty, *due):
            pods = self._pods_on.get(node, {})
            fit = self._fits.get(node)
            self._set(node, judge_node(fit, list(pods.values()), self.wishes, now))
        self._dirty.clear()

    def _set(self, node: str, verdict: NodeVerdict) -> None:
        old = self._verdicts.pop(node, None)
        if old is not None:
            del self._stages[old.stage][node]
            self._add(old, -1)
            self._creating.pop(node, None)
            self._deleting.pop(node, None)
            self._until.pop(node, None)
        if node not in self._fits and node not in self._pods_on:
            return
        self._verdicts[node] = verdict
        self._stages[verdict.stage][node] = verdict
        self._add(verdict, 1)
        if verdict.creates:
            self._creating[node] = None
        if verdict.delete:
            self._deleting[node] = None
        if verdict.until is not None:
            self._until[node] = verdict.until

    def _add(self, verdict: NodeVerdict, sign: int) -> None:
        for index, count in enumerate(verdict.counts):
            self._counts[index] += sign * count
        self.available_nodes += sign * verdict.is_available

    @property
    def counts(self) -> Counts:
        return Counts(*self._counts)

    @property
    def next_change(self) -> float | None:
        return min(self._until.values(), default=None)

    @property
    def nodes_without_pod(self) -> Iterable[str]:
        return self._creating

    def nodes_with_surplus(self) -> Iterator[tuple[str, NodeVerdict]]:
        """Return the nodes with pods to delete regardless of a rolling update."""
        return ((node, self._verdicts[node]) for node in self._deleting)

    def at(self, stage: Stage) -> dict[str, NodeVerdict]:
        return self._stages[stage]

    def count_at(self, *stages: Stage) -> int:
        return sum(len(self._stages[stage]) for stage in stages)

    def hashes(self) -> set[str]:
        return {pod.hash for pod in self._pods.values()}

    def pods(self) -> Iterable[DaemonPod]:
        return self._pods.values()

    def next_step(self, limits: UpdateLimits) -> tuple[list[DaemonPod], list[str]]:
        """Return the pods to delete and the nodes to create pods on, for a rolling update."""
        return self._surging(limits.surge) if limits.surge else (self._replacing(limits.unavailable), [])

    def _replacing(self, max_unavailable: int) -> list[DaemonPod]:
        """Delete old pods that are unavailable, and others as far as maxUnavailable allows."""
        missing = self.count_at(
            Stage.EXCESS, Stage.MISSING, Stage.BOTH, Stage.BOTH_WAIT, Stage.NEW_WAITS, Stage.OLD_WAITS
        )
        delete = [verdict.old for verdict in self.at(Stage.OLD_WAITS).values()]
        delete += [verdict.old for verdict in islice(self.at(Stage.OLD).values(), max(0, max_unavailable - missing))]
        return [pod for pod in delete if pod is not None]

    def _surging(self, max_surge: int) -> tuple[list[DaemonPod], list[str]]:
        """Create new pods first and delete an old one when its successor, or enough others, are available."""
        delete = [verdict.old for verdict in self.at(Stage.BOTH).values()]
        create_on: list[str] = []
        for node, verdict in self.at(Stage.OLD_WAITS).items():
            if verdict.should_run:
                create_on.append(node)
            else:
                delete.append(verdict.old)
        spare = self.available_nodes - self.counts.desired
        free = max_surge - self.count_at(Stage.EXCESS, Stage.BOTH_WAIT)
        for node, verdict in self.at(Stage.OLD).items():
            if not verdict.should_run:
                if spare > 0:
                    delete.append(verdict.old)
                    spare -= 1
            elif free > 0:
                create_on.append(node)
                free -= 1
        return [pod for pod in delete if pod is not None], create_on
