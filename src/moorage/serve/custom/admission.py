"""Admit custom objects: complete their metadata, default, validate; count their generations.

Kubernetes: apiextensions-apiserver, pkg/registry/customresource (strategy, status_strategy, validator).
"""

from collections.abc import Sequence
from typing import Any

from moorage.admit.admission import MAX_ERRORS, Admitted, Rejected
from moorage.admit.chain import Admission, Own
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.steps import Steps
from moorage.admit.kinds.api_server.custom_objects import (
    CustomRules,
    finalizer_warnings,
    validate_custom_object,
    validate_custom_object_update,
    validate_custom_status,
)
from moorage.admit.plugins import Forbidden
from moorage.admit.raw import Raw, copy_document
from moorage.admit.request import Request, complete_metadata
from moorage.custom.objects.correlation import same_values
from moorage.custom.objects.decoding import apply_defaults, prune
from moorage.model.api_error import ApiError, forbidden, request_too_large
from moorage.model.go.integers import INT64_MAX
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.serve.custom.served_kind import ServedKind

_TERMINATING = "create not allowed while custom resource definition is terminating"


def admit_custom(
    kind: ServedKind, raw: Raw, old: Raw | None, chain: Admission, request: Request, own: Own | None
) -> Admitted | Rejected:
    """Admit an object, which is completed in place; `own` writes its field owners."""
    return chain.noted(_admit(kind, raw, old, chain, request, own))


def changing_custom(
    kind: ServedKind,
    raw: Raw,
    old: Raw | None,
    chain: Admission,
    request: Request,
    own: Own | None,
    extended: ExtendedRequest,
) -> Steps[Raw | Rejected]:
    """Carry out the first phase of a request that policies or webhooks may be about: see `Admission.changing`."""
    name = _name_to_be(raw)
    refusal = _complete(kind, raw, old, request, own, stamps=False)
    if refusal is not None:
        return refusal
    return (yield from extended.change(raw, old, lambda document: _changed(kind, document, old, chain, request, name)))


def checking_custom(
    kind: ServedKind, raw: Raw, old: Raw | None, chain: Admission, request: Request, extended: ExtendedRequest
) -> Steps[Admitted | Rejected]:
    """Carry out the second phase. The object is completed in place."""
    complete_metadata(raw, old, request, namespaced=kind.namespaced, wipes=False)
    result = yield from extended.checked(chain.noted(_checked(kind, raw, old, chain)), old)
    if isinstance(result, Admitted):  # what policies and webhooks have added, and the schema does not know, is not kept
        prune(result.object, kind.schema)
    return result


def _admit(
    kind: ServedKind, raw: Raw, old: Raw | None, chain: Admission, request: Request, own: Own | None
) -> Admitted | Rejected:
    name = _name_to_be(raw)
    refusal = _complete(kind, raw, old, request, own) or _changed(kind, raw, old, chain, request, name)
    return refusal or _checked(kind, raw, old, chain)


def _name_to_be(raw: Raw) -> str:
    metadata = raw["metadata"]
    return metadata.get("name") or metadata.get("generateName") or "Unknown"


def _complete(
    kind: ServedKind, raw: Raw, old: Raw | None, request: Request, own: Own | None, *, stamps: bool = True
) -> Rejected | None:
    """Complete an object in place, and let `own` write its field owners; return the refusal if it cannot be read."""
    metadata = raw["metadata"]
    try:
        convert_view(raw, kind.view)
        complete_metadata(raw, old, request, namespaced=kind.namespaced, stamps=stamps)
        metadata.pop("selfLink", None)
        _fill_in(raw, kind)
        if own is not None:
            own(raw)
    except ConversionError as error:
        return Rejected(kind, metadata.get("name") or "", problems=error.problems)
    except ApiError as error:
        return Rejected(kind, _name_to_be(raw), object=raw, refusal=error.status)
    return None


def _changed(
    kind: ServedKind, raw: Raw, old: Raw | None, chain: Admission, request: Request, name: str
) -> Rejected | None:
    """Let plugins change an object in place; return the refusal if one refuses it."""
    try:
        if old is None and kind.is_going:
            raise forbidden(kind, name, _TERMINATING)
        chain.mutate_custom(kind, raw, old, request)
    except Forbidden as refusal:
        return Rejected(kind, name, forbidden=str(refusal), object=raw)
    except ApiError as error:
        return Rejected(kind, name, object=raw, refusal=error.status)
    return None


def _checked(kind: ServedKind, raw: Raw, old: Raw | None, chain: Admission) -> Admitted | Rejected:
    """Prepare an object as Kubernetes does, count its generation, and validate it: by its schema, then by plugins."""
    metadata = raw["metadata"]
    if old is None:
        if kind.has_status:
            raw.pop("status", None)
            # Kubernetes defaults what it reads from its store, so that a default status is back in every answer.
            apply_defaults(raw, kind.schema)
        metadata["generation"] = 1
    else:
        if kind.has_status:
            _set(raw, "status", old)
        if not same_values(_content(raw), _content(old)):
            metadata["generation"] = _next_generation(old)
    result = _validated(kind, raw, old, finalizer_warnings(raw, old))
    if isinstance(result, Admitted):
        try:
            chain.validate_custom(kind, raw, old)
        except Forbidden as refusal:
            return Rejected(kind, metadata["name"], forbidden=str(refusal), object=raw, view=result.view)
        except ApiError as error:
            return Rejected(kind, metadata["name"], object=raw, view=result.view, refusal=error.status)
    return result


def admit_custom_status(kind: ServedKind, raw: Raw, old: Raw, own: Own | None) -> Admitted | Rejected:
    """Admit a write to the status subresource: all but the status and the field owners stays."""
    try:
        convert_view(raw, kind.view)
    except ConversionError as error:
        return Rejected(kind, old["metadata"]["name"], problems=error.problems)
    _fill_in(raw, kind)
    if own is not None:
        own(raw)
    new = copy_document(old)
    _set(new, "status", raw)
    _set(new["metadata"], "managedFields", raw["metadata"])
    return _validated(kind, new, old, (), subresource="status")


def _fill_in(raw: Raw, kind: ServedKind) -> None:
    """Set defaults. Raises ApiError 413 if they are more than an object may have."""
    if not apply_defaults(raw, kind.schema):
        raise request_too_large("the defaults of the schema make the object larger than it may be")


def _validated(
    kind: ServedKind, raw: Raw, old: Raw | None, warnings: Sequence[str], subresource: str = ""
) -> Admitted | Rejected:
    view: Any = convert_view(raw, kind.view)
    rules = kind.remembered("rules", _rules)
    if old is None:
        found = validate_custom_object(raw, rules)
    elif subresource == "status":
        found = validate_custom_status(raw, old, rules)
    else:
        found = validate_custom_object_update(raw, old, rules)
    if found.errors:
        errors = tuple(found.errors[:MAX_ERRORS])
        return Rejected(kind, view.metadata.name, errors, object=raw, view=view, told=tuple(found.warnings))
    return Admitted(raw, view, (*found.warnings, *warnings))


def _rules(kind: ServedKind) -> CustomRules:
    return CustomRules(kind.schema, kind.namespaced, kind.scale_paths)


def _set(raw: Raw, name: str, source: Raw) -> None:
    """Take a field over, or its absence."""
    if name in source:
        raw[name] = source[name]
    else:
        raw.pop(name, None)


def _content(raw: Raw) -> Raw:
    return {name: value for name, value in raw.items() if name != "metadata"}


def _next_generation(old: Raw) -> int:
    return min((old["metadata"].get("generation") or 0) + 1, INT64_MAX)
