"""PodTemplates.

In: views. Out: field errors. Kubernetes: ValidatePodTemplate and ValidatePodTemplateUpdate.
"""

from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.pod import validate_pod_template
from moorage.admit.prepare import stored_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.ratcheting import options_for_template_update
from moorage.model.field_error import FieldErrors
from moorage.model.gates import GateSet
from moorage.model.types.workload import PodTemplate


def validate_template(found: PodTemplate, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(found.metadata, "metadata")
    yield from validate_pod_template(found.template, "template", options)


def validate_template_update(new: PodTemplate, old: PodTemplate, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_pod_template(new.template, "template", options)


def _options(gates: GateSet, old: PodTemplate | None) -> ValidationOptions:
    return options_for_template_update(gates, None if old is None else old.template)


ROWS: Rows = {
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
