"""The table of kinds: what admission does to each, one row a kind.

In: the name of a kind. Out: its row: defaults, preparation, options, validation at creation and at updates.
Kubernetes: the strategies of pkg/registry with what they call.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.admit.kinds import cluster as cluster_rules
from moorage.admit.kinds import (
    config,
    controller_revision,
    cron_job,
    daemon_set,
    deployment,
    disruption_budget,
    event,
    job,
    node,
    service,
    stateful_set,
)
from moorage.admit.kinds.storage import claim, csi, persistent_volume
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod import validate_pod
from moorage.admit.pod.update import validate_pod_update
from moorage.admit.prepare import config_strategy
from moorage.admit.prepare import workload_strategy as strategy
from moorage.admit.prepare.claim_strategy import prepare_claim
from moorage.admit.prepare.defaults import cluster, storage, workloads
from moorage.admit.prepare.defaults import config as config_defaults
from moorage.admit.prepare.defaults.pod import default_pod
from moorage.admit.prepare.mutate import prepare_pod_for_create, prepare_pod_for_update
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
from moorage.model.types.pod import Pod
from moorage.model.types.storage.persistent_volume import PersistentVolume
from moorage.model.types.workload import CronJob

_NAMED_WITH_GROUP = {"events.k8s.io/v1": "Event.events.k8s.io"}

# Each function takes the view of its own kind, which the table cannot tell a type checker.
Validate = Callable[[Any, ValidationOptions], list[FieldError]]
ValidateUpdate = Callable[[Any, Any, ValidationOptions], list[FieldError]]


class KindRow(msgspec.Struct, frozen=True):
    """What admission does to objects of one kind, in this order."""

    default: Callable[[Raw], None]
    prepare: Callable[[Raw, Raw | None, GateSet], None]
    options: Callable[[GateSet, Any], ValidationOptions]
    validate: Validate
    validate_update: ValidateUpdate
    has_generation: bool = False


def _no_defaults(raw: Raw) -> None:
    """For kinds that have none."""


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


def _volume_options(gates: GateSet, old: PersistentVolume | None) -> ValidationOptions:
    return options_for_volume_update(gates, old)


def _gate_options(gates: GateSet, old: Any) -> ValidationOptions:
    return options_for_create(gates)


def _workload(
    default: Callable[[Raw], None],
    validate: Validate,
    validate_update: ValidateUpdate,
    prepare: Callable[[Raw, Raw | None, GateSet], None] = strategy.prepare_workload,
    options: Callable[[GateSet, Any], ValidationOptions] = _template_options,
) -> KindRow:
    return KindRow(default, prepare, options, validate, validate_update, has_generation=True)


REGISTRY: dict[str, KindRow] = {
    "Pod": KindRow(default_pod, _prepare_pod, _pod_options, validate_pod, validate_pod_update, has_generation=True),
    "Deployment": _workload(
        workloads.default_deployment, deployment.validate_deployment, deployment.validate_deployment_update
    ),
    "ReplicaSet": _workload(
        workloads.default_replica_set, deployment.validate_replica_set, deployment.validate_replica_set_update
    ),
    "StatefulSet": _workload(
        workloads.default_stateful_set,
        stateful_set.validate_stateful_set,
        stateful_set.validate_stateful_set_update,
        strategy.prepare_stateful_set,
    ),
    "DaemonSet": _workload(
        workloads.default_daemon_set,
        daemon_set.validate_daemon_set,
        daemon_set.validate_daemon_set_update,
        strategy.prepare_daemon_set,
        _selector_options,
    ),
    "ControllerRevision": KindRow(
        _no_defaults,
        strategy.prepare_nothing,
        _gate_options,
        controller_revision.validate_controller_revision,
        controller_revision.validate_controller_revision_update,
    ),
    "Job": _workload(
        workloads.default_job, job.validate_job, job.validate_job_update, strategy.prepare_job, _selector_options
    ),
    "CronJob": _workload(
        workloads.default_cron_job,
        cron_job.validate_cron_job,
        cron_job.validate_cron_job_update,
        strategy.prepare_cron_job,
        _cron_job_options,
    ),
    "Node": KindRow(
        cluster.default_node, strategy.prepare_node, _gate_options, node.validate_node, node.validate_node_update
    ),
    "PersistentVolume": KindRow(
        storage.default_persistent_volume,
        strategy.prepare_volume,
        _volume_options,
        persistent_volume.validate_persistent_volume,
        persistent_volume.validate_persistent_volume_update,
    ),
    "PersistentVolumeClaim": KindRow(
        storage.default_claim,
        prepare_claim,
        _gate_options,
        claim.validate_claim,
        claim.validate_claim_update,
    ),
    "StorageClass": KindRow(
        storage.default_storage_class,
        strategy.prepare_nothing,
        _gate_options,
        cluster_rules.validate_storage_class,
        cluster_rules.validate_storage_class_update,
    ),
    "Namespace": KindRow(
        cluster.default_namespace,
        strategy.prepare_namespace,
        _gate_options,
        cluster_rules.validate_namespace,
        cluster_rules.validate_namespace_update,
    ),
    "PriorityClass": KindRow(
        cluster.default_priority_class,
        strategy.prepare_nothing,
        _gate_options,
        cluster_rules.validate_priority_class,
        cluster_rules.validate_priority_class_update,
    ),
    "PodDisruptionBudget": KindRow(
        _no_defaults,
        strategy.prepare_disruption_budget,
        _gate_options,
        disruption_budget.validate_disruption_budget,
        disruption_budget.validate_disruption_budget_update,
        has_generation=True,
    ),
    "ConfigMap": KindRow(
        _no_defaults,
        strategy.prepare_nothing,
        _gate_options,
        config.validate_config_map,
        config.validate_config_map_update,
    ),
    "Secret": KindRow(
        config_defaults.default_secret,
        config_strategy.prepare_secret,
        _gate_options,
        config.validate_secret,
        config.validate_secret_update,
    ),
    "Service": KindRow(
        config_defaults.default_service,
        config_strategy.prepare_service,
        _gate_options,
        service.validate_service,
        service.validate_service_update,
    ),
    "ServiceAccount": KindRow(
        _no_defaults,
        config_strategy.prepare_service_account,
        _gate_options,
        config.validate_service_account,
        config.validate_service_account_update,
    ),
    "Lease": KindRow(
        _no_defaults,
        config_strategy.prepare_lease,
        _gate_options,
        event.validate_lease,
        event.validate_lease_update,
    ),
    "Event": KindRow(
        _no_defaults, strategy.prepare_nothing, _gate_options, event.validate_event, event.validate_event_update
    ),
    "Event.events.k8s.io": KindRow(
        _no_defaults,
        strategy.prepare_nothing,
        _gate_options,
        event.validate_reported_event,
        event.validate_reported_event_update,
    ),
    "CSIDriver": KindRow(
        config_defaults.default_csi_driver,
        config_strategy.prepare_csi_driver,
        _gate_options,
        csi.validate_csi_driver,
        csi.validate_csi_driver_update,
        has_generation=True,
    ),
    "CSINode": KindRow(
        _no_defaults, strategy.prepare_nothing, _gate_options, csi.validate_csi_node, csi.validate_csi_node_update
    ),
    "CSIStorageCapacity": KindRow(
        _no_defaults,
        strategy.prepare_nothing,
        _gate_options,
        csi.validate_storage_capacity,
        csi.validate_storage_capacity_update,
    ),
    "VolumeAttachment": KindRow(
        _no_defaults,
        config_strategy.prepare_volume_attachment,
        _gate_options,
        csi.validate_volume_attachment,
        csi.validate_volume_attachment_update,
    ),
}


def row_of(kind: Kind) -> KindRow | None:
    """The row of a kind; of the two groups that have Events, the newer one's is named with its group."""
    return REGISTRY.get(_NAMED_WITH_GROUP.get(kind.api_version, kind.name))
