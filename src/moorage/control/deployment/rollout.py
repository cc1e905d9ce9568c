"""Sizes of a Deployment's ReplicaSets: rolling update, Recreate, proportional scaling.

Kubernetes: deployment_util, rolling.go, recreate.go, DeploymentController.scale. Differs: no ReplicaSet grows before
all others have shrunk to their size, so that there are never more pods than the surge allows; a ReplicaSet that is to
shrink counts as available only what will be left; no step removes more pods than may be unavailable. A ReplicaSet whose
template lost fields when it was created, because a gate is off, still counts as made of the Deployment's template;
Kubernetes creates another one, forever.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.workloads import POD, ROLLING_UPDATE, desired_replicas, digits, scaled, template_hash
from moorage.control.framework.world import World
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.types.workload import Deployment

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        "deprecated.deployment.rollback.to",
    }
)
#: Some hundred revisions.
_MAX_HISTORY_LENGTH = 2000
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


def revision_of(found: Object) -> int | None:
    """Return the revision annotation: 0 if absent, None if malformed."""
    return _revision(found.view.metadata.annotations.get(REVISION))


def next_revision(old: list[Object]) -> int:
    return max((revision_of(found) or 0 for found in old), default=0) + 1


def number_in(found: Object, annotation: str) -> int | None:
    """Return a count from an annotation; None if absent or malformed."""
    number = digits(found.view.metadata.annotations.get(annotation, ""))
    return number if number is not None and number <= _INT32_MAX else None


def copied_annotations(deployment: Object) -> dict[str, str]:
    annotations = deployment.view.metadata.annotations
    return {key: value for key, value in annotations.items() if key not in _NOT_COPIED}


def new_annotations(present: dict[str, str], copied: dict[str, str], revision: int) -> dict[str, str]:
    """Return the annotations of the newest ReplicaSet; an earlier revision of it goes to the history."""
    annotations = {**present, **copied}
    before = _revision(present.get(REVISION))
    if before is None or before >= revision:
        return annotations
    annotations[REVISION] = str(revision)
    if REVISION not in present:
        return annotations
    history = [said for said in present.get(REVISION_HISTORY, "").split(",") if said]
    history.append(present[REVISION])
    while len(history) > 1 and len(",".join(history)) > _MAX_HISTORY_LENGTH:
        del history[0]
    annotations[REVISION_HISTORY] = ",".join(history)
    return annotations


def _revision(text: str | None) -> int | None:
    if not text:
        return 0
    digits = text.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()) or len(text) - len(digits) > 1 or len(digits) > 19:
        return None
    return int(text) if int(text) <= _INT64_MAX else None


class Bounds(NamedTuple):
    """Replicas, and how many more and how many unavailable pods a rolling update may have."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def max_pods(self) -> int:
        return self.replicas + self.surge

    @property
    def min_available(self) -> int:
        return self.replicas - self.unavailable


def size_annotations(bounds: Bounds) -> dict[str, str]:
    return {DESIRED_REPLICAS: str(bounds.replicas), MAX_REPLICAS: str(bounds.max_pods)}


def bounds_of(deployment: Deployment) -> Bounds:
    replicas = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    if deployment.spec.strategy.type != ROLLING_UPDATE:
        return Bounds(replicas, 0, 0)
    update = deployment.spec.strategy.rollingUpdate
    surge = scaled(update.maxSurge, replicas, up=True) if update is not None else 0
    unavailable = scaled(update.maxUnavailable, replicas, up=False) if update is not None else 0
    if surge == 0 and unavailable == 0:
        # Both may be rounded to 0, and the rollout would never progress.
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


HASH_LABEL = "pod-template-hash"


def is_same_template(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """Compare templates without their pod-template-hash."""
    return (
        one.spec == other.spec
        and _without_hash(one.metadata.labels) == _without_hash(other.metadata.labels)
        and one.metadata.annotations == other.metadata.annotations
        and one.metadata.finalizers == other.metadata.finalizers
        and one.metadata.name == other.metadata.name
        and one.metadata.generateName == other.metadata.generateName
    )


def is_made_of(replica_set: Object, deployment: Object) -> bool:
    """Return whether a ReplicaSet was created from the Deployment's template, even if fields were dropped then."""
    if is_same_template(replica_set.view.spec.template, deployment.view.spec.template):
        return True
    collisions = deployment.view.status.collisionCount
    named: str = replica_set.view.metadata.labels.get(HASH_LABEL, "")
    if named != template_hash(deployment.raw["spec"]["template"], collisions):
        return False
    # Named after this template: its own hash is the same if they collide, and another if fields were dropped.
    stored: Raw = replica_set.raw["spec"]["template"]
    metadata: Raw = stored.get("metadata") or {}
    labels = _without_hash(metadata.get("labels") or {})
    return named != template_hash({**stored, "metadata": {**metadata, "labels": labels}}, collisions)


def _without_hash(labels: dict[str, str]) -> dict[str, str]:
    if HASH_LABEL not in labels:
        return labels
    return {key: value for key, value in labels.items() if key != HASH_LABEL}


class Family:
    """A Deployment and its ReplicaSets. `sizes`: replicas by UID, first as stored, then as they will be written."""

    def __init__(self, deployment: Object, replica_sets: Iterable[Object]) -> None:
        self.deployment, self.bounds = deployment, bounds_of(deployment.view)
        self.all = sorted(replica_sets, key=by_age)
        self.new = self._newest()
        self.old = [found for found in self.all if found is not self.new]
        self.sizes = {found.uid: desired_replicas(found) for found in self.all}

    @property
    def replicas(self) -> int:
        return self.bounds.replicas

    @property
    def active(self) -> list[Object]:
        return [found for found in self.all if self.size(found) > 0]

    @property
    def active_old(self) -> list[Object]:
        return [found for found in self.old if self.size(found) > 0]

    def size(self, found: Object) -> int:
        return self.sizes[found.uid]

    def resize(self, found: Object, size: int) -> bool:
        """Set a size; return whether it differs."""
        changes = self.sizes[found.uid] != size
        self.sizes[found.uid] = size
        return changes

    def total(self, replica_sets: Iterable[Object]) -> int:
        return sum(map(self.size, replica_sets))

    def available(self, replica_sets: Iterable[Object]) -> int:
        """Count the pods that stay available once all ReplicaSets have shrunk to their size."""
        return sum(min(found.view.status.availableReplicas, self.size(found)) for found in replica_sets)

    def may_grow(self, grows: Object | None) -> bool:
        """Return whether all others have reached their size, so that there is room."""
        return all(is_settled(found) for found in self.all if found is not grows)

    def _newest(self) -> Object | None:
        """Return the oldest ReplicaSet with the Deployment's template."""
        template = self.deployment.view.spec.template
        for found in self.all:
            if is_same_template(found.view.spec.template, template):
                return found
        return next((found for found in self.all if is_made_of(found, self.deployment)), None)


def is_settled(replica_set: Object) -> bool:
    """Return whether the ReplicaSet has observed its size and has no more pods."""
    status = replica_set.view.status
    return bool(
        status.observedGeneration >= replica_set.view.metadata.generation
        and status.replicas <= desired_replicas(replica_set)
    )


def by_age(found: Object) -> tuple[str, str]:
    return found.view.metadata.creationTimestamp or "", found.name


def initial_size(family: Family, bounds: Bounds) -> int:
    """Return the replicas of a new ReplicaSet next to the existing ones."""
    if not family.may_grow(None):
        return 0
    return max(0, min(bounds.max_pods - family.total(family.all), bounds.replicas))


# -- a rolling update -------------------------------------------------------------------------------------------------


def grow_new(family: Family, new: Object) -> bool:
    """Grow the new ReplicaSet as far as maxSurge allows."""
    size, replicas = family.size(new), family.replicas
    if size >= replicas:
        return family.resize(new, replicas)
    room = family.bounds.max_pods - family.total(family.all)
    if room <= 0 or not family.may_grow(new):
        return False
    return family.resize(new, size + min(room, replicas - size))


def shrink_old(family: Family, new: Object) -> bool:
    """Shrink the old ReplicaSets as far as maxUnavailable allows, unavailable pods first."""
    old = family.active_old
    missing_new = family.size(new) - new.view.status.availableReplicas
    max_pods = family.total(family.all) - family.bounds.min_available - missing_new
    if not old or max_pods <= 0:
        return False
    cleaned = _shrink(family, old, max_pods, lambda found: found.view.status.availableReplicas)
    spare = min(max_pods - cleaned, family.available([*old, new]) - family.bounds.min_available)
    return _shrink(family, old, spare, lambda found: 0) + cleaned > 0


def _shrink(family: Family, old: list[Object], max_pods: int, kept: Callable[[Object], int]) -> int:
    """Remove up to `max_pods` pods, but keep so many of each ReplicaSet; return how many are removed."""
    done = 0
    for found in old:
        size = family.size(found)
        step = min(max_pods - done, size - kept(found))
        if step > 0:
            family.resize(found, size - step)
            done += step
    return done


def stop_old(family: Family) -> bool:
    """Scale the old ReplicaSets to 0, for Recreate."""
    running = family.active_old
    for found in running:
        family.resize(found, 0)
    return bool(running)


def old_pods_run(family: Family, world: World) -> bool:
    """Return whether old pods still run, terminating ones included, for Recreate."""
    if any(found.view.status.replicas > 0 for found in family.old):
        return True
    return any(
        pod.view.status.phase not in ("Succeeded", "Failed")
        for found in family.old
        for pod in world.owned(POD, found.uid)
    )


# -- another number of replicas ---------------------------------------------------------------------------------------


def is_scaling(family: Family) -> bool:
    """Return whether spec.replicas changed since the ReplicaSets were last resized."""
    desired = (number_in(found, DESIRED_REPLICAS) for found in family.active)
    return any(number is not None and number != family.replicas for number in desired)


def scale(family: Family) -> list[Object]:
    """Distribute changed replicas over the ReplicaSets. Return those to annotate even if their size stays."""
    if not family.all:
        return []
    active = family.active
    if len(active) <= 1:
        only = active[0] if active else family.new or family.old[-1]
        if family.size(only) > family.replicas or family.may_grow(only):
            family.resize(only, family.replicas)
            return [only]
        return []
    if _is_saturated(family):
        for found in family.active_old:
            family.resize(found, 0)
        return []
    if family.deployment.view.spec.strategy.type != ROLLING_UPDATE:
        return []
    return _scale_proportionally(family, active)


def _scale_proportionally(family: Family, active: list[Object]) -> list[Object]:
    allowed = family.bounds.max_pods if family.replicas > 0 else 0
    to_add = allowed - family.total(active)
    if to_add > 0:
        if not all(family.may_grow(found) for found in active):
            return []
        active = sorted(sorted(active, key=by_age, reverse=True), key=family.size, reverse=True)
    elif to_add < 0:
        active = sorted(sorted(active, key=by_age), key=family.size, reverse=True)
    added = 0
    for found in active if to_add else ():
        share = _share(family, found, to_add, added)
        family.resize(found, family.size(found) + share)
        added += share
    if to_add:
        family.resize(active[0], max(0, family.size(active[0]) + to_add - added))
    return active


def _share(family: Family, found: Object, to_add: int, added: int) -> int:
    if to_add == added:
        return 0
    fraction, allowed = _fraction(family, found), to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _fraction(family: Family, found: Object) -> int:
    """Return how much a ReplicaSet grows if all grow in proportion."""
    size = family.size(found)
    if family.replicas == 0:
        return -size
    max_before = number_in(found, MAX_REPLICAS) or family.deployment.view.status.replicas
    if not max_before:
        return 0
    # Halves are rounded away from zero.
    return (2 * size * family.bounds.max_pods + max_before) // (2 * max_before) - size


def _is_saturated(family: Family) -> bool:
    new = family.new
    if new is None:
        return False
    return (
        family.size(new) == family.replicas
        and number_in(new, DESIRED_REPLICAS) == family.replicas
        and new.view.status.availableReplicas == family.replicas
    )
