"""List the API objects that a pod or a PersistentVolume refers to: secrets, ConfigMaps, claims.

What a kubelet may read follows from these, and what a mirror pod may not have. Kubernetes: VisitPodSecretNames and
VisitPodConfigmapNames of pkg/api/pod, VisitPVSecretNames of pkg/api/v1/persistentvolume, resourceclaim.Name.
"""

from collections.abc import Iterator
from typing import Any

from moorage.model.types.pod import Pod, PodSpec
from moorage.model.types.storage import PersistentVolumeSpec, Volume

#: The sources that may name a secret, in the order of Kubernetes: of a volume with several sources the first counts.
_SOURCES_WITH_SECRETS = (
    "azureFile",
    "cephfs",
    "cinder",
    "flexVolume",
    "projected",
    "rbd",
    "secret",
    "scaleIO",
    "iscsi",
    "storageos",
    "csi",
)
#: Sources of PersistentVolumes whose secret is in the namespace of the claim if it names none.
_IN_NAMESPACE_OF_CLAIM = ("cephfs", "flexVolume", "rbd", "scaleIO", "iscsi")
#: The secrets of a CSI volume that are for nodes; those for the driver's controller are not.
_CSI_SECRETS_OF_NODES = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")


def secrets_of(spec: PodSpec) -> Iterator[str]:
    """Yield the names of the secrets that a pod refers to itself, some of them several times."""
    names = (reference.name for reference in spec.imagePullSecrets)
    yield from filter(None, (*names, *_in_containers(spec, "secretRef", "secretKeyRef")))
    for volume in spec.volumes:
        yield from filter(None, _secrets_of_volume(volume))


def config_maps_of(spec: PodSpec) -> Iterator[str]:
    """Yield the names of the ConfigMaps that a pod refers to."""
    yield from filter(None, _in_containers(spec, "configMapRef", "configMapKeyRef"))
    for volume in spec.volumes:
        if volume.projected is not None:
            sources = (source.configMap for source in volume.projected.sources)
            yield from (config_map.name for config_map in sources if config_map is not None and config_map.name)
        elif volume.configMap is not None and volume.configMap.name:
            yield volume.configMap.name


def _in_containers(spec: PodSpec, whole: str, key: str) -> Iterator[str]:
    """Yield the names in the environment of containers: of whole objects, and of single keys."""
    for container in (*spec.initContainers, *spec.containers, *spec.ephemeralContainers):
        for source in container.envFrom:
            if (reference := getattr(source, whole)) is not None:
                yield reference.name
        for variable in container.env:
            if variable.valueFrom is not None and (reference := getattr(variable.valueFrom, key)) is not None:
                yield reference.name


def _secrets_of_volume(volume: Volume) -> Iterator[str]:
    for name in _SOURCES_WITH_SECRETS:
        source: Any = getattr(volume, name)
        if source is None:
            continue
        if name in ("azureFile", "secret"):
            yield source.secretName
        elif name == "projected":
            yield from (projected.secret.name for projected in source.sources if projected.secret is not None)
        else:
            reference = source.nodePublishSecretRef if name == "csi" else source.secretRef
            if reference is not None:
                yield reference.name
        return


def volume_claims_of(pod: Pod) -> Iterator[str]:
    """Yield the names of a pod's PersistentVolumeClaims, also of those that are made for its ephemeral volumes."""
    for volume in pod.spec.volumes:
        if volume.persistentVolumeClaim is not None:
            if volume.persistentVolumeClaim.claimName:
                yield volume.persistentVolumeClaim.claimName
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}"


def resource_claims_of(pod: Pod) -> Iterator[str]:
    """Yield the names of a pod's ResourceClaims. Those made from a template are known once the status names them."""
    for claim in pod.spec.resourceClaims:
        if claim.resourceClaimName is not None:
            yield claim.resourceClaimName
        elif claim.resourceClaimTemplateName is not None:
            statuses = (status for status in pod.status.resourceClaimStatuses if status.name == claim.name)
            status = next(statuses, None)
            if status is not None and status.resourceClaimName is not None:
                yield status.resourceClaimName


def secrets_of_volume(spec: PersistentVolumeSpec) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of the secrets of a PersistentVolume that nodes need."""
    claims_namespace = spec.claimRef.namespace if spec.claimRef is not None else ""
    for name in _SOURCES_WITH_SECRETS:
        source: Any = getattr(spec, name, None)
        if source is None:
            continue
        if name == "azureFile":
            if source.secretName:
                yield source.secretNamespace or claims_namespace, source.secretName
        elif name == "csi":
            for field in _CSI_SECRETS_OF_NODES:
                reference = getattr(source, field)
                if reference is not None and reference.name:
                    yield reference.namespace, reference.name
        elif source.secretRef is not None and source.secretRef.name:
            namespace = source.secretRef.namespace
            if not namespace and name in _IN_NAMESPACE_OF_CLAIM:
                namespace = claims_namespace
            yield namespace, source.secretRef.name
        return
