"""Translate disks of the old in-tree plugins to the CSI drivers that took over: driver, handle and node affinity.

Only on nodes that say in their CSINode that the plugin has moved is anything translated.
Kubernetes: csi-translation-lib. Differs: a disk that it could not translate is one that is not counted.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.storage import PersistentVolume
from moorage.model.well_known.labels import BETA_REGION, BETA_ZONE, REGION, ZONE

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_ZONE_DELIMITER = "__"
_UNSPECIFIED = "UNSPECIFIED"


class Attachable(msgspec.Struct, frozen=True):
    """A volume that takes one of a driver's places on a node; with `plugin`, only where that plugin has moved."""

    driver: str
    handle: str
    plugin: str = ""


class _Plugin(msgspec.Struct, frozen=True):
    """An in-tree plugin: its field in a volume, the driver that took over, the driver's zone label, the handle."""

    name: str
    source: str
    driver: str
    topology_key: str
    handle: Callable[[Any, dict[str, str]], str]


def _aws_handle(source: Any, labels: dict[str, str]) -> str:
    volume_id: str = source.volumeID
    if not volume_id.startswith("aws://"):
        return volume_id
    disk = volume_id.removeprefix("aws://").partition("/")[2].strip("/")
    return disk if disk.startswith("vol-") and "/" not in disk else ""


def _gce_handle(source: Any, labels: dict[str, str]) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(_ZONE_DELIMITER)
    if len(zones) == 1:
        return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{source.pdName}"
    regions = {zone.rpartition("-")[0] for zone in zones}
    return f"projects/{_UNSPECIFIED}/regions/{regions.pop()}/disks/{source.pdName}" if len(regions) == 1 else ""


def _azure_handle(source: Any, labels: dict[str, str]) -> str:
    return source.diskURI if source.kind is None or source.kind.lower() == "managed" else ""


def _same_handle(source: Any, labels: dict[str, str]) -> str:
    handle: str = source.volumeID
    return handle


_PLUGINS = (
    _Plugin(
        "kubernetes.io/aws-ebs",
        "awsElasticBlockStore",
        "ebs.csi.aws.com",
        "topology.ebs.csi.aws.com/zone",
        _aws_handle,
    ),
    _Plugin("kubernetes.io/gce-pd", "gcePersistentDisk", "pd.csi.storage.gke.io", "topology.gke.io/zone", _gce_handle),
    _Plugin("kubernetes.io/azure-disk", "azureDisk", "disk.csi.azure.com", "", _azure_handle),
    _Plugin(
        "kubernetes.io/cinder",
        "cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
        _same_handle,
    ),
    _Plugin("kubernetes.io/portworx-volume", "portworxVolume", "pxd.portworx.com", "", _same_handle),
)
_BY_NAME = {plugin.name: plugin for plugin in _PLUGINS}
# Drivers took over from these as well, but no node's places are counted for them.
_NEVER_COUNTED = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})


#: The sources of these, whose drivers are counted nowhere.
_OTHER_DRIVERS = {"azureFile": "file.csi.azure.com", "vsphereVolume": "csi.vsphere.vmware.com"}


class NotTranslatable(ValueError):
    """A volume of an in-tree plugin that its CSI driver cannot be given, with the reason."""


def migrated_driver(source: Any) -> str:
    """Return the CSI driver that took over the plugin of a pod's volume or a PersistentVolume's spec, if any.

    Raises NotTranslatable for a name that is not that of a disk.
    """
    disk = source.awsElasticBlockStore
    if disk is not None and disk.volumeID.startswith("aws://") and not _aws_handle(disk, {}):
        why = f"Invalid format for AWS volume ({disk.volumeID})"
        raise NotTranslatable(f"failed to translate Kubernetes ID to EBS Volume ID {why}")
    drivers = {**{plugin.source: plugin.driver for plugin in _PLUGINS}, **_OTHER_DRIVERS}
    return next((driver for name, driver in drivers.items() if getattr(source, name) is not None), "")


def moved_disk(source: Any, labels: dict[str, str]) -> Attachable | None:
    """Return the disk in a pod's volume (without labels) or a PersistentVolume's spec, if a driver took it over."""
    for plugin in _PLUGINS:
        disk = getattr(source, plugin.source)
        if disk is not None:
            handle = plugin.handle(disk, labels)
            return Attachable(plugin.driver, handle, plugin.name) if handle else None
    return None


def provisioned_disk(provisioner: str, handle: str) -> Attachable | None:
    """Return a disk that a StorageClass's provisioner has yet to make."""
    if provisioner in _NEVER_COUNTED or not provisioner:
        return None
    plugin = _BY_NAME.get(provisioner)
    return Attachable(provisioner, handle) if plugin is None else Attachable(plugin.driver, handle, plugin.name)


def moved_affinity(volume: PersistentVolume) -> tuple[str, NodeSelector] | None:
    """Return the plugin of an in-tree volume and its node affinity where the plugin has moved, if that differs."""
    plugin = next((row for row in _PLUGINS if getattr(volume.spec, row.source) is not None), None)
    if plugin is None or not plugin.topology_key:
        return None
    affinity = volume.spec.nodeAffinity
    required = affinity.required if affinity is not None else None
    terms = required.nodeSelectorTerms if required is not None else ()
    labels = volume.metadata.labels
    used = {expression.key for term in terms for expression in term.matchExpressions}
    old = ZONE not in used and (BETA_ZONE in used or (ZONE not in labels and BETA_ZONE in labels))
    zone_key = BETA_ZONE if old else ZONE
    renamed = {BETA_REGION: REGION} if old else {}
    added: tuple[NodeSelectorRequirement, ...] = ()
    if any(e.values for term in terms for e in term.matchExpressions if e.key == zone_key):
        renamed[zone_key] = plugin.topology_key
    elif zone_key in labels:
        zones = sorted({zone.strip() for zone in labels[zone_key].split(_ZONE_DELIMITER)} - {""})
        added = (NodeSelectorRequirement(plugin.topology_key, "In", tuple(zones)),) if zones else ()
    if not added and not renamed.keys() & used:
        return None
    moved = [_moved_term(term, renamed, added) for term in terms or (NodeSelectorTerm(),)]
    return plugin.name, NodeSelector(tuple(moved))


def _moved_term(
    term: NodeSelectorTerm, renamed: dict[str, str], added: tuple[NodeSelectorRequirement, ...]
) -> NodeSelectorTerm:
    expressions = tuple(
        msgspec.structs.replace(expression, key=renamed.get(expression.key, expression.key))
        for expression in term.matchExpressions
    )
    return msgspec.structs.replace(term, matchExpressions=expressions + added)
