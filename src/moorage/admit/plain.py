"""Views written out again, for messages: as a manifest, as a Go struct, and as the difference of two.

In: views. Out: plain values and text. Kubernetes prints its internal structs in a few messages about updates; where
their field order is not the API's, Moorage prints what a manifest would say. Next: `pod_update` and the kinds.
"""

from typing import Any

import msgspec

from moorage.model.go_text import GoStruct


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


def as_go_struct(value: Any) -> Any:
    """A view as Go prints it, if the Go names are the API's with a capital letter, and in the same order."""
    if isinstance(value, msgspec.Struct):
        return GoStruct(
            {name[0].upper() + name[1:]: as_go_struct(getattr(value, name)) for name in value.__struct_fields__}
        )
    if isinstance(value, tuple):
        return [as_go_struct(item) for item in value] if value else value
    return value


def difference(old: Any, new: Any) -> str:
    """A unified diff of two views as JSON; imported late, because few updates need it."""
    import difflib
    import json

    before, after = (json.dumps(as_manifest(view), indent=1).splitlines() for view in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))
    return "\n".join(lines[2:]) + "\n"
