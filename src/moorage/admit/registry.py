"""Find what admission does to a kind: the rows of all kinds together.

Kubernetes: the strategies of pkg/registry with what they call.
"""

from importlib import import_module

from moorage.admit.kinds import apps, cluster, config, event
from moorage.admit.kinds.network import service
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod.pod import validate_pod, validate_pod_update
from moorage.admit.prepare.mutate import prepare_pod_for_create, prepare_pod_for_update
from moorage.admit.prepare.pod_defaults import default_pod
from moorage.admit.ratcheting import options_for_update
from moorage.admit.raw import Raw
from moorage.admit.subresources.statuses import validate_pod_status_update
from moorage.model.field_error import FieldErrors
from moorage.model.gates import GateSet
from moorage.model.kinds import Kind
from moorage.model.types.pod import Pod
from moorage.model.types.view import View


def _prepare_pod(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None:
        prepare_pod_for_create(new, gates)
    else:
        prepare_pod_for_update(new, old, gates)


def _pod_options(gates: GateSet, old: Pod | None) -> ValidationOptions:
    if old is None:
        return options_for_create(gates, resource_is_pod=True)
    return options_for_update(gates, old.spec, old.metadata, resource_is_pod=True)


def _validate_pod_status(new: Pod, old: Pod, gates: GateSet) -> FieldErrors:
    return validate_pod_status_update(new, old, _pod_options(gates, old))


#: Modules of `moorage.admit.kinds` that are imported with the first object of one of their kinds. What they need takes
#: longer to import than most commands take.
_IMPORTED_LATER = {
    "api_server.certificates": ("CertificateSigningRequest",),
    "api_server.rbac": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "devices.claims": (
        "DeviceClass",
        "DeviceTaintRule",
        "ResourceClaim",
        "ResourceClaimTemplate",
    ),
    "devices.slices": ("ResourceSlice",),
    "api_server.admission_policies": (
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ),
    "api_server.api_service": ("APIService",),
    "api_server.custom_resource_definitions": ("CustomResourceDefinition",),
    "api_server.flow_control": ("FlowSchema", "PriorityLevelConfiguration"),
    "api_server.webhooks": ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
    "job": ("CronJob", "Job"),
    "network.endpoints": ("Endpoints", "EndpointSlice"),
    "network.ingress": (
        "IPAddress",
        "Ingress",
        "IngressClass",
        "ServiceCIDR",
    ),
    "network.network_policy": ("NetworkPolicy",),
    "persistent_volume": ("PersistentVolume",),
    "quotas": (
        "LimitRange",
        "ResourceQuota",
        "RuntimeClass",
    ),
    "replication_controller": (
        "PodTemplate",
        "ReplicationController",
    ),
    "autoscaler": ("HorizontalPodAutoscaler",),
    "storage": ("CSIDriver", "CSINode", "CSIStorageCapacity", "PersistentVolumeClaim", "VolumeAttachment"),
}
#: A kind → the module of its row.
HOMES = {name: module for module, names in _IMPORTED_LATER.items() for name in names}


class _Registry(dict[type[View], KindRow]):
    """Rows by the kind's view."""

    def __missing__(self, view: type[View]) -> KindRow:
        self.update(import_module(f"moorage.admit.kinds.{HOMES[view.__name__]}").ROWS)
        return self[view]


_COMMON: Rows = {
    Pod: KindRow(
        validate_pod,
        validate_pod_update,
        default_pod,
        _prepare_pod,
        _pod_options,
        _validate_pod_status,
        has_generation=True,
    ),
    **apps.ROWS,
    **cluster.ROWS,
    **config.ROWS,
    **event.ROWS,
    **service.ROWS,
}
REGISTRY: Rows = _Registry(_COMMON)


def row_of(kind: Kind) -> KindRow:
    """Return the row of a kind of the table `KINDS`, each of which has one."""
    return REGISTRY[kind.view]
