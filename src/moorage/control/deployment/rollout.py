"""Sizes of a Deployment's ReplicaSets: rolling update, Recreate, proportional scaling.

Kubernetes: deployment_util, rolling.go, recreate.go, DeploymentController.scale. Differs: no ReplicaSet grows before
all others have shrunk to their size, so that there are never more pods than the surge allows; a ReplicaSet that is to
shrink counts as available only what will be left; no step removes more pods than may be unavailable. A ReplicaSet whose
template lost fields when it was created, because a gate is off, still counts as made of the Deployment's template;
Kubernetes creates another one, forever.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework import workloads
from moorage.control.framework.actions import Raw
from moorage.control.framework.workloads import ROLLING_UPDATE
from moorage.control.framework.world import World
from moorage.model.text.readers import reads_text
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.types.workload import Deployment
from moorage.model.well_known.annotations import DEPLOYMENT_REVISION, LAST_APPLIED
from moorage.model.well_known.labels import POD_TEMPLATE_HASH

REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = frozenset(
    {
        LAST_APPLIED,
        DEPLOYMENT_REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        "deprecated.deployment.rollback.to",
    }
)
#: Some hundred revisions.
_MAX_HISTORY_LENGTH = 2000
_INT64_MAX = 2**63 - 1


def revision_of(found: Object) -> int | None:
    """Return the revision annotation: 0 if absent, None if malformed."""
    return _revision(found.view.metadata.annotations.get(DEPLOYMENT_REVISION))


def next_revision(old: list[Object]) -> int:
    return max((revision_of(found) or 0 for found in old), default=0) + 1


def number_in(found: Object, annotation: str) -> int | None:
    """Return a count from an annotation; None if absent or malformed."""
    return workloads.int32(found.view.metadata.annotations.get(annotation, ""))


def copied_annotations(deployment: Object) -> dict[str, str]:
    annotations = deployment.view.metadata.annotations
    return {key: value for key, value in annotations.items() if key not in _NOT_COPIED}


def new_annotations(present: dict[str, str], copied: dict[str, str], revision: int) -> dict[str, str]:
    """Return the annotations of the newest ReplicaSet; an earlier revision of it goes to the history."""
    annotations = {**present, **copied}
    before = _revision(present.get(DEPLOYMENT_REVISION))
    if before is None or before >= revision:
        return annotations
    annotations[DEPLOYMENT_REVISION] = str(revision)
    if DEPLOYMENT_REVISION not in present:
        return annotations
    history = [said for said in present.get(REVISION_HISTORY, "").split(",") if said]
    history.append(present[DEPLOYMENT_REVISION])
    while len(history) > 1 and len(",".join(history)) > _MAX_HISTORY_LENGTH:
        del history[0]
    annotations[REVISION_HISTORY] = ",".join(history)
    return annotations


@reads_text("1", "0", "-", "+", "x")
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
    surge = workloads.scaled(update.maxSurge, replicas, up=True) if update is not None else 0
    unavailable = workloads.scaled(update.maxUnavailable, replicas, up=False) if update is not None else 0
    if surge == 0 and unavailable == 0:
        # Both may be rounded to 0, and the rollout would never progress.
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


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
    named: str = replica_set.view.metadata.labels.get(POD_TEMPLATE_HASH, "")
    if named != workloads.template_hash(deployment.raw["spec"]["template"], collisions):
        return False
    # Named after this template: its own hash is the same if they collide, and another if fields were dropped.
    stored: Raw = replica_set.raw["spec"]["template"]
    metadata: Raw = stored.get("metadata") or {}
    labels = _without_hash(metadata.get("labels") or {})
    return named != workloads.template_hash({**stored, "metadata": {**metadata, "labels": labels}}, collisions)


def _without_hash(labels: dict[str, str]) -> dict[str, str]:
    if POD_TEMPLATE_HASH not in labels:
        return labels
    return {key: value for key, value in labels.items() if key != POD_TEMPLATE_HASH}


def is_settled(replica_set: Object) -> bool:
    """Return whether the ReplicaSet has observed its size and has no more pods."""
    status = replica_set.view.status
    return bool(
        status.observedGeneration >= replica_set.view.metadata.generation
        and status.replicas <= workloads.desired_replicas(replica_set)
    )


def by_age(found: Object) -> tuple[str, str]:
    return found.view.metadata.creationTimestamp or "", found.name


class Family:
    """A Deployment and its ReplicaSets. `sizes`: replicas by UID, first as stored, then as they will be written."""

    def __init__(self, deployment: Object, replica_sets: Iterable[Object]) -> None:
        self.deployment, self.bounds = deployment, bounds_of(deployment.view)
        self.all = sorted(replica_sets, key=by_age)
        self.new = self._newest()
        self.old = [found for found in self.all if found is not self.new]
        self.sizes = {found.uid: workloads.desired_replicas(found) for found in self.all}

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
        return sum(
            min(replica_set.view.status.availableReplicas, self.size(replica_set)) for replica_set in replica_sets
        )

    def may_grow(self, grows: Object | None) -> bool:
        """Return whether all others have reached their size, so that there is room."""
        return all(is_settled(found) for found in self.all if found is not grows)

    def _newest(self) -> Object | None:
        """Return the oldest ReplicaSet with the Deployment's template."""
        template = self.deployment.view.spec.template
        same = (found for found in self.all if is_same_template(found.view.spec.template, template))
        made = (found for found in self.all if is_made_of(found, self.deployment))
        return next(chain(same, made), None)

    def initial_size(self) -> int:
        """Return the replicas of a new ReplicaSet next to the existing ones."""
        if not self.may_grow(None):
            return 0
        return max(0, min(self.bounds.max_pods - self.total(self.all), self.replicas))

    # -- a rolling update ---------------------------------------------------------------------------------------------

    def grow_new(self, new: Object) -> bool:
        """Grow the new ReplicaSet as far as maxSurge allows."""
        size, replicas = self.size(new), self.replicas
        if size >= replicas:
            return self.resize(new, replicas)
        room = self.bounds.max_pods - self.total(self.all)
        if room <= 0 or not self.may_grow(new):
            return False
        return self.resize(new, size + min(room, replicas - size))

    def shrink_old(self, new: Object) -> bool:
        """Shrink the old ReplicaSets as far as maxUnavailable allows, unavailable pods first."""
        old = self.active_old
        missing_new = self.size(new) - new.view.status.availableReplicas
        max_pods = self.total(self.all) - self.bounds.min_available - missing_new
        if not old or max_pods <= 0:
            return False
        cleaned = self._shrink(old, max_pods, lambda found: found.view.status.availableReplicas)
        spare = min(max_pods - cleaned, self.available([*old, new]) - self.bounds.min_available)
        return self._shrink(old, spare, lambda found: 0) + cleaned > 0

    def _shrink(self, old: list[Object], max_pods: int, kept: Callable[[Object], int]) -> int:
        """Remove up to `max_pods` pods, but keep this many of each ReplicaSet; return how many are removed."""
        done = 0
        for found in old:
            size = self.size(found)
            step = min(max_pods - done, size - kept(found))
            if step > 0:
                self.resize(found, size - step)
                done += step
        return done

    def stop_old(self) -> bool:
        """Scale the old ReplicaSets to 0; return whether any was larger."""
        running = self.active_old
        for found in running:
            self.resize(found, 0)
        return bool(running)

    def old_pods_run(self, world: World) -> bool:
        """Return whether old pods still run, terminating ones included, for Recreate."""
        if any(found.view.status.replicas > 0 for found in self.old):
            return True
        return any(not facts.is_finished for found in self.old for facts in world.tally_of_owner(found.uid))

    # -- another number of replicas -----------------------------------------------------------------------------------

    def is_scaling(self) -> bool:
        """Return whether spec.replicas changed since the ReplicaSets were last resized."""
        desired = (number_in(found, DESIRED_REPLICAS) for found in self.active)
        return any(number is not None and number != self.replicas for number in desired)

    def scale(self) -> list[Object]:
        """Distribute changed replicas over the ReplicaSets. Return those to annotate even if their size stays."""
        if not self.all:
            return []
        active = self.active
        if len(active) <= 1:
            only = active[0] if active else self.new or self.old[-1]
            if self.size(only) > self.replicas or self.may_grow(only):
                self.resize(only, self.replicas)
                return [only]
            return []
        if self._is_saturated():
            self.stop_old()
            return []
        if self.deployment.view.spec.strategy.type != ROLLING_UPDATE:
            return []
        return self._scale_proportionally(active)

    def _scale_proportionally(self, active: list[Object]) -> list[Object]:
        allowed = self.bounds.max_pods if self.replicas > 0 else 0
        to_add = allowed - self.total(active)
        if to_add > 0:
            if not all(self.may_grow(found) for found in active):
                return []
            active = sorted(sorted(active, key=by_age, reverse=True), key=self.size, reverse=True)
        elif to_add < 0:
            active = sorted(sorted(active, key=by_age), key=self.size, reverse=True)
        added = 0
        for found in active if to_add else ():
            share = self._share(found, to_add, added)
            self.resize(found, self.size(found) + share)
            added += share
        if to_add:
            self.resize(active[0], max(0, self.size(active[0]) + to_add - added))
        return active

    def _share(self, found: Object, to_add: int, added: int) -> int:
        if to_add == added:
            return 0
        fraction, allowed = self._fraction(found), to_add - added
        return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)

    def _fraction(self, found: Object) -> int:
        """Return how much a ReplicaSet grows if all grow in proportion."""
        size = self.size(found)
        if self.replicas == 0:
            return -size
        max_before = number_in(found, MAX_REPLICAS) or self.deployment.view.status.replicas
        if not max_before:
            return 0
        # Halves are rounded away from zero.
        return (2 * size * self.bounds.max_pods + max_before) // (2 * max_before) - size

    def _is_saturated(self) -> bool:
        new = self.new
        return (
            new is not None
            and self.size(new) == self.replicas
            and number_in(new, DESIRED_REPLICAS) == self.replicas
            and new.view.status.availableReplicas == self.replicas
        )
