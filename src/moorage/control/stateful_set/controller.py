"""Create, replace and delete the numbered pods of StatefulSets. Kubernetes: updateStatefulSet.

Differs: a pod is created in the round after its claims; owners of claims are fixed whether or not pods are ready; the
status describes what was found and is written first; `maxUnavailable` counts wherever the field is set.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework import revisions
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Patch, Plan, Report, Update, note, warn
from moorage.control.framework.controller import Controller
from moorage.control.framework.revisions import RevisionHistory
from moorage.control.framework.steps import Steps, finish, in_parts
from moorage.control.framework.workloads import claim_in_steps, namespace_is_terminating, status_update
from moorage.control.framework.world import World
from moorage.control.stateful_set import members
from moorage.control.stateful_set.members import ordinal_of, pod_name
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import FINISHED_PHASES
from moorage.model.types.workload import StatefulSet
from moorage.model.well_known.annotations import CONTROLLER_HASH
from moorage.model.well_known.labels import POD_INDEX, POD_NAME


class StatefulSetController(Controller):
    """Reconciles StatefulSets."""

    name = "statefulset-controller"
    watches = (KINDS.STATEFUL_SET, KINDS.POD, KINDS.PERSISTENT_VOLUME_CLAIM, KINDS.CONTROLLER_REVISION)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.PERSISTENT_VOLUME_CLAIM:
            return _who_waits_for(old, world) if new is None and old is not None else ()
        return super().concerns(kind, old, new, world)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return finish(self.steps(key, world, now))

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        stateful_set = world.get(KINDS.STATEFUL_SET, key)
        if stateful_set is None:
            return NOTHING
        claimed = yield from claim_in_steps(
            stateful_set,
            stateful_set.view.spec.selector,
            KINDS.POD,
            world,
            is_member=lambda pod: members.parent_and_ordinal(pod.name)[0] == stateful_set.name,
        )
        collisions = stateful_set.view.status.collisionCount or 0
        history = revisions.history_of(stateful_set, world, hash_label=CONTROLLER_HASH, collisions=collisions)
        first = [*claimed.patches, *history.actions]
        if first:
            is_going = stateful_set.view.metadata.deletionTimestamp is not None
            return NOTHING if is_going else Plan(tuple(first), again_after=0.0)
        if history.current is None:
            return NOTHING
        yield
        planned = _Round(stateful_set, claimed.objects, history, history.current, world, now)
        yield
        plan = yield from planned.plan()
        return plan

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        stateful_set = world.get(KINDS.STATEFUL_SET, key)
        if stateful_set is None or namespace_is_terminating(error) or not isinstance(action, Create | Delete):
            return ()
        if isinstance(action, Delete):
            if action.kind is not KINDS.POD:
                return ()
            text = f"Delete Pod {action.name} in StatefulSet {stateful_set.name} failed error: {error.message}"
            return (warn(stateful_set, "FailedDelete", text),)
        if error.reason == "AlreadyExists":
            is_revision = action.kind is KINDS.CONTROLLER_REVISION
            return revisions.collision_update(stateful_set, action, error, world) if is_revision else ()
        name = action.document["metadata"]["name"]
        if action.kind is KINDS.POD:
            text = f"Create Pod {name} in StatefulSet {stateful_set.name} failed error: {error.message}"
            return (warn(stateful_set, "FailedCreate", text),)
        if action.kind is not KINDS.PERSISTENT_VOLUME_CLAIM:
            return ()
        pod = pod_name(stateful_set, members.parent_and_ordinal(name)[1])
        texts = (
            f"Create Claim {name} for Pod {pod} in StatefulSet {stateful_set.name} failed error: {error.message}",
            f"Create Pod {pod} in StatefulSet {stateful_set.name} failed error: "
            f"failed to create PVC {name}: {error.message}",
        )
        return [warn(stateful_set, "FailedCreate", text) for text in texts]


class _Round:
    """One reconciliation of one StatefulSet, and what it has decided so far."""

    def __init__(
        self, found: Object, pods: Sequence[Object], history: RevisionHistory, update: Object, world: World, now: float
    ) -> None:
        self.found, self.world, self.now = found, world, now
        self.view: StatefulSet = found.view
        self.history, self.update = history, update
        known = {one.name: one for one in (*history.old, *history.duplicates, update)}
        self.current = known.get(self.view.status.currentRevision, update)
        ordinals = members.wanted_ordinals(found)
        self.pods = [pod for pod in pods if ordinal_of(pod) >= 0]
        by_ordinal = {ordinal_of(pod): pod for pod in self.pods}
        self.replicas = {ordinal: by_ordinal.get(ordinal) for ordinal in ordinals}
        condemned = [pod for pod in self.pods if ordinal_of(pod) not in ordinals]
        self.condemned = sorted(condemned, key=ordinal_of, reverse=True)
        self.in_order = self.view.spec.podManagementPolicy != "Parallel"
        self.actions: list[Action] = []
        self.retries = False
        self.makes_claims = False

    def plan(self) -> Steps[Plan]:
        current, update = self.current.name, self.update.name
        status, again_after = members.stateful_set_status(self.found, self.pods, current, update, self.now)
        updates = status_update(self.found, status)
        yield
        if self.view.metadata.deletionTimestamp is None:
            yield from self._work()
            self._forget_history()
        if self.makes_claims and not self.retries:
            again_after = 0.0
        return Plan((*updates, *self.actions), again_after, self.retries)

    def _work(self) -> Steps[None]:
        for part in in_parts(self.replicas.items()):
            for ordinal, pod in part:
                waits = self._make(ordinal) if pod is None else self._keep(ordinal, pod)
                if waits and self.in_order:
                    return
            yield
        for condemned in in_parts(self.condemned):
            for pod in condemned:
                self._fix_claims(pod)
            yield
        for pod in self.condemned:
            self._dismiss(pod)
            if self.in_order:
                return
        if self.view.spec.updateStrategy.type != "OnDelete":
            replicas = list(self.replicas.values())
            for pod in members.pods_to_replace(self.view, replicas, self.update.name, self.now):
                self._delete(pod)

    # -- one pod ------------------------------------------------------------------------------------------------------

    def _keep(self, ordinal: int, pod: Object) -> bool:
        """Repair an existing pod. Return whether the pods after it must wait."""
        phase = pod.view.status.phase
        if phase in FINISHED_PHASES:
            if not members.is_leaving(pod):
                self._delete(pod)
            return True
        if phase == "Pending" and not self._has_claims(ordinal):
            return True
        self._fix_claims(pod)
        if not members.has_identity(pod):
            labels = {POD_NAME: pod.name, POD_INDEX: str(ordinal)}
            self.actions.append(Patch(KINDS.POD, pod.namespace, pod.name, {"metadata": {"labels": labels}}))
            self.actions.append(self._done("Update", pod.name))
        return not self._is_well(pod)

    def _make(self, ordinal: int) -> bool:
        name = pod_name(self.found, ordinal)
        is_stale = any(members.is_stale(one, name) for one in self._claims(ordinal))
        if (is_stale and members.retention_of(self.view).when_scaled) or not self._has_claims(ordinal):
            return True
        revision = self.current if self._is_held_back(ordinal) else self.update
        pod = members.numbered_pod(self.found, revisions.template_of(revision), revision.name, ordinal)
        self.actions.append(Create(KINDS.POD, pod, self.found.namespace, self._done("Create", name)))
        return True

    def _is_held_back(self, ordinal: int) -> bool:
        """Return whether a new pod with this ordinal is made from the old revision."""
        strategy = self.view.spec.updateStrategy
        start = members.wanted_ordinals(self.found).start
        if strategy.rollingUpdate is not None:
            return ordinal < start + (strategy.rollingUpdate.partition or 0)
        return strategy.type == "RollingUpdate" and ordinal < start + self.view.status.currentReplicas

    def _dismiss(self, pod: Object) -> None:
        """Delete a condemned pod, in order if all others are healthy."""
        if members.is_leaving(pod):
            return
        if not self.in_order or self._is_well(pod) or pod is self._first_unavailable():
            self._delete(pod)

    def _is_unavailable(self, pod: Object) -> bool:
        return members.is_unavailable(pod, self.view.spec.minReadySeconds, self.now)

    def _is_well(self, pod: Object) -> bool:
        return members.is_running_and_ready(pod) and not self._is_unavailable(pod)

    def _first_unavailable(self) -> Object | None:
        """Return the unavailable pod with the lowest ordinal, wanted ones before condemned ones."""
        for pod in (*self.replicas.values(), *reversed(self.condemned)):
            if pod is not None and self._is_unavailable(pod):
                return pod
        return None

    def _delete(self, pod: Object) -> None:
        report = self._done("Delete", pod.name)
        self.actions.append(Delete(KINDS.POD, pod.namespace, pod.name, pod.uid, report=report))

    def _done(self, verb: str, pod: str) -> Report:
        return note(self.found, f"Successful{verb}", f"{verb} Pod {pod} in StatefulSet {self.found.name} successful")

    # -- its claims ---------------------------------------------------------------------------------------------------

    def _claims(self, ordinal: int) -> list[Object]:
        keys = (f"{self.found.namespace}/{name}" for name in members.claim_names(self.found, ordinal).values())
        return [one for key in keys if (one := self.world.get(KINDS.PERSISTENT_VOLUME_CLAIM, key)) is not None]

    def _has_claims(self, ordinal: int) -> bool:
        """Create missing claims. Return whether all exist."""
        there = {one.name: one for one in self._claims(ordinal)}
        pod, is_complete = pod_name(self.found, ordinal), True
        for wanted in members.claims_of(self.found, ordinal):
            name = wanted["metadata"]["name"]
            if name not in there:
                text = f"Create Claim {name} Pod {pod} in StatefulSet {self.found.name} success"
                report = note(self.found, "SuccessfulCreate", text)
                self.actions.append(Create(KINDS.PERSISTENT_VOLUME_CLAIM, wanted, self.found.namespace, report))
                is_complete, self.makes_claims = False, True
            elif there[name].view.metadata.deletionTimestamp is not None:
                text = f"Create Pod {pod} in StatefulSet {self.found.name} failed error: pvc {name} is being deleted"
                self.actions.append(warn(self.found, "FailedCreate", text))
                is_complete, self.retries = False, True
        return is_complete

    def _fix_claims(self, pod: Object) -> None:
        """Update the owner references of a pod's claims."""
        for one in self._claims(ordinal_of(pod)):
            owners = members.wanted_owners(one, self.found, pod)
            if owners is None:
                continue
            if members.has_other_controller(one, self.found, pod):
                text = (
                    f"PersistentVolumeClaim {one.name} has a conflicting OwnerReference that acts as a manging "
                    "controller, the retention policy is ignored for this claim"
                )
                self.actions.append(warn(self.found, "ConflictingController", text))
            document = {**one.raw, "metadata": {**one.raw["metadata"], "ownerReferences": owners}}
            self.actions.append(Update(KINDS.PERSISTENT_VOLUME_CLAIM, document))

    def _forget_history(self) -> None:
        in_use = {self.current.name, self.update.name, *(revisions.hash_of(pod) for pod in self.pods)}
        unused = [one for one in (*self.history.old, *self.history.duplicates) if one.name not in in_use]
        limit = self.view.spec.revisionHistoryLimit
        if limit is None or limit >= 0:
            self.actions += revisions.surplus_history(unused, limit, ())


def _who_waits_for(claim: Object, world: World) -> list[str]:
    """Return the StatefulSets whose pods need a deleted claim again."""
    ordinal = members.parent_and_ordinal(claim.name)[1]
    if ordinal < 0:
        return []
    candidates = world.in_namespace(KINDS.STATEFUL_SET, claim.namespace)
    return [candidate.key for candidate in candidates if claim.name in members.claim_names(candidate, ordinal).values()]
