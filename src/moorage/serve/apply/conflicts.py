"""Fields that somebody applies and somebody else owns with another value.

In: writers and the fields each would lose. Out: `ApplyConflict`, the refusal that a client gets, with a cause for
each. Kubernetes: managedfields/internal/conflict.
"""

import json
from typing import Any

from moorage.model.api_error import ApiError, failure
from moorage.serve.apply.entries import UPDATE, Writer
from moorage.serve.apply.field_set import Fields, paths
from moorage.serve.apply.path_elements import render_path

Raw = dict[str, Any]


class ApplyConflict(ApiError):
    """409: applying would take fields from others. `conflicts` says which from whom."""

    def __init__(self, conflicts: dict[Writer, Fields]) -> None:
        self.conflicts = conflicts
        found = [(writer, path) for writer in sorted(conflicts) for path in paths(conflicts[writer])]
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_shown(writer)}",
                "field": render_path(path),
            }
            for writer, path in found
        ]
        status = failure(409, "Conflict", _message(found), {"causes": causes}).status
        super().__init__(status)


def _message(found: list[tuple[Writer, tuple[str, ...]]]) -> str:
    if len(found) == 1:
        writer, path = found[0]
        return f"Apply failed with 1 conflict: conflict with {_shown(writer)}: {render_path(path)}"
    lines: list[str] = []
    named: Writer | None = None
    for writer, path in found:
        if writer != named:
            named = writer
            lines.append(f"conflicts with {_shown(writer)}:")
        lines.append(f"- {render_path(path)}")
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


def _shown(writer: Writer) -> str:
    shown = json.dumps(writer.manager, ensure_ascii=False)
    if writer.subresource:
        shown = f"{shown} with subresource {json.dumps(writer.subresource)}"
    return f"{shown} using {writer.api_version}" if writer.operation == UPDATE else shown
