"""Taints of a node.

In: the node's taints, the path upstream reports them at (`metadata.taints`, although they are in the spec). Out: field
errors. Kubernetes: validateNodeTaints.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from moorage.admit.scheduling.label_selectors import validate_label_name
from moorage.model.field_error import AsJSON, ErrorKind, FieldError, invalid, not_supported, required
from moorage.model.go.quoting import GoStruct, go_json
from moorage.model.names import label_value_errors
from moorage.model.types.node import Taint

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
MUST_BE_UNIQUE = "taints must be unique by key and effect pair"


def validate_taint_effect(effect: str, path: str) -> list[FieldError]:
    return [] if effect in TAINT_EFFECTS else [not_supported(path, AsJSON(effect), TAINT_EFFECTS)]


def validate_taints(taints: Iterable[Taint], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        errors += validate_label_name(taint.key, f"{at}.key")
        if messages := label_value_errors(taint.value):
            errors.append(invalid(f"{at}.value", taint.value, ";".join(messages)))
        errors += validate_taint_effect(taint.effect, f"{at}.effect") if taint.effect else [required(f"{at}.effect")]
        if (taint.key, taint.effect) in seen:
            added = None if taint.timeAdded is None else _in_utc(taint.timeAdded)
            shown = GoStruct(Key=taint.key, Value=taint.value, Effect=taint.effect, TimeAdded=added)
            errors.append(FieldError(ErrorKind.DUPLICATE, at, go_json(shown), MUST_BE_UNIQUE))
        seen.add((taint.key, taint.effect))
    return errors


def _in_utc(time: str) -> str:
    """A time as Go prints it again: in UTC, to the second."""
    try:
        return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return time
