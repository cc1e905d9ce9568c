"""A Deployment with its ReplicaSets, and what is to become of their sizes.

In: the Deployment, the ReplicaSets it owns. Out: which is the new one, counts over all of them, and whether somebody
may grow. Kubernetes: FindNewReplicaSet, FindOldReplicaSets and the counts of deployment_util. Differs: nobody grows
before all others have shrunk to the size they were told, so that there are never more pods than the surge allows, not
even for a moment; and of a ReplicaSet that was told to shrink no more are counted as available than will be left.
"""

from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.deployment.bounds import Bounds, bounds_of
from moorage.control.deployment.templates import is_made_of, is_same_template
from moorage.control.replica_set.controller import desired_replicas


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
