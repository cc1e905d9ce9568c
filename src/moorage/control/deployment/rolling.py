"""One step of a rollout: the new ReplicaSet grows, or the old ones shrink.

In: a family. Out: its sizes, changed, and whether they were. Kubernetes: rolling.go and recreate.go. Differs: see
`family`; and no step takes more pods away than may be missing, whatever their statuses said.
"""

from moorage.client.protocol import Object
from moorage.control.deployment.family import Family
from moorage.control.framework.pods_of import POD
from moorage.control.framework.world import World


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
