"""Propose to do without a volume, which shows that it alone is the obstacle."""

from collections.abc import Iterator

from moorage.match.volumes.claims import ClaimState, ClaimUse
from moorage.model.types.pod import Pod
from moorage.model.types.storage import Volume
from moorage.plan.explain.remedies.change import Blockers, Change, ChangeKind, replaced, with_spec
from moorage.schedule.plugins.volumes.node_volume_limits import NodeVolumeLimits
from moorage.schedule.plugins.volumes.volume_binding import VolumeBinding
from moorage.schedule.plugins.volumes.volume_restrictions import VolumeRestrictions
from moorage.schedule.plugins.volumes.volume_zone import VolumeZone

_PLUGINS = (VolumeBinding.name, VolumeZone.name, VolumeRestrictions.name, NodeVolumeLimits.name)


def volume_changes(blockers: Blockers) -> Iterator[Change]:
    if not len(blockers.only(*_PLUGINS)):
        return
    volumes = blockers.pod.spec.volumes
    for index, volume in enumerate(volumes):
        yield Change(
            ChangeKind.VOLUME,
            f"volume {volume.name}",
            _advice(blockers, blockers.pod, volume),
            6,
            pod=with_spec(blockers.pod, volumes=replaced(volumes, index)),
        )


def _advice(blockers: Blockers, pod: Pod, volume: Volume) -> str:
    """What to do about a volume; whatever it is, without the volume the pod would fit."""
    claim = volume.persistentVolumeClaim
    if claim is None:
        return f"volume {volume.name} is all that is in the way: without it the pod fits"
    kind = blockers.cluster.storage.claim_facts(pod, ClaimUse(claim.claimName, False), True)
    named = f"claim {claim.claimName} (volume {volume.name})"
    if kind.state is ClaimState.MISSING:
        return (
            f"create PersistentVolumeClaim {claim.claimName} in namespace {pod.metadata.namespace}: {named} is missing"
        )
    if kind.state is ClaimState.BOUND and kind.volume is not None:
        name = kind.volume.metadata.name
        return f"{named} is all that is in the way: PersistentVolume {name} cannot be used on these nodes"
    return f"{named} is all that is in the way: it is {kind.state.value}"
