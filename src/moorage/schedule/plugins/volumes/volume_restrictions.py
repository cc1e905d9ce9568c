"""VolumeRestrictions: filter out nodes where the pod's disks or exclusive claims are in use.

A disk that a pod names itself (GCE, AWS, iSCSI, RBD) must not be in use on the node, unless all only read it; a claim
with access mode ReadWriteOncePod must not be in use at all.
Kubernetes: pkg/scheduler/framework/plugins/volumerestrictions. Differs: the detail names the disk or claim.
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from moorage.columns.attachments import Disk, inline_disks
from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.match.volumes.claims import ClaimKey, ClaimState, claims_of
from moorage.schedule.framework.events import Event, EventKind, Key, on
from moorage.schedule.framework.plugin import SKIP, Mask, Plugin, Prepared, Verdict, unresolvable, unschedulable
from moorage.schedule.plugins.volumes.volume_binding import is_own_claim, not_found

DISK_CONFLICT = "node(s) had no available disk"
EXCLUSIVE_CONFLICT = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


class _Want(msgspec.Struct, eq=False):
    """The disks, and the claims that only one pod may use."""

    disks: tuple[Disk, ...]
    exclusive: tuple[ClaimKey, ...]

    def conflict(self, cluster: Cluster) -> ClaimKey | None:
        users = cluster.storage.users
        return next((claim for claim in self.exclusive if claim in users), None)


def _used_one_of_ours(want: _Want | None, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether a deleted pod had one of the disks or exclusive claims."""
    if want is None:  # a claim is not there at all
        return False
    pod = event.old
    claims = {(pod.metadata.namespace, use.name) for use in claims_of(pod)}
    disks = {disk.key for disk in inline_disks(pod.spec)}
    return any(claim in claims for claim in want.exclusive) or any(disk.key in disks for disk in want.disks)


def _ours(want: _Want | None, shape: Shape, cluster: Cluster) -> tuple[Key, ...]:
    if want is None:
        return ()
    return (*(("claim", claim) for claim in want.exclusive), *(("disk", disk.key) for disk in want.disks))


def _freed(event: Event) -> Iterator[Key]:
    """Yield the claims and disks that a deleted pod had."""
    pod = event.old
    if pod.spec.volumes:
        yield from (("claim", (pod.metadata.namespace, use.name)) for use in claims_of(pod))
        yield from (("disk", disk.key) for disk in inline_disks(pod.spec))


class VolumeRestrictions(Plugin[_Want]):
    """The VolumeRestrictions plugin."""

    name = "VolumeRestrictions"
    answers_by_needs = True
    requeue_on = (
        on(EventKind.NODE_ADDED),
        on(EventKind.POD_REMOVED, hint=_used_one_of_ours, needs=_ours, keys=_freed),
        on(EventKind.CLAIM_ADDED, hint=is_own_claim),
    )

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        if not shape.claims and not shape.disks:
            return SKIP
        for facts in shape.claims:
            if facts.state is ClaimState.MISSING and not facts.use.ephemeral:
                return Prepared(_Want((), ()), rejection=unresolvable(not_found(facts.use.name)))
        # A claim that is not in use may stand for many; once it is, the pod gets another shape.
        exclusive = tuple((shape.namespace, f.use.name) for f in shape.claims if f.is_exclusive and f.is_itself)
        if not exclusive and not shape.disks:
            return SKIP
        return Prepared(_Want(shape.disks, exclusive), scores=False)

    def epoch(self, want: _Want, cluster: Cluster) -> bool:
        return want.conflict(cluster) is not None

    def filter(self, want: _Want, cluster: Cluster) -> Mask:
        capacity = cluster.nodes.slots.capacity
        if want.conflict(cluster) is not None:
            return np.zeros(capacity, np.bool_)
        mask = np.ones(capacity, np.bool_)
        for disk in want.disks:
            mask[cluster.disk_users.conflicts(disk)] = False
        return mask

    def withstands(self, want: _Want, cluster: Cluster, slot: int) -> bool:
        return self.filter_slot(want, cluster, slot)

    def explain(self, want: _Want, cluster: Cluster, slot: int) -> Verdict | None:
        disks = [disk.key for disk in want.disks if cluster.disk_users.conflicts_at(disk, slot)]
        details = [f"{kind} {' '.join(names)} is in use on this node" for kind, *names in disks]
        claim = want.conflict(cluster)
        if claim is not None:
            details.append(f'claim "{claim[1]}" is ReadWriteOncePod and in use')
        if not details:
            return None
        return unschedulable(DISK_CONFLICT if disks else EXCLUSIVE_CONFLICT, *details)
