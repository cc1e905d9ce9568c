"""Watch a rolling update in a simulation: does it complete, and if not, where does it stop?

The update is a change of the template or a restart. A step is whenever the workload's controller creates pods of the
new template or deletes pods of the old one. Kubernetes: kubectl rollout status.
"""

from difflib import get_close_matches
from typing import Any

import msgspec

from moorage.client.protocol import Object
from moorage.columns.cluster import PodRecord
from moorage.control.daemon_set.tracker import limits_of
from moorage.control.deployment.rollout import bounds_of, is_made_of, is_same_template
from moorage.control.framework.workloads import is_active, ready_condition, scaled
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import POD_TEMPLATE_HASH, REVISION_HASH
from moorage.plan.departures import OwnerNames
from moorage.plan.input.inventory import Inventory, Key, kind_words
from moorage.plan.node_changes import ChangeError
from moorage.plan.pod_lines import PlannedPod, planned_pods, why_unplaced
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.taken_places import Occupant, Owner, places_taken, why_old_pods_stay

ROLLED_OUT = ("Deployment", "StatefulSet", "DaemonSet")
SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
_KINDS = kind_words(*ROLLED_OUT, *SCALED)
_OTHER_GROUPS = {"Job": "batch/v1", "ReplicationController": "v1"}
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


class RolloutStep(msgspec.Struct, frozen=True):
    """One thing the controller did, and how many pods of each template there are after it."""

    number: int
    action: str
    old: int
    new: int
    available: int
    placed: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    message: str = ""


class Rollout(msgspec.Struct, rename="camel", kw_only=True):
    """A rollout: whether it completes and, if not, at which step and why it stops."""

    deployment: str
    completes: bool = False
    message: str = ""
    max_surge: int
    max_unavailable: int
    steps: list[RolloutStep]
    fix: str = ""
    waits_for: tuple[str, ...] = ()
    taken_by: tuple[Occupant, ...] = ()
    room: str = ""  # the two in a sentence


def find_workload(inventory: Inventory, name: str, kinds: tuple[str, ...] = ROLLED_OUT) -> Key:
    """Find `deployment/web`, `deploy/web`, `web`, `statefulset/data/db`. Raises ChangeError."""
    word, slash, rest = name.partition("/")
    kind = _KINDS.get(word.lower()) if slash else None
    if kind in kinds:
        kinds = (kind,)
    elif kind is not None:
        raise ChangeError(
            f"{name!r} is a {kind}; only {_either(kinds)} can be {'rolled out' if kinds is ROLLED_OUT else 'scaled'}"
        )
    rest = rest if kind is not None else name
    namespace, slash, plain = rest.rpartition("/")
    keys = [key for key in inventory.items if key.kind in kinds]
    found = [key for key in keys if key.name == plain and (not slash or key.namespace == namespace)]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"{key.kind.lower()}/{key.namespace}/{key.name}" for key in found)
        raise ChangeError(f"there are several {kind or 'workload'}s {plain!r}: {several}")
    close = get_close_matches(plain, [key.name for key in keys], n=1)
    raise ChangeError(
        f"there is no {kind or _either(kinds)} {rest!r} in the input" + (f"; is it {close[0]}?" if close else "")
    )


def _either(kinds: tuple[str, ...]) -> str:
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"


def restart(simulation: Simulation, key: Key) -> None:
    """Give the workload's template another annotation, as `kubectl rollout restart` does."""
    annotations = {RESTARTED_AT: simulation.api.now_text()}
    patch = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
    simulation.api.patch(kind_of_workload(key.kind), key.name, key.namespace, patch)


def kind_of_workload(name: str) -> Kind:
    return KINDS[_OTHER_GROUPS.get(name, "apps/v1"), name]


class _Group:
    """Pods created, or deleted, one right after the other."""

    def __init__(self, created: bool) -> None:
        self.created = created
        self.pods: list[Object] = []
        self.lost = 0


class RolloutWatch:
    """Watches a simulation in which a workload's template is about to change."""

    def __init__(self, simulation: Simulation, key: Key) -> None:
        self._simulation, self._key = simulation, key
        self._label = POD_TEMPLATE_HASH if key.kind == "Deployment" else REVISION_HASH
        pods = self._pods()
        self._old_revisions = {self._revision(pod) for pod in pods}
        self._old = {pod.uid for pod in pods}
        self._new: set[str] = set()
        self._available = sum(_is_available(pod.view) for pod in pods)
        self._groups: list[_Group] = []
        self._steps: list[RolloutStep] = []
        self._placed: set[str] = set()
        self._left: set[str] = set()  # nodes that old pods have left
        self._came_after: dict[str, int] = {}  # by UID of pods of others: the step after which they got a node
        simulation.api.listeners.append(self._changed)
        simulation.after_round.append(self._round)

    def _pods(self) -> list[Object]:
        return [
            pod for pod in self._simulation.pods() if self._is_ours(pod) and pod.view.metadata.deletionTimestamp is None
        ]

    def _is_ours(self, pod: Object) -> bool:
        owner = controller_of(pod.view.metadata)
        if owner is None or pod.namespace != self._key.namespace:
            return False
        found = self._simulation.owner_of(pod)
        return found is not None and Key(*found) == self._key

    def _revision(self, pod: Object) -> str:
        return str(pod.view.metadata.labels.get(self._label, ""))

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is not KINDS.POD:
            if old is not None and new is not None:
                self._note_return(kind, old, new)
            return
        if old is None and new is not None:
            if self._is_ours(new) and self._revision(new) in self._old_revisions:
                self._old.add(new.uid)
            elif self._is_ours(new):
                self._new.add(new.uid)
                self._group(created=True).pods.append(new)
        elif old is not None and old.uid in self._old and (new is None or not is_active(new.view)):
            self._old.discard(old.uid)
            group = self._group(created=False)
            group.pods.append(old)
            group.lost += _is_available(old.view)
            self._left.add(old.view.spec.nodeName)
        elif old is not None and old.uid in self._new:
            if new is None or not is_active(new.view):
                self._new.discard(old.uid)
        elif old is not None and new is not None and new.view.spec.nodeName and not old.view.spec.nodeName:
            self._came_after[new.uid] = len(self._steps) + bool(self._groups)

    def _note_return(self, kind: Kind, old: Object, new: Object) -> None:
        """Count an old revision as the new one if the workload goes back to it, as in `kubectl rollout undo`."""
        name = f"{self._key.namespace}/{self._key.name}"
        if kind is KINDS.DEPLOYMENT and self._key.kind == kind.name and new.key == name:
            if not is_same_template(old.view.spec.template, new.view.spec.template):
                for replica_set in self._simulation.world.all(KINDS.REPLICA_SET):
                    owner = controller_of(replica_set.view.metadata)
                    if owner is not None and owner.uid == new.uid and is_made_of(replica_set, new):
                        self._take_as_new(self._revision(replica_set))
        elif kind is KINDS.CONTROLLER_REVISION and new.view.revision > old.view.revision:
            owner = controller_of(new.view.metadata)
            workload = self._simulation.world.get(kind_of_workload(self._key.kind), name)
            if owner is not None and workload is not None and owner.uid == workload.uid:
                self._take_as_new(new.name)
                self._take_as_new(self._revision(new))

    def _take_as_new(self, revision: str) -> None:
        self._old_revisions.discard(revision)
        pods = [pod for pod in self._pods() if self._revision(pod) == revision]
        self._old -= {pod.uid for pod in pods}
        self._new |= {pod.uid for pod in pods}
        self._placed |= {pod.uid for pod in pods if pod.view.spec.nodeName}

    def _group(self, *, created: bool) -> _Group:
        if not self._groups or self._groups[-1].created is not created:
            self._groups.append(_Group(created))
        return self._groups[-1]

    def _round(self) -> None:
        """Make steps of what the controller did in this round of the simulation."""
        groups, self._groups = self._groups, []
        if not groups:
            return
        pods = self._pods()
        old = sum(pod.uid in self._old for pod in pods)
        new = [pod for pod in pods if pod.uid in self._new]
        # How many there were before each group, counted back from how many there are.
        old += sum(len(group.pods) for group in groups if not group.created)
        made = len(new) - sum(len(group.pods) for group in groups if group.created)
        for number, group in enumerate(groups, 1):
            if group.created:
                made += len(group.pods)
            else:
                old -= len(group.pods)
                self._available -= group.lost
            is_last = number == len(groups)
            if is_last:
                self._available = sum(_is_available(pod.view) for pod in pods)
            self._add(group, old, made, new if is_last else [])
        self._placed = {pod.uid for pod in new if pod.view.spec.nodeName}

    def _add(self, group: _Group, old: int, new: int, pods: list[Object]) -> None:
        placed = [pod for pod in pods if pod.view.spec.nodeName and pod.uid not in self._placed]
        pending = [pod for pod in pods if not pod.view.spec.nodeName]
        count = f"{len(group.pods)} pod" if len(group.pods) == 1 else f"{len(group.pods)} pods"
        self._steps.append(
            RolloutStep(
                number=len(self._steps) + 1,
                action=self._action(count, created=group.created),
                old=old,
                new=new,
                available=self._available,
                placed=tuple(f"{pod.key} on {pod.view.spec.nodeName}" for pod in placed),
                pending=tuple(pod.key for pod in pending),
                message=why_unplaced(self._simulation, pending[0]) if pending else "",
            )
        )

    def _action(self, count: str, *, created: bool) -> str:
        if created:
            return f"create {count} of the new template"
        strategy = getattr(self._view().spec, "strategy", None)
        if strategy is not None and strategy.type == "Recreate":
            return "remove all old pods (strategy Recreate)"
        return f"remove {count} of the old template"

    def _view(self) -> Any:
        return self._simulation.world.view(kind_of_workload(self._key.kind), f"{self._key.namespace}/{self._key.name}")

    def rollout(self) -> Rollout:
        """Return how it went, once the simulation has settled."""
        self._simulation.api.listeners.remove(self._changed)
        self._simulation.after_round.remove(self._round)
        view = self._view()
        surge, unavailable = update_limits(self._key.kind, view)
        made = Rollout(deployment=str(self._key), max_surge=surge, max_unavailable=unavailable, steps=self._steps)
        pods = self._pods()
        waiting = [pod for pod in planned_pods(self._simulation) if not pod.node and pod.owner == self._key]
        old = sum(self._revision(pod) in self._old_revisions for pod in pods)
        kept = partition_of(self._key.kind, view)
        available = sum(_is_available(pod.view) for pod in pods)
        wanted = view.status.desiredNumberScheduled if self._key.kind == "DaemonSet" else _replicas(view)
        made.completes = old <= kept and available == len(pods) == wanted and not waiting
        if not made.completes:
            waiting = [pod for pod in waiting if pod.key in {one.key for one in pods}]
            made.message = self._why_not(view, waiting)
            if waiting:
                self._find_room(made, waiting[0], pods)
        return made

    def _find_room(self, made: Rollout, waiting: PlannedPod, pods: list[Object]) -> None:
        """Name the places that the first waiting pod could have, and the pods that are there."""
        ours = {pod.key: pod for pod in pods}
        names = OwnerNames(self._simulation)

        def owner(record: PodRecord) -> Owner:
            mine = ours.get(record.key)
            if mine is not None:
                return Owner(str(self._key), is_own=True, is_old=self._revision(mine) in self._old_revisions)
            found = self._simulation.world.get(KINDS.POD, record.key)
            workload = names.of(found) if found is not None else ""
            step = self._came_after.get(record.pod.metadata.uid, 0)
            return Owner(workload or f"Pod {record.key}", step)

        places = self._left | {pod.view.spec.nodeName for pod in pods}
        taken = places_taken(self._simulation, waiting.key, waiting.pod, places, owner)
        made.waits_for, made.taken_by = taken.nodes, taken.by
        made.room = taken.text(why_old_pods_stay(self._key.kind, made.max_unavailable))

    def _why_not(self, view: Any, waiting: list[PlannedPod]) -> str:
        for kind, key, message in self._simulation.controllers.refused_creates():
            found = self._simulation.world.get(kind, key)
            if found is not None and self._simulation.workload_of(found) == self._key:
                return message
        if waiting:
            return f"{waiting[0].key} stays Pending: {waiting[0].message}"
        if _strategy(view) == "OnDelete":
            return "its update strategy is OnDelete: pods are replaced when they are deleted"
        return "too few of the old pods are available, so that none may be removed"


def update_limits(kind: str, view: Any) -> tuple[int, int]:
    """Return how many pods there may be too many and too few."""
    if kind == "Deployment":
        bounds = bounds_of(view)
        return bounds.surge, bounds.unavailable
    if kind == "DaemonSet":
        strategy = view.spec.updateStrategy
        limits = limits_of(strategy, view.status.desiredNumberScheduled)
        return limits.surge, limits.unavailable
    update = view.spec.updateStrategy.rollingUpdate
    value = update.maxUnavailable if update is not None else None
    return 0, max(1, scaled(1 if value is None else value, _replicas(view), up=False))


def _replicas(view: Any) -> int:
    replicas = view.spec.replicas
    return 1 if replicas is None else int(replicas)


def partition_of(kind: str, view: Any) -> int:
    """Return how many pods an update leaves alone."""
    if kind != "StatefulSet" or view.spec.updateStrategy.rollingUpdate is None:
        return 0
    return view.spec.updateStrategy.rollingUpdate.partition or 0


def _strategy(view: Any) -> str:
    strategy = getattr(view.spec, "updateStrategy", None)
    return str(strategy.type) if strategy is not None else ""


def _is_available(pod: Pod) -> bool:
    return bool(pod.spec.nodeName) and is_active(pod) and ready_condition(pod) is not None
