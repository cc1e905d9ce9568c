"""A Deployment with its ReplicaSets, and what is to become of their sizes.

In: the Deployment, the ReplicaSets it owns. Out: which is the new one, counts over all of them, and whether somebody
may grow. Kubernetes: FindNewReplicaSet, FindOldReplicaSets and the counts of deployment_util. Differs: nobody grows
before all others have shrunk to the size they were told, so that there are never more pods than the surge allows, not
even for a moment; and of a ReplicaSet that was told to shrink no more are counted as available than will be left.
"""

from collections.abc import Iterable
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.deployment.annotations import DESIRED_REPLICAS, MAX_REPLICAS, number_in
from moorage.control.framework.actions import Raw
from moorage.control.framework.pods_of import POD
from moorage.control.framework.workloads import ROLLING_UPDATE, desired_replicas, scaled, template_hash
from moorage.control.framework.world import World
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.types.workload import Deployment


class Bounds(NamedTuple):
    """`surge` more and `unavailable` fewer than the replicas."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        """So many pods may there be at a time."""
        return self.replicas + self.surge

    @property
    def fewest(self) -> int:
        """So many of them must be available."""
        return self.replicas - self.unavailable


def size_annotations(bounds: Bounds) -> dict[str, str]:
    return {DESIRED_REPLICAS: str(bounds.replicas), MAX_REPLICAS: str(bounds.most)}


def bounds_of(deployment: Deployment) -> Bounds:
    replicas = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    if deployment.spec.strategy.type != ROLLING_UPDATE:
        return Bounds(replicas, 0, 0)
    update = deployment.spec.strategy.rollingUpdate
    surge = scaled(update.maxSurge, replicas, up=True) if update is not None else 0
    unavailable = scaled(update.maxUnavailable, replicas, up=False) if update is not None else 0
    if surge == 0 and unavailable == 0:
        # Percentages are rounded, and nothing would ever move.
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


HASH_LABEL = "pod-template-hash"


def is_same_template(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """But for the label that says which one it is."""
    return (
        one.spec == other.spec
        and _without_hash(one.metadata.labels) == _without_hash(other.metadata.labels)
        and one.metadata.annotations == other.metadata.annotations
        and one.metadata.finalizers == other.metadata.finalizers
        and one.metadata.name == other.metadata.name
        and one.metadata.generateName == other.metadata.generateName
    )


def is_made_of(replica_set: Object, deployment: Object) -> bool:
    """Whether it has the Deployment's template; or had, when it was sent, and the API server left something out."""
    if is_same_template(replica_set.view.spec.template, deployment.view.spec.template):
        return True
    collisions = deployment.view.status.collisionCount
    named: str = replica_set.view.metadata.labels.get(HASH_LABEL, "")
    if named != template_hash(deployment.raw["spec"]["template"], collisions):
        return False
    # Named after this template. If its own has that name too, they collide; if not, it is not what was sent.
    stored: Raw = replica_set.raw["spec"]["template"]
    metadata: Raw = stored.get("metadata") or {}
    labels = _without_hash(metadata.get("labels") or {})
    return named != template_hash({**stored, "metadata": {**metadata, "labels": labels}}, collisions)


def _without_hash(labels: dict[str, str]) -> dict[str, str]:
    if HASH_LABEL not in labels:
        return labels
    return {key: value for key, value in labels.items() if key != HASH_LABEL}


class Family:
    """See the module. `sizes` starts as what ReplicaSets were told, by UID, and is what they will be told."""

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
        """Those that have pods, or should."""
        return [found for found in self.all if self.size(found) > 0]

    @property
    def active_old(self) -> list[Object]:
        return [found for found in self.old if self.size(found) > 0]

    def size(self, found: Object) -> int:
        return self.sizes[found.uid]

    def resize(self, found: Object, size: int) -> bool:
        """Whether that is another size than it had."""
        changes = self.sizes[found.uid] != size
        self.sizes[found.uid] = size
        return changes

    def total(self, replica_sets: Iterable[Object]) -> int:
        return sum(map(self.size, replica_sets))

    def available(self, replica_sets: Iterable[Object]) -> int:
        """How many pods will still be available when everybody has shrunk as told."""
        return sum(min(found.view.status.availableReplicas, self.size(found)) for found in replica_sets)

    def may_grow(self, grows: Object | None) -> bool:
        """Whether all others have done what they were told, so that there is room."""
        return all(is_settled(found) for found in self.all if found is not grows)

    def _newest(self) -> Object | None:
        """The oldest one with the same template, if there are several; or one that was made of it."""
        template = self.deployment.view.spec.template
        for found in self.all:
            if is_same_template(found.view.spec.template, template):
                return found
        return next((found for found in self.all if is_made_of(found, self.deployment)), None)


def is_settled(replica_set: Object) -> bool:
    """Whether it has seen its size, and has no more pods than that."""
    status = replica_set.view.status
    return bool(
        status.observedGeneration >= replica_set.view.metadata.generation
        and status.replicas <= desired_replicas(replica_set)
    )


def by_age(found: Object) -> tuple[str, str]:
    return found.view.metadata.creationTimestamp or "", found.name


def initial_size(family: Family, bounds: Bounds) -> int:
    """With how many replicas a new ReplicaSet begins, next to those that are there."""
    if not family.may_grow(None):
        return 0
    return max(0, min(bounds.most - family.total(family.all), bounds.replicas))


# -- a rolling update -------------------------------------------------------------------------------------------------


def grow_new(family: Family, new: Object) -> bool:
    """As far as the surge allows."""
    size, replicas = family.size(new), family.replicas
    if size >= replicas:
        return family.resize(new, replicas)
    room = family.bounds.most - family.total(family.all)
    if room <= 0 or not family.may_grow(new):
        return False
    return family.resize(new, size + min(room, replicas - size))


def shrink_old(family: Family, new: Object) -> bool:
    """As far as enough pods stay available: those that are not go first, since nobody misses them."""
    old = family.active_old
    missing_new = family.size(new) - new.view.status.availableReplicas
    most = family.total(family.all) - family.bounds.fewest - missing_new
    if not old or most <= 0:
        return False
    cleaned = _shrink_unhealthy(family, old, most)
    return _shrink_available(family, old, new, most - cleaned) + cleaned > 0


def _shrink_unhealthy(family: Family, old: list[Object], most: int) -> int:
    done = 0
    for found in old:
        size = family.size(found)
        step = min(most - done, max(0, size - found.view.status.availableReplicas))
        if step > 0:
            family.resize(found, size - step)
            done += step
    return done


def _shrink_available(family: Family, old: list[Object], new: Object, most: int) -> int:
    done, spare = 0, min(most, family.available([*old, new]) - family.bounds.fewest)
    for found in old:
        size = family.size(found)
        step = min(size, spare - done)
        if step > 0:
            family.resize(found, size - step)
            done += step
    return done


def stop_old(family: Family) -> bool:
    """Recreate: all of them, before anything new is started."""
    running = family.active_old
    for found in running:
        family.resize(found, 0)
    return bool(running)


def old_pods_run(family: Family, world: World) -> bool:
    """Recreate: whether anything of the old is still there; what is being deleted still runs."""
    if any(found.view.status.replicas > 0 for found in family.old):
        return True
    return any(
        pod.view.status.phase not in ("Succeeded", "Failed")
        for found in family.old
        for pod in world.owned(POD, found.uid)
    )


# -- another number of replicas ---------------------------------------------------------------------------------------


def is_scaling(family: Family) -> bool:
    """Whether the replicas are others than when the ReplicaSets were last resized."""
    desired = (number_in(found, DESIRED_REPLICAS) for found in family.active)
    return any(number is not None and number != family.replicas for number in desired)


def scale(family: Family) -> list[Object]:
    """Change the sizes; those whose annotations have to be written even if their size stays."""
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
    allowed = family.bounds.most if family.replicas > 0 else 0
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
    """By how much it would grow if all grew alike."""
    size = family.size(found)
    if family.replicas == 0:
        return -size
    most_before = number_in(found, MAX_REPLICAS) or family.deployment.view.status.replicas
    if not most_before:
        return 0
    # Halves are rounded away from zero.
    return (2 * size * family.bounds.most + most_before) // (2 * most_before) - size


def _is_saturated(family: Family) -> bool:
    new = family.new
    if new is None:
        return False
    return (
        family.size(new) == family.replicas
        and number_in(new, DESIRED_REPLICAS) == family.replicas
        and new.view.status.availableReplicas == family.replicas
    )
