"""Render a rejection as the API's `Status` object, and the difference of two views for messages about updates.

Kubernetes: apimachinery, api/errors (NewInvalid, NewForbidden, NewBadRequest). Differs: Kubernetes prints the
difference of its internal structs.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.field_error import FieldError
from moorage.model.go.quoting import GoStruct, go_quote
from moorage.model.kinds import Kind
from moorage.model.schema.conversion import ConversionError, convert_view


def as_manifest(value: Any) -> Any:
    """What is set of a view, in the API's order, without what is empty."""
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return GoStruct({name: as_manifest(item) for name, item in fields if item not in (None, "", (), {})})
    if isinstance(value, dict):
        return {name: as_manifest(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_manifest(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def difference(old: Any, new: Any) -> str:
    """Return a unified diff of two views as JSON; imported late, because few updates need it."""
    import difflib
    import json

    before, after = (json.dumps(as_manifest(view), indent=1).splitlines() for view in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))
    return "\n".join(lines[2:]) + "\n"


def invalid_message(kind: Kind, name: str, errors: Iterable[FieldError]) -> str:
    """All errors in one line, each text once."""
    texts = list(dict.fromkeys(map(str, errors)))
    aggregate = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f"{_qualified(kind.name, kind.group)} {go_quote(name)} is invalid: {aggregate}"


def invalid_status(kind: Kind, name: str, errors: Sequence[FieldError]) -> Raw:
    causes = [{"reason": error.kind.reason, "message": error.body, "field": error.path} for error in errors]
    details: Raw = {"name": name, "group": kind.group, "kind": kind.name, "causes": causes}
    return failure(422, "Invalid", invalid_message(kind, name, errors), details).status


def forbidden_status(kind: Kind, name: str, reason: str) -> Raw:
    whom = f"{_qualified(kind.plural, kind.group)} {go_quote(name)}" if name else _qualified(kind.plural, kind.group)
    details: Raw = {"name": name, "group": kind.group, "kind": kind.plural}
    return failure(403, "Forbidden", f"{whom} is forbidden: {reason}", details).status


def bad_request_status(kind: Kind, reasons: Sequence[str]) -> Raw:
    """Return a 400 Status with the first reason, as the API server, and then the others."""
    version = kind.api_version.rpartition("/")[2]
    message = f'{kind.name} in version "{version}" cannot be handled as a {kind.name}: {"; ".join(reasons)}'
    return bad_request(message).status


def read_request(kind: Kind, document: Raw) -> Any:
    """Return the view of a document that is sent to a subresource. Raises ApiError."""
    try:
        return convert_view(document, kind.view)
    except ConversionError as error:
        raise ApiError(bad_request_status(kind, [error.problems[0].reason])) from None


def _qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name
