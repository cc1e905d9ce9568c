"""Validate ReplicationControllers and PodTemplates.

Kubernetes: ValidateReplicationController, ValidatePodTemplate and their updates (pkg/apis/core/validation).
"""

from moorage.admit.kinds.fields import NOT_SELECTED, validate_always_restarts, validate_not_negative
from moorage.admit.kinds.row import KindRow, Rows, workload
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.pod import validate_pod_template
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.ratcheting import options_for_template_update
from moorage.admit.subresources import statuses
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.names import long_name_errors
from moorage.model.types.workload import ABSENT_TEMPLATE, PodTemplate, ReplicationController, ReplicationControllerSpec


def validate_replication_controller(controller: ReplicationController, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(controller.metadata, "metadata", name_rule=long_name_errors)
    yield from _validate_spec(controller.spec, options)


def validate_replication_controller_update(
    new: ReplicationController, old: ReplicationController, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec(new.spec, options)


def _validate_spec(spec: ReplicationControllerSpec, options: ValidationOptions) -> FieldErrors:
    yield from validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    if not spec.selector:
        yield field.required("spec.selector")
    if spec.replicas is None:
        yield field.required("spec.replicas")
    yield from validate_not_negative(spec.replicas, "spec.replicas")
    template = spec.template
    if template is ABSENT_TEMPLATE:
        yield field.required("spec.template")
        return
    labels = template.metadata.labels
    if not spec.selector.items() <= labels.items():
        yield field.invalid("spec.template.metadata.labels", AsJSON(labels), NOT_SELECTED)
    yield from validate_pod_template(template, "spec.template", options)
    yield from validate_always_restarts(template, "spec.template", "ReplicationController")


def validate_template(template: PodTemplate, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(template.metadata, "metadata")
    yield from validate_pod_template(template.template, "template", options)


def validate_template_update(new: PodTemplate, old: PodTemplate, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_pod_template(new.template, "template", options)


def _options(gates: GateSet, old: PodTemplate | None) -> ValidationOptions:
    return options_for_template_update(gates, None if old is None else old.template)


ROWS: Rows = {
    ReplicationController: workload(
        validate_replication_controller,
        validate_replication_controller_update,
        defaults.default_replication_controller,
        statuses.validate_replication_controller_status,
        strategies.prepare_replication_controller,
    ),
    PodTemplate: KindRow(
        validate_template,
        validate_template_update,
        defaults.default_pod_template,
        strategies.prepare_pod_template,
        _options,
        has_generation=True,
        counted="template",
    ),
}
