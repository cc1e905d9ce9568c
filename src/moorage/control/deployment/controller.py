"""Create, resize and delete the ReplicaSets of Deployments. Kubernetes: syncDeployment.

Every step is derived from stored objects, so it does not matter who took the last one. Differs: new annotations and a
new size of a ReplicaSet are written in one update.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.deployment import rollout
from moorage.control.deployment import status as said
from moorage.control.deployment.status import counted_status, deadline_in, has_deadline, is_complete, rollout_status
from moorage.control.framework import workloads
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Plan, Raw, Report, Update, note, warn
from moorage.control.framework.controller import Controller
from moorage.control.framework.workloads import ROLLING_UPDATE
from moorage.control.framework.world import World, controller_of
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.workload import Deployment
from moorage.model.well_known.annotations import DEPLOYMENT_REVISION
from moorage.model.well_known.labels import POD_TEMPLATE_HASH

_ALL_HISTORY = 2**31 - 1
_MAX_NAME_LENGTH = 253


class DeploymentController(Controller):
    """Reconciles Deployments."""

    name = "deployment-controller"
    watches = (KINDS.DEPLOYMENT, KINDS.REPLICA_SET, KINDS.POD)

    _now = 0.0  # of the last reconciliation

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            return _who_waits(old, world) if new is None and old is not None else ()
        return super().concerns(kind, old, new, world)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        self._now = now
        deployment = world.get(KINDS.DEPLOYMENT, key)
        selector = deployment.view.spec.selector if deployment is not None else None
        if deployment is None or selector is None or not (selector.matchLabels or selector.matchExpressions):
            return NOTHING
        claimed = workloads.claim(deployment, selector, KINDS.REPLICA_SET, world)
        if claimed.patches:
            return Plan(tuple(claimed.patches))
        return _Round(rollout.Family(deployment, claimed.objects), world, now).plan()

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        deployment = world.get(KINDS.DEPLOYMENT, key)
        if deployment is None or not isinstance(action, Create) or workloads.namespace_is_terminating(error):
            return ()
        status = dict(deployment.raw.get("status") or {})
        if error.reason == "AlreadyExists":
            if not _is_collision(deployment, action, world):
                return ()
            status["collisionCount"] = (deployment.view.status.collisionCount or 0) + 1
            return workloads.status_update(deployment, status)
        message = f'Failed to create new replica set "{action.document["metadata"]["name"]}": {error.message}'
        report = warn(deployment, said.REPLICA_SET_CREATE_ERROR, message)
        if not has_deadline(deployment.view):
            return (report,)
        failure = said.condition(said.PROGRESSING, "False", said.REPLICA_SET_CREATE_ERROR, message, self._now)
        status["conditions"] = said.with_condition(list(status.get("conditions") or ()), failure)
        return (report, *workloads.status_update(deployment, status))


class _Round:
    """One reconciliation of one Deployment, and what it has decided so far."""

    def __init__(self, family: rollout.Family, world: World, now: float) -> None:
        self.family, self.world, self.now = family, world, now
        self.deployment = family.deployment
        self.view: Deployment = family.deployment.view
        self.actions: list[Action] = []
        self.conditions: list[Raw] = list((self.deployment.raw.get("status") or {}).get("conditions") or ())
        self.revision = ""
        self.annotations: dict[str, dict[str, str]] = {}

    def plan(self) -> Plan:
        if self.view.metadata.deletionTimestamp is not None:
            return self._finish(counted_status(self.family, self.conditions, self.now))
        self._say_whether_paused()
        self._keep_new_up_to_date()
        if self.view.spec.paused or self.family.is_scaling():
            self._resized(self.family.scale())
            if self.view.spec.paused:
                self._clean_up()
            return self._finish(counted_status(self.family, self.conditions, self.now))
        if self.view.spec.strategy.type == ROLLING_UPDATE:
            self._roll()
        else:
            self._recreate()
        status = rollout_status(self.family, self.conditions, self.now)
        return self._finish(status, deadline_in(self.family, status, self.now))

    def _roll(self) -> None:
        family, new = self.family, self.family.new
        if new is None:
            self._create(family.initial_size())
        elif not family.grow_new(new) and not family.shrink_old(new):
            self._clean_up_if_complete()

    def _recreate(self) -> None:
        family, new = self.family, self.family.new
        if family.stop_old() or family.old_pods_run(self.world):
            return
        if new is None:
            self._create(family.replicas)
            return
        family.resize(new, family.replicas)
        self._clean_up_if_complete()

    def _create(self, size: int) -> None:
        """Create a ReplicaSet named after its template, so that creating it twice is refused."""
        deployment, family = self.deployment, self.family
        spec = deployment.raw["spec"]
        template = spec["template"]
        short = workloads.template_hash(template, self.view.status.collisionCount)
        name = f"{deployment.name[: _MAX_NAME_LENGTH - 1 - len(short)]}-{short}"
        metadata = template.get("metadata") or {}
        labels = {**(metadata.get("labels") or {}), POD_TEMPLATE_HASH: short}
        selector = spec["selector"]
        self.revision = str(rollout.next_revision(family.old))
        annotations = rollout.new_annotations({}, rollout.copied_annotations(deployment), int(self.revision))
        document = {
            "apiVersion": KINDS.REPLICA_SET.api_version,
            "kind": KINDS.REPLICA_SET.name,
            "metadata": {
                "name": name,
                "namespace": deployment.namespace,
                "labels": labels,
                "annotations": {**annotations, **rollout.size_annotations(family.bounds)},
                "ownerReferences": [workloads.controller_reference(deployment)],
            },
            "spec": {
                "replicas": size,
                **({"minReadySeconds": patience} if (patience := self.view.spec.minReadySeconds) else {}),
                "selector": {
                    **selector,
                    "matchLabels": {**(selector.get("matchLabels") or {}), POD_TEMPLATE_HASH: short},
                },
                "template": {**template, "metadata": {**metadata, "labels": labels}},
            },
        }
        report = self._scaled(name, 0, size) if size > 0 else None
        self.actions.append(Create(KINDS.REPLICA_SET, document, deployment.namespace, report))
        if has_deadline(self.view):
            self._say("True", said.NEW_REPLICA_SET_CREATED, f'Created new replica set "{name}"')

    def _keep_new_up_to_date(self) -> None:
        """Update the annotations of the new ReplicaSet and the revision of the Deployment."""
        new = self.family.new
        if new is None:
            return
        present = new.view.metadata.annotations
        annotations = rollout.new_annotations(
            present, rollout.copied_annotations(self.deployment), rollout.next_revision(self.family.old)
        )
        if annotations != present:
            self.annotations[new.uid] = annotations
        self.revision = annotations.get(DEPLOYMENT_REVISION, "")
        if has_deadline(self.view) and said.find(self.conditions, said.PROGRESSING) is None:
            self._say("True", said.FOUND_NEW_REPLICA_SET, f'Found new replica set "{new.name}"')

    def _resized(self, replica_sets: Iterable[Object]) -> None:
        """Annotate ReplicaSets with the Deployment's size for which theirs was computed."""
        for replica_set in replica_sets:
            present = self.annotations.get(replica_set.uid, replica_set.view.metadata.annotations)
            annotations = {**present, **rollout.size_annotations(self.family.bounds)}
            if annotations != present:
                self.annotations[replica_set.uid] = annotations

    def _clean_up_if_complete(self) -> None:
        if is_complete(self.family, self.deployment.raw.get("status") or {}):
            self._clean_up()

    def _clean_up(self) -> None:
        """Delete the oldest ReplicaSets beyond revisionHistoryLimit that have no pods."""
        limit = self.view.spec.revisionHistoryLimit
        if limit is None or limit == _ALL_HISTORY:
            return
        old = [found for found in self.family.old if found.view.metadata.deletionTimestamp is None]
        old.sort(key=lambda found: (rollout.revision_of(found) or 0, *rollout.by_age(found)))
        for found in old[: max(0, len(old) - limit)]:
            status, metadata = found.view.status, found.view.metadata
            if status.replicas or self.family.size(found) or metadata.generation > status.observedGeneration:
                continue
            self.actions.append(Delete(KINDS.REPLICA_SET, found.namespace, found.name, found.uid))

    def _say_whether_paused(self) -> None:
        """Set the Progressing condition on pause and resume, which restarts the deadline."""
        if not has_deadline(self.view):
            return
        current = said.find(self.conditions, said.PROGRESSING)
        reason = current.get("reason") if current is not None else None
        if reason == said.TIMED_OUT:
            return
        if self.view.spec.paused and reason != said.PAUSED:
            self._say("Unknown", said.PAUSED, "Deployment is paused")
        elif not self.view.spec.paused and reason == said.PAUSED:
            self._say("Unknown", said.RESUMED, "Deployment is resumed")

    def _say(self, status: str, reason: str, message: str) -> None:
        new = said.condition(said.PROGRESSING, status, reason, message, self.now)
        self.conditions = said.with_condition(self.conditions, new)

    def _scaled(self, name: str, before: int, after: int) -> Report:
        way = "up" if before < after else "down"
        return note(self.deployment, "ScalingReplicaSet", f"Scaled {way} replica set {name} from {before} to {after}")

    def _finish(self, status: Raw, again_after: float | None = None) -> Plan:
        """Return the plan: shrinking ReplicaSets first, to make room; the status last."""
        family = self.family
        changed = [found for found in family.all if family.size(found) != workloads.desired_replicas(found)]
        self._resized(changed)
        for found in sorted(family.all, key=lambda found: family.size(found) - workloads.desired_replicas(found)):
            self._write(found)
        revision = {DEPLOYMENT_REVISION: self.revision} if self.revision else {}
        self.actions += workloads.status_update(self.deployment, status, revision)
        return Plan(tuple(self.actions), again_after)

    def _write(self, found: Object) -> None:
        before, after = workloads.desired_replicas(found), self.family.size(found)
        annotations = self.annotations.get(found.uid)
        patience = self.view.spec.minReadySeconds
        is_patient = found is not self.family.new or found.view.spec.minReadySeconds == patience
        if before == after and annotations is None and is_patient:
            return
        raw = found.raw
        spec = {**raw["spec"], "replicas": after}
        if not is_patient:
            spec["minReadySeconds"] = patience
        metadata = raw["metadata"]
        if annotations is not None:
            metadata = {**metadata, "annotations": annotations}
        self.actions.append(Update(KINDS.REPLICA_SET, {**raw, "metadata": metadata, "spec": spec}))
        if before != after:
            self.actions.append(self._scaled(found.name, before, after))


def _is_collision(deployment: Object, action: Create, world: World) -> bool:
    """Return whether the name belongs to another ReplicaSet, not to our own that is not in the caches yet."""
    replica_set = world.get(KINDS.REPLICA_SET, f"{deployment.namespace}/{action.document['metadata']['name']}")
    if replica_set is None:
        return False
    owner = controller_of(replica_set.view.metadata)
    is_ours = owner is not None and owner.uid == deployment.uid
    return not (is_ours and rollout.is_made_of(replica_set, deployment))


def _who_waits(pod: Object, world: World) -> Iterable[str]:
    """Return the Recreate Deployment that waits for its old pods to be gone."""
    key = workloads.owner_key(KINDS.REPLICA_SET, pod, world)
    replica_set = world.get(KINDS.REPLICA_SET, key) if key is not None else None
    key = workloads.owner_key(KINDS.DEPLOYMENT, replica_set, world) if replica_set is not None else None
    deployment = world.get(KINDS.DEPLOYMENT, key) if key is not None else None
    if deployment is None or deployment.view.spec.strategy.type == ROLLING_UPDATE:
        return ()
    return (deployment.key,)
