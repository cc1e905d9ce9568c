"""The table of what admission does to each kind: defaults, preparation, options, validation.

Kubernetes: the strategies of pkg/registry with what they call.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.admit.kinds import apps, cluster, config, event, job, persistent_volume, service, storage
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod.pod import validate_pod
from moorage.admit.pod.update import validate_pod_update
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies as strategy
from moorage.admit.prepare.mutate import prepare_pod_for_create, prepare_pod_for_update
from moorage.admit.prepare.pod_defaults import default_pod
from moorage.admit.ratcheting import (
    options_for_selector_update,
    options_for_template_update,
    options_for_update,
    options_for_volume_update,
)
from moorage.admit.raw import Raw
from moorage.model.field_error import FieldError
from moorage.model.gates import GateSet
from moorage.model.kinds import Kind
from moorage.model.types.core import ConfigMap, Namespace, Secret, Service, ServiceAccount
from moorage.model.types.event import Event, Lease
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget, PriorityClass
from moorage.model.types.reported_event import Event as ReportedEvent
from moorage.model.types.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
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

# Each function takes the view of its own kind, which the table cannot tell a type checker.
Validate = Callable[[Any, ValidationOptions], list[FieldError]]
ValidateUpdate = Callable[[Any, Any, ValidationOptions], list[FieldError]]
Prepare = Callable[[Raw, Raw | None, GateSet], None]


class KindRow(msgspec.Struct, frozen=True):
    """What admission does to objects of one kind: `default`, `prepare`, then `validate` or `validate_update`."""

    validate: Validate
    validate_update: ValidateUpdate
    default: Callable[[Raw], None] = lambda raw: None
    prepare: Prepare = strategy.prepare_nothing
    options: Callable[[GateSet, Any], ValidationOptions] = lambda gates, old: options_for_create(gates)
    has_generation: bool = False


def _prepare_pod(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None:
        prepare_pod_for_create(new, gates)
    else:
        prepare_pod_for_update(new, old, gates)


def _pod_options(gates: GateSet, old: Pod | None) -> ValidationOptions:
    if old is None:
        return options_for_create(gates, resource_is_pod=True)
    return options_for_update(gates, old.spec, old.metadata, resource_is_pod=True)


def _template_options(gates: GateSet, old: Any) -> ValidationOptions:
    return options_for_template_update(gates, None if old is None else old.spec.template)


def _selector_options(gates: GateSet, old: Any) -> ValidationOptions:
    if old is None:
        return options_for_create(gates)
    return options_for_selector_update(gates, old.spec.template, old.spec.selector)


def _cron_job_options(gates: GateSet, old: CronJob | None) -> ValidationOptions:
    return options_for_template_update(gates, None if old is None else old.spec.jobTemplate.spec.template)


def _workload(
    validate: Validate,
    validate_update: ValidateUpdate,
    default: Callable[[Raw], None],
    prepare: Prepare = strategy.prepare_workload,
    options: Callable[[GateSet, Any], ValidationOptions] = _template_options,
) -> KindRow:
    return KindRow(validate, validate_update, default, prepare, options, has_generation=True)


#: By the kind's view.
REGISTRY: dict[type[View], KindRow] = {
    Pod: KindRow(validate_pod, validate_pod_update, default_pod, _prepare_pod, _pod_options, has_generation=True),
    Deployment: _workload(apps.validate_deployment, apps.validate_deployment_update, defaults.default_deployment),
    ReplicaSet: _workload(apps.validate_replica_set, apps.validate_replica_set_update, defaults.default_replica_set),
    StatefulSet: _workload(
        apps.validate_stateful_set,
        apps.validate_stateful_set_update,
        defaults.default_stateful_set,
        strategy.prepare_stateful_set,
    ),
    DaemonSet: _workload(
        apps.validate_daemon_set,
        apps.validate_daemon_set_update,
        defaults.default_daemon_set,
        strategy.prepare_daemon_set,
        _selector_options,
    ),
    ControllerRevision: KindRow(apps.validate_controller_revision, apps.validate_controller_revision_update),
    Job: _workload(
        job.validate_job, job.validate_job_update, defaults.default_job, strategy.prepare_job, _selector_options
    ),
    CronJob: _workload(
        job.validate_cron_job,
        job.validate_cron_job_update,
        defaults.default_cron_job,
        strategy.prepare_cron_job,
        _cron_job_options,
    ),
    Node: KindRow(cluster.validate_node, cluster.validate_node_update, defaults.default_node, strategy.prepare_node),
    PersistentVolume: KindRow(
        persistent_volume.validate_persistent_volume,
        persistent_volume.validate_persistent_volume_update,
        defaults.default_persistent_volume,
        strategy.prepare_volume,
        options_for_volume_update,
    ),
    PersistentVolumeClaim: KindRow(
        storage.validate_claim, storage.validate_claim_update, defaults.default_claim, strategy.prepare_claim
    ),
    StorageClass: KindRow(
        cluster.validate_storage_class,
        cluster.validate_storage_class_update,
        defaults.default_storage_class,
    ),
    Namespace: KindRow(
        cluster.validate_namespace,
        cluster.validate_namespace_update,
        defaults.default_namespace,
        strategy.prepare_namespace,
    ),
    PriorityClass: KindRow(
        cluster.validate_priority_class,
        cluster.validate_priority_class_update,
        defaults.default_priority_class,
    ),
    PodDisruptionBudget: KindRow(
        cluster.validate_disruption_budget,
        cluster.validate_disruption_budget_update,
        prepare=strategy.prepare_disruption_budget,
        has_generation=True,
    ),
    ConfigMap: KindRow(config.validate_config_map, config.validate_config_map_update),
    Secret: KindRow(
        config.validate_secret,
        config.validate_secret_update,
        defaults.default_secret,
        strategy.prepare_secret,
    ),
    Service: KindRow(
        service.validate_service,
        service.validate_service_update,
        defaults.default_service,
        strategy.prepare_service,
    ),
    ServiceAccount: KindRow(
        config.validate_service_account,
        config.validate_service_account_update,
        prepare=strategy.prepare_service_account,
    ),
    Lease: KindRow(event.validate_lease, event.validate_lease_update, prepare=strategy.prepare_lease),
    Event: KindRow(event.validate_event, event.validate_event_update),
    ReportedEvent: KindRow(event.validate_reported_event, event.validate_reported_event_update),
    CSIDriver: KindRow(
        storage.validate_csi_driver,
        storage.validate_csi_driver_update,
        defaults.default_csi_driver,
        strategy.prepare_csi_driver,
        has_generation=True,
    ),
    CSINode: KindRow(storage.validate_csi_node, storage.validate_csi_node_update),
    CSIStorageCapacity: KindRow(storage.validate_storage_capacity, storage.validate_storage_capacity_update),
    VolumeAttachment: KindRow(
        storage.validate_volume_attachment,
        storage.validate_volume_attachment_update,
        prepare=strategy.prepare_volume_attachment,
    ),
}


def row_of(kind: Kind) -> KindRow:
    """Return the row of a kind of the table `KINDS`, each of which has one."""
    return REGISTRY[kind.view]
