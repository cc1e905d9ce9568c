"""Validate RuntimeClasses.

Kubernetes: ValidateRuntimeClass (pkg/apis/node/validation).
"""

from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.messages.internal_form import internal_form
from moorage.admit.metadata import validate_dns_label, validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.label_selectors import validate_labels
from moorage.admit.pod.resources import validate_resource_requirements
from moorage.admit.pod.tolerations import validate_tolerations
from moorage.admit.prepare.resource_defaults import round_up_lists
from moorage.admit.raw import Raw
from moorage.model.field_error import AsJSON, FieldErrors, duplicate, required
from moorage.model.types.container import ResourceRequirements
from moorage.model.types.policy import RuntimeClass, Scheduling


def default_runtime_class(runtime_class: Raw) -> None:
    round_up_lists(runtime_class.get("overhead"), "podFixed")


def validate_runtime_class(runtime_class: RuntimeClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(runtime_class.metadata, "metadata", namespaced=False, any_finalizer=True)
    if not runtime_class.handler:
        yield required("handler")
    else:
        yield from validate_dns_label(runtime_class.handler, "handler")
    if runtime_class.overhead is not None:
        limits = ResourceRequirements(limits=runtime_class.overhead.podFixed)
        yield from validate_resource_requirements(limits, "overhead", frozenset(), options)
    if runtime_class.scheduling is not None:
        yield from _validate_scheduling(runtime_class.scheduling, "scheduling", options)


def _validate_scheduling(scheduling: Scheduling, path: str, options: ValidationOptions) -> FieldErrors:
    yield from validate_labels(scheduling.nodeSelector, f"{path}.nodeSelector")
    yield from validate_tolerations(scheduling.tolerations, f"{path}.tolerations", options)
    seen = set()
    for index, toleration in enumerate(scheduling.tolerations):
        key = (toleration.key, toleration.operator, toleration.value, toleration.effect)
        if key in seen:
            yield duplicate(f"{path}.tolerations[{index}]", AsJSON(internal_form(toleration)))
        seen.add(key)


def validate_runtime_class_update(new: RuntimeClass, old: RuntimeClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_runtime_class(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata", any_finalizer=True)
    yield from validate_immutable(new.handler, old.handler, "handler")


ROWS: Rows = {RuntimeClass: KindRow(validate_runtime_class, validate_runtime_class_update, default_runtime_class)}
