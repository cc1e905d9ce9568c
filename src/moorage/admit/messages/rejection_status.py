"""Render a rejection as the API's `Status` object, and the difference of two views for messages about updates.

Kubernetes: apimachinery, api/errors (NewInvalid, NewForbidden, NewBadRequest). Differs: Kubernetes prints the
difference of its internal structs.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, bad_request, invalid
from moorage.model.field_error import FieldError
from moorage.model.go.quoting import GoStruct
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


def invalid_status(kind: Kind, name: str, errors: Sequence[FieldError]) -> Raw:
    """Return a 422 Status whose message has each error once, in one line, and whose causes are all of them."""
    causes = [{"reason": error.kind.reason, "message": error.body, "field": error.path} for error in errors]
    texts = list(dict.fromkeys(map(str, errors)))
    return invalid(kind, name, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]", causes).status


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
