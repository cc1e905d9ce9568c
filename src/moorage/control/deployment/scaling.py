"""Another number of replicas, during a rollout or while it is paused: everybody gets a share.

In: a family. Out: its sizes, changed. Kubernetes: DeploymentController.scale, GetReplicaSetProportion. Growing in
proportion to their sizes, new pods are no larger a part of all than before, and a bad rollout no worse.
"""

from moorage.client.protocol import Object
from moorage.control.deployment.annotations import DESIRED_REPLICAS, MAX_REPLICAS, number_in
from moorage.control.deployment.bounds import ROLLING_UPDATE
from moorage.control.deployment.family import Family, by_age


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
