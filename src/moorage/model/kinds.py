"""The kinds Moorage knows: their views, whether they live in namespaces, and where their pod template is.

In: raw documents. Out: facts about their kind, typed views, unknown fields. Kubernetes: the scheme and the REST
mapping. Differs: kinds that are not listed are no error; they are only not looked into.
"""

from typing import Any, NamedTuple

from moorage.model.schema.conversion import ConversionError, TypeProblem, convert_view
from moorage.model.schema.unknown_fields import UnknownField, unknown_fields
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.documents import Document
from moorage.model.types.config import ConfigMap, Secret
from moorage.model.types.event import Event
from moorage.model.types.lease import Lease
from moorage.model.types.namespace import Namespace
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget, PriorityClass
from moorage.model.types.reported_event import Event as ReportedEvent
from moorage.model.types.service import Service, ServiceAccount
from moorage.model.types.storage.csi import CSIDriver, CSINode, CSIStorageCapacity, VolumeAttachment
from moorage.model.types.storage.persistent_volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.model.types.view import View
from moorage.model.types.workload import (
    ControllerRevision,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    StatefulSet,
)

__all__ = [
    "KINDS",
    "ConversionError",
    "Kind",
    "TypeProblem",
    "UnknownField",
    "decode_errors",
    "kind_of",
    "unknown_fields",
    "view_of",
]


class Kind(NamedTuple):
    """What is known of a kind. `template` are the steps to its pod template; a pod is none and has none."""

    api_version: str
    name: str
    plural: str
    namespaced: bool
    view: type[View]
    template: tuple[str, ...] | None = None

    @property
    def group(self) -> str:
        """The API group, which is empty for the core group."""
        return self.api_version.rpartition("/")[0]


_TEMPLATE = ("spec", "template")

KINDS: dict[tuple[str, str], Kind] = {
    (kind.api_version, kind.name): kind
    for kind in (
        Kind("v1", "Pod", "pods", True, Pod),
        Kind("v1", "Node", "nodes", False, Node),
        Kind("v1", "Namespace", "namespaces", False, Namespace),
        Kind("v1", "PersistentVolume", "persistentvolumes", False, PersistentVolume),
        Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, PersistentVolumeClaim),
        Kind("v1", "ConfigMap", "configmaps", True, ConfigMap),
        Kind("v1", "Secret", "secrets", True, Secret),
        Kind("v1", "Service", "services", True, Service),
        Kind("v1", "ServiceAccount", "serviceaccounts", True, ServiceAccount),
        Kind("events.k8s.io/v1", "Event", "events", True, ReportedEvent),
        Kind("v1", "Event", "events", True, Event),
        Kind("coordination.k8s.io/v1", "Lease", "leases", True, Lease),
        Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", False, StorageClass),
        Kind("storage.k8s.io/v1", "CSINode", "csinodes", False, CSINode),
        Kind("storage.k8s.io/v1", "CSIDriver", "csidrivers", False, CSIDriver),
        Kind("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", True, CSIStorageCapacity),
        Kind("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", False, VolumeAttachment),
        Kind("apps/v1", "Deployment", "deployments", True, Deployment, _TEMPLATE),
        Kind("apps/v1", "ReplicaSet", "replicasets", True, ReplicaSet, _TEMPLATE),
        Kind("apps/v1", "StatefulSet", "statefulsets", True, StatefulSet, _TEMPLATE),
        Kind("apps/v1", "DaemonSet", "daemonsets", True, DaemonSet, _TEMPLATE),
        Kind("apps/v1", "ControllerRevision", "controllerrevisions", True, ControllerRevision),
        Kind("batch/v1", "Job", "jobs", True, Job, _TEMPLATE),
        Kind("batch/v1", "CronJob", "cronjobs", True, CronJob, ("spec", "jobTemplate", *_TEMPLATE)),
        Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False, PriorityClass),
        Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", True, PodDisruptionBudget),
    )
}


def kind_of(raw: dict[str, Any]) -> Kind | None:
    """The facts about a document's kind, or None if Moorage does not know the kind."""
    return KINDS.get((raw.get("apiVersion", ""), raw.get("kind", "")))


def view_of(raw: dict[str, Any]) -> View | None:
    """The typed view of a document, or None if Moorage does not know its kind. Raises ConversionError."""
    kind = kind_of(raw)
    return None if kind is None else convert_view(raw, kind.view)


def decode_errors(document: Document, error: ConversionError) -> list[DecodeError]:
    """The problems of a conversion, each with the line it is in."""
    return [document.error(problem.reason, Problem.TYPE, problem.path) for problem in error.problems]
