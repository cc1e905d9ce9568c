"""Check what a node writes of pods: mirror pods without references, the status of its pods, deletions and evictions.

Kubernetes: admitPod, admitPodStatus and admitPodEviction of the NodeRestriction plugin, HasAPIObjectReference of
pkg/api/pod.
"""

from typing import Any

from moorage.admit.attributes import CREATE, DELETE, UPDATE, Write, not_in_cache
from moorage.admit.raw import Raw
from moorage.admit.world import AdmissionWorld
from moorage.match.volumes.object_references import config_maps_of, secrets_of
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.meta import OwnerReference
from moorage.model.types.pod import Pod
from moorage.model.types.storage import Volume
from moorage.model.types.volume_sources import VolumeProjection
from moorage.model.well_known.annotations import MIRROR_POD


def check_pod(world: AdmissionWorld, node: str, write: Write) -> None:
    """Raise ApiError if a node may not create or delete this pod; it may not update one."""
    if write.operation == CREATE:
        pod = _pod(write.new)
        if pod is not None:
            _check_mirror_pod(world, node, write, pod)
    elif write.operation == DELETE:
        if found_pod(world, write.namespace, write.name).spec.nodeName != node:
            raise write.refused(f"node {go_quote(node)} can only delete pods with spec.nodeName set to itself")
    else:
        only = f"node {go_quote(node)} can only create and delete mirror pods"
        raise write.refused(f"unexpected operation {go_quote(write.operation)}, {only}")


def found_pod(world: AdmissionWorld, namespace: str, name: str) -> Any:
    """Return a pod. Raises ApiError 404."""
    pod = world.find(KINDS.POD, namespace, name)
    if pod is None:
        raise not_in_cache(KINDS.POD, name)
    return pod


def _pod(document: Raw | None) -> Pod | None:
    """Return a pod; None for a document with fields of the wrong type, which is refused for that."""
    try:
        pod: Pod | None = None if document is None else convert_view(document, Pod)
    except ConversionError:
        return None
    return pod


def _check_mirror_pod(world: AdmissionWorld, node: str, write: Write, pod: Pod) -> None:
    who = f"node {go_quote(node)}"
    if MIRROR_POD not in pod.metadata.annotations:
        raise write.refused(f"pod does not have {go_quote(MIRROR_POD)} annotation, {who} can only create mirror pods")
    if pod.spec.nodeName != node:
        raise write.refused(f"{who} can only create pods with spec.nodeName set to itself")
    owners = pod.metadata.ownerReferences
    if len(owners) > 1:
        raise write.refused(f"{who} can only create pods with a single owner reference set to itself")
    if not owners or (owners[0].apiVersion, owners[0].kind, owners[0].name) != ("v1", "Node", node):
        raise write.refused(f"{who} can only create pods with an owner reference set to itself")
    _check_owner(world, node, write, owners[0])
    resource, error = referenced_resource(pod)
    if error:
        raise write.refused(f"error checking mirror pod for API references: {error}")
    if resource:
        raise write.refused(f"{who} can not create pods that reference {resource}")


def _check_owner(world: AdmissionWorld, node: str, write: Write, owner: OwnerReference) -> None:
    who = f"node {go_quote(node)}"
    if not owner.controller:
        raise write.refused(f"{who} can only create pods with a controller owner reference set to itself")
    if owner.blockOwnerDeletion:
        raise write.refused(f"{who} must not set blockOwnerDeletion on an owner reference")
    own = world.find(KINDS.NODE, "", node)
    if own is None:
        raise not_in_cache(KINDS.NODE, node)
    if owner.uid != own.metadata.uid:
        raise write.refused(f"node {node} UID mismatch: expected {owner.uid} got {own.metadata.uid}")


#: Sources of volumes that need nothing from the API. (Secrets that they may name are found before.)
_PLAIN_SOURCES = (
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
)
#: Sources of volumes that need an object of the API, in the order in which they are looked at.
_REFERRING_SOURCES = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_REFERRING_PROJECTIONS = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def referenced_resource(pod: Pod) -> tuple[str, str]:
    """Return the first resource that a pod refers to, or an error about a volume that cannot be judged."""
    spec = pod.spec
    if spec.serviceAccountName:
        return "serviceaccounts", ""
    if any(True for _ in secrets_of(spec)):
        return "secrets", ""
    if any(True for _ in config_maps_of(spec)):
        return "configmaps", ""
    if spec.resourceClaims:
        return "resourceclaims", ""
    for volume in spec.volumes:
        resource, error = _resource_of_volume(volume)
        if resource or error:
            return resource, error
    return "", ""


def _resource_of_volume(volume: Volume) -> tuple[str, str]:
    if any(getattr(volume, source) is not None for source in _PLAIN_SOURCES):
        return "", ""
    for source, resource in _REFERRING_SOURCES.items():
        if getattr(volume, source) is not None:
            return resource, ""
    if volume.projected is None:
        return "", f"unknown volume type for volume  {go_quote(volume.name)}"
    for projection in volume.projected.sources:
        resource = _resource_of_projection(projection)
        if resource:
            return resource, ""
        if projection.downwardAPI is None:
            return "", f"unknown source for projected volume {go_quote(volume.name)}"
    return "", ""


def _resource_of_projection(projection: VolumeProjection) -> str:
    resources = (name for source, name in _REFERRING_PROJECTIONS.items() if getattr(projection, source) is not None)
    return next(resources, "")


def check_pod_status(world: AdmissionWorld, node: str, write: Write) -> None:
    """Raise ApiError 403 if a node may not report this about a pod."""
    who = f"node {go_quote(node)}"
    if write.operation != UPDATE:
        raise write.refused(f"unexpected operation {go_quote(write.operation)}")
    old, new = _pod(write.old), _pod(write.new)
    if old is None or old.spec.nodeName != node:
        raise write.refused(f"{who} can only update pod status for pods with spec.nodeName set to itself")
    if new is None:
        return
    if old.metadata.labels != new.metadata.labels:
        raise write.refused(f"{who} cannot update labels through pod status")
    if old.status.resourceClaimStatuses != new.status.resourceClaimStatuses:
        raise write.refused(f"{who} cannot update resource claim statues")
    if old.status.extendedResourceClaimStatus != new.status.extendedResourceClaimStatus:
        raise write.refused(f"{who} cannot update extended resource claim status")


def check_eviction(world: AdmissionWorld, node: str, write: Write) -> None:
    """Raise ApiError if a node may not evict this pod."""
    if write.operation != CREATE:
        raise write.refused(f"unexpected operation {write.operation}")
    if found_pod(world, write.namespace, write.name).spec.nodeName != node:
        raise write.refused(f"node {node} can only evict pods with spec.nodeName set to itself")
