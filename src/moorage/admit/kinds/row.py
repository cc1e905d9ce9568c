"""Define the row of a kind: what admission does to its objects.

Kubernetes: the strategies of pkg/registry with what they call.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from moorage.admit.metadata import validate_object_meta_update
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.prepare import strategies
from moorage.admit.ratcheting import options_for_selector_update, options_for_template_update
from moorage.admit.raw import Raw
from moorage.model.field_error import FieldErrors
from moorage.model.gates import GateSet
from moorage.model.types.view import View

# Each function takes the view of its own kind, which the row cannot tell a type checker.
Validate: TypeAlias = Callable[[Any, ValidationOptions], FieldErrors]
ValidateUpdate: TypeAlias = Callable[[Any, Any, ValidationOptions], FieldErrors]
ValidateStatus: TypeAlias = Callable[[Any, Any, GateSet], FieldErrors]
Default: TypeAlias = Callable[[Raw], None]
Prepare: TypeAlias = Callable[[Raw, Raw | None, GateSet], None]
Stamp: TypeAlias = Callable[[Raw, Raw | None, str], None]
#: The labels of a namespace, or None if there is no such namespace.
NamespaceLabels: TypeAlias = Callable[[str], Mapping[str, str] | None]
Authorize: TypeAlias = Callable[[Any, NamespaceLabels], FieldErrors]
AuthorizeStatus: TypeAlias = Callable[[Any, Any, NamespaceLabels], FieldErrors]
PrepareStatus: TypeAlias = Callable[[Raw, Raw, GateSet], None]
Options: TypeAlias = Callable[[GateSet, Any], ValidationOptions]


class KindRow(msgspec.Struct, frozen=True):
    """What admission does to objects of one kind: `default`, `prepare`, then `validate` or `validate_update`.

    `validate_status` is for writes to the status subresource, of kinds that have one, after `prepare_status`; with
    `default_status` the rest of the object is not defaulted again. `stamp` and `stamp_status` write times, where
    the API server's clock is known. `authorize` and `authorize_status` say what the namespace does not allow.
    """

    validate: Validate
    validate_update: ValidateUpdate
    default: Default = lambda raw: None
    prepare: Prepare = strategies.prepare_nothing
    options: Options = lambda gates, old: options_for_create(gates)
    validate_status: ValidateStatus | None = None
    has_generation: bool = False
    #: The field that the generation counts the changes of.
    counted: str = "spec"
    #: Whether the generation counts changes of annotations as well.
    counts_annotations: bool = False
    prepare_status: PrepareStatus = strategies.prepare_nothing
    default_status: Default | None = None
    stamp: Stamp | None = None
    stamp_status: Stamp | None = None
    authorize: Authorize | None = None
    authorize_status: AuthorizeStatus | None = None
    warnings: Callable[[Any], list[str]] = lambda view: []
    create_warnings: Callable[[Any], list[str]] = lambda view: []
    #: Warnings of the new view that also depend on the old one, which is None on creation.
    warnings_of_change: Callable[[Any, Any], list[str]] = lambda new, old: []
    #: Whether `validate_update` looks at the metadata, which are checked for every kind as well.
    checks_metadata: bool = True
    #: Writes a valid object in the form in which it is stored; its view stays the same.
    canonicalize: Default = lambda raw: None


Rows: TypeAlias = dict[type[View], KindRow]


def template_options(gates: GateSet, old: Any) -> ValidationOptions:
    return options_for_template_update(gates, None if old is None else old.spec.template)


def selector_options(gates: GateSet, old: Any) -> ValidationOptions:
    if old is None:
        return options_for_create(gates)
    return options_for_selector_update(gates, old.spec.template, old.spec.selector)


def workload(
    validate: Validate,
    validate_update: ValidateUpdate,
    default: Default,
    validate_status: Callable[[Any, Any], FieldErrors],
    prepare: Prepare = strategies.prepare_workload,
    options: Options = template_options,
    *,
    counts_annotations: bool = False,
    warnings: Callable[[Any], list[str]] = lambda view: [],
) -> KindRow:
    return KindRow(
        validate,
        validate_update,
        default,
        prepare,
        options,
        ungated(validate_status),
        has_generation=True,
        counts_annotations=counts_annotations,
        warnings=warnings,
    )


def ungated(validate: Callable[[Any, Any], FieldErrors]) -> ValidateStatus:
    return lambda new, old, gates: validate(new, old)


def validate_only_metadata(new: Any, old: Any) -> FieldErrors:
    """Check a write to a status of which nothing is checked."""
    return validate_object_meta_update(new.metadata, old.metadata, "metadata")
