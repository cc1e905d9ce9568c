"""Validate ResourceClaims and ResourceClaimTemplates: creation, update, and who may ask for admin access.

Kubernetes: ValidateResourceClaim, ValidateResourceClaimTemplate and their updates (pkg/apis/resource/validation),
AuthorizedForAdmin (pkg/registry/resource). Differs: a template keeps the operators it has when their gate is turned
off.
"""

from collections.abc import Iterator

import msgspec

from moorage.admit.kinds.devices.claim_status import (
    authorize_claim_status,
    check_admin_label,
    validate_claim_status,
)
from moorage.admit.kinds.devices.requests import validate_claim_spec
from moorage.admit.kinds.row import KindRow, NamespaceLabels, Rows
from moorage.admit.messages.internal_form import internal_form
from moorage.admit.metadata import FIELD_IS_IMMUTABLE, validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod.volumes import validate_template_metadata
from moorage.admit.prepare import devices as prepare
from moorage.admit.ratcheting import operator_gates_in_use
from moorage.model.field_error import AsJSON, FieldErrors, invalid
from moorage.model.gates import GateSet
from moorage.model.types.devices import DeviceRequest, DeviceToleration, ResourceClaim, ResourceClaimTemplate
from moorage.model.types.view import View


def validate_claim(claim: ResourceClaim, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(claim.metadata, "metadata")
    yield from validate_claim_spec(claim.spec, "spec", options)


def validate_claim_update(new: ResourceClaim, old: ResourceClaim, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(new.metadata, "metadata")
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec_kept(new.spec, old.spec)


def _validate_spec_kept(new: View, old: View) -> FieldErrors:
    if new != old:
        yield invalid("spec", AsJSON(internal_form(new)), FIELD_IS_IMMUTABLE)


def validate_template(template: ResourceClaimTemplate, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(template.metadata, "metadata")
    yield from validate_template_metadata(template.spec.metadata, "spec.metadata")
    yield from validate_claim_spec(template.spec.spec, "spec.spec", options)


def validate_template_update(
    new: ResourceClaimTemplate, old: ResourceClaimTemplate, options: ValidationOptions
) -> FieldErrors:
    yield from validate_template(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec_kept(new.spec, old.spec)


def _authorize_claim(claim: ResourceClaim, labels_of: NamespaceLabels) -> FieldErrors:
    return _authorize(claim.spec.devices.requests, claim.metadata.namespace, labels_of)


def _authorize_template(template: ResourceClaimTemplate, labels_of: NamespaceLabels) -> FieldErrors:
    return _authorize(template.spec.spec.devices.requests, template.metadata.namespace, labels_of)


def _authorize(requests: tuple[DeviceRequest, ...], namespace: str, labels_of: NamespaceLabels) -> FieldErrors:
    """Check that the first request for admin access, if any, is one of administrators."""
    for index, request in enumerate(requests):
        if request.exactly is not None and request.exactly.adminAccess:
            # Upstream leaves `exactly` out of the path, and `spec` of a template's.
            yield from check_admin_label(namespace, f"spec.devices.requests[{index}].adminAccess", labels_of)
            return


def tolerations_of(requests: tuple[DeviceRequest, ...]) -> Iterator[DeviceToleration]:
    """Yield the tolerations of all requests and subrequests."""
    for request in requests:
        if request.exactly is not None:
            yield from request.exactly.tolerations
        for subrequest in request.firstAvailable:
            yield from subrequest.tolerations


def _template_options(gates: GateSet, old: ResourceClaimTemplate | None) -> ValidationOptions:
    """Return the options, which allow the operators and expressions that the old template has."""
    options = options_for_create(gates)
    tolerations = [] if old is None else list(tolerations_of(old.spec.spec.devices.requests))
    in_use = operator_gates_in_use(tolerations, ())
    has_expression = any(toleration.expression for toleration in tolerations)
    if not in_use and not has_expression:
        return options
    return msgspec.structs.replace(
        options,
        operator_gates=options.operator_gates | in_use,
        allow_taint_toleration_cel=options.allow_taint_toleration_cel or has_expression,
    )


ROWS: Rows = {
    ResourceClaim: KindRow(
        validate_claim,
        validate_claim_update,
        prepare.default_claim,
        prepare.prepare_claim,
        validate_status=validate_claim_status,
        prepare_status=prepare.prepare_claim_status,
        default_status=prepare.default_claim_status,
        authorize=_authorize_claim,
        authorize_status=authorize_claim_status,
    ),
    ResourceClaimTemplate: KindRow(
        validate_template,
        validate_template_update,
        prepare.default_template,
        prepare.prepare_template,
        _template_options,
        authorize=_authorize_template,
    ),
}
