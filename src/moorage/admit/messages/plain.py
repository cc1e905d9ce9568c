"""Views written out again as manifests, and the difference of two, for messages about updates.

In: views. Out: plain values and text. Differs: Kubernetes prints the difference of its internal structs.
"""

from typing import Any

import msgspec

from moorage.model.go.quoting import GoStruct


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
    """A unified diff of two views as JSON; imported late, because few updates need it."""
    import difflib
    import json

    before, after = (json.dumps(as_manifest(view), indent=1).splitlines() for view in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))
    return "\n".join(lines[2:]) + "\n"
