"""Propose other classes: the RuntimeClass of a pod, the StorageClass of its claims.

What a RuntimeClass has put into a pod goes with it. The class of a claim cannot be changed once it exists, nor can the
claim templates of a StatefulSet: what is proposed is recreated.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.client.protocol import Object
from moorage.control.framework.world import World
from moorage.match.volumes.claims import ClaimState, ClaimUse, claim_class, is_default
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.model.types.policy import RuntimeClass
from moorage.model.types.storage import PersistentVolumeClaim
from moorage.plan.explain.remedies.change import Blockers, Change, ChangeKind, ObjectPatch, as_yaml, replaced, with_spec
from moorage.schedule.plugins.node_affinity import NodeAffinity
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit
from moorage.schedule.plugins.taint_toleration import TaintToleration
from moorage.schedule.plugins.volumes.node_volume_limits import NodeVolumeLimits
from moorage.schedule.plugins.volumes.volume_binding import VolumeBinding
from moorage.schedule.plugins.volumes.volume_zone import VolumeZone

_MAX_CLASSES = 4
_BY_RUNTIME_CLASS = (NodeAffinity.name, TaintToleration.name, NodeResourcesFit.name)
_BY_STORAGE_CLASS = (VolumeBinding.name, VolumeZone.name, NodeVolumeLimits.name)
_UNBOUND = (ClaimState.IMMEDIATE, ClaimState.DELAYED)
_replace = msgspec.structs.replace


def class_changes(blockers: Blockers, world: World, owner: Object | None) -> Iterator[Change]:
    """Yield changes of classes; `owner` is the object whose template the pod is made of."""
    if len(blockers.only(*_BY_RUNTIME_CLASS)):
        yield from runtime_class_changes(blockers.pod, world)
    if len(blockers.only(*_BY_STORAGE_CLASS)):
        yield from _storage_classes(blockers, world, owner)


# -- RuntimeClasses ---------------------------------------------------------------------------------------------------


def runtime_class_changes(pod: Pod, world: World) -> Iterator[Change]:
    """Yield the pod with another RuntimeClass, then without any."""
    name = pod.spec.runtimeClassName
    if name is None:
        return
    found = world.get(KINDS.RUNTIME_CLASS, name)
    bare = _without_class(pod, found.view if found is not None else None)
    others = [one.name for one in world.all(KINDS.RUNTIME_CLASS) if one.name != name]
    for other in others[:_MAX_CLASSES]:
        yield Change(
            ChangeKind.RUNTIME_CLASS,
            f"runtimeClassName {other}",
            f"runtimeClassName {name} → {other}",
            3,
            pod=with_spec(bare, runtimeClassName=other),
            yaml=f"runtimeClassName: {other}",
        )
    yield Change(ChangeKind.RUNTIME_CLASS, "runtimeClassName", f"drop runtimeClassName {name}", 4, pod=bare)


def _without_class(pod: Pod, runtime_class: RuntimeClass | None) -> Pod:
    """Return a pod without its class, and without what the class has added to it."""
    scheduling = runtime_class.scheduling if runtime_class is not None else None
    selector: dict[str, str] = scheduling.nodeSelector if scheduling is not None else {}
    added = scheduling.tolerations if scheduling is not None else ()
    return with_spec(
        pod,
        runtimeClassName=None,
        overhead={},
        nodeSelector={key: value for key, value in pod.spec.nodeSelector.items() if selector.get(key) != value},
        tolerations=tuple(one for one in pod.spec.tolerations if one not in added),
    )


# -- StorageClasses ---------------------------------------------------------------------------------------------------


def _storage_classes(blockers: Blockers, world: World, owner: Object | None) -> Iterator[Change]:
    pod = blockers.pod
    classes = sorted(world.all(KINDS.STORAGE_CLASS), key=lambda one: (not is_default(one.view), one.name))
    for index, volume in enumerate(pod.spec.volumes):
        if volume.persistentVolumeClaim is not None:
            use = ClaimUse(volume.persistentVolumeClaim.claimName, False)
        elif volume.ephemeral is not None:
            use = ClaimUse(f"{pod.metadata.name}-{volume.name}", True)
        else:
            continue
        facts = blockers.cluster.storage.claim_facts(pod, use, True)
        if facts.claim is None or facts.state not in _UNBOUND:
            continue
        now = claim_class(facts.claim)
        for storage_class in [one.name for one in classes if one.name != now][:_MAX_CLASSES]:
            text = f"storageClassName {now or '(none)'} → {storage_class}"
            if use.ephemeral:
                yield _of_volume(pod, index, text, storage_class)
            else:
                yield _of_claim(pod, facts.claim, text, storage_class, owner)


def _of_volume(pod: Pod, index: int, text: str, storage_class: str) -> Change:
    volume = pod.spec.volumes[index]
    ephemeral: Any = volume.ephemeral
    template = ephemeral.volumeClaimTemplate
    spec = _replace(template.spec, storageClassName=storage_class)
    new = _replace(volume, ephemeral=_replace(ephemeral, volumeClaimTemplate=_replace(template, spec=spec)))
    written = {"name": volume.name, "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": storage_class}}}}
    return Change(
        ChangeKind.STORAGE_CLASS,
        f"class of volume {volume.name}",
        f"volume {volume.name}: {text}",
        3,
        pod=with_spec(pod, volumes=replaced(pod.spec.volumes, index, new)),
        for_siblings=True,
        yaml=as_yaml({"volumes": [written]}),
    )


def _of_claim(pod: Pod, claim: PersistentVolumeClaim, text: str, storage_class: str, owner: Object | None) -> Change:
    name, namespace = claim.metadata.name, pod.metadata.namespace
    templates = owner.view.spec.volumeClaimTemplates if owner is not None and owner.kind is KINDS.STATEFUL_SET else ()
    positions = [index for index, one in enumerate(templates) if name == f"{one.metadata.name}-{pod.metadata.name}"]
    spec = {"spec": {"storageClassName": storage_class}}
    if not positions or owner is None:
        return Change(
            ChangeKind.STORAGE_CLASS,
            f"class of claim {name}",
            f"PersistentVolumeClaim {name} (recreated): {text}",
            3,
            recreated=(ObjectPatch(KINDS.PERSISTENT_VOLUME_CLAIM, namespace, name, spec),),
            for_siblings=True,
            yaml=as_yaml(spec),
        )
    (position,) = positions
    raw = owner.raw["spec"]["volumeClaimTemplates"]
    changed = {**raw[position], "spec": {**raw[position]["spec"], "storageClassName": storage_class}}
    template = templates[position].metadata.name
    return Change(
        ChangeKind.STORAGE_CLASS,
        f"class of claim template {template}",
        f"claim template {template} of StatefulSet {owner.name} (recreated): {text}",
        4,
        recreated=(
            ObjectPatch(
                KINDS.STATEFUL_SET,
                namespace,
                owner.name,
                {"spec": {"volumeClaimTemplates": list(replaced(raw, position, changed))}},
            ),
        ),
        for_siblings=True,
        yaml=as_yaml({"spec": {"volumeClaimTemplates": [{"metadata": {"name": template}, **spec}]}}),
    )
