"""Paths inside volumes and on nodes: relative where they must be, and never upwards.

In: a path as written, the field's path. Out: field errors. Kubernetes: validateLocalDescendingPath,
validatePathNoBacksteps, ValidateLocalNonReservedPath.
"""

from moorage.model.field_error import FieldError, invalid

NO_BACKSTEPS = "must not contain '..'"


def has_backsteps(value: str) -> bool:
    return ".." in value and ".." in value.split("/")


def validate_no_backsteps(value: str, path: str) -> list[FieldError]:
    return [invalid(path, value, NO_BACKSTEPS)] if has_backsteps(value) else []


def validate_descending_path(value: str, path: str) -> list[FieldError]:
    """Relative, and without `..` as an element."""
    errors = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return errors + validate_no_backsteps(value, path)


def validate_local_path(value: str, path: str) -> list[FieldError]:
    """Descending, and not beginning with `..`, which the kubelet reserves for its own files."""
    errors = validate_descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors
