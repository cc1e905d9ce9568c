"""ControllerRevisions: what a DaemonSet or StatefulSet looked like once.

In: views. Out: field errors. Kubernetes: ValidateControllerRevisionCreate, ValidateControllerRevisionUpdate.
"""

from moorage.admit.kinds.fields import validate_immutable, validate_not_negative
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.model.field_error import FieldError, required
from moorage.model.types.workload import ControllerRevision


def validate_controller_revision(revision: ControllerRevision, options: ValidationOptions) -> list[FieldError]:
    errors = _validate(revision)
    if revision.data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(revision.data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def validate_controller_revision_update(
    new: ControllerRevision, old: ControllerRevision, options: ValidationOptions
) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata") + _validate(new)
    return errors + validate_immutable(new.data, old.data, "data")


def _validate(revision: ControllerRevision) -> list[FieldError]:
    errors = validate_object_meta(revision.metadata, "metadata")
    return errors + validate_not_negative(revision.revision, "revision")
