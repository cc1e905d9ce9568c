"""Read and write the Scale of a custom object at the paths that its definition names.

Kubernetes: apiextensions-apiserver, pkg/registry/customresource/etcd.go (ScaleREST). Differs: an object without
replicas has no Scale to be read, which is answered with 404 instead of 500.
"""

from typing import Any

from moorage.admit.subresources.scaling import scale_document
from moorage.model.api_error import bad_request, failure
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind
from moorage.model.text.readers import reads_text
from moorage.serve.custom.served_kind import Raw, ServedKind

_GO_TYPES = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", float: "float64"}


class PathError(ValueError):
    """The value at a path is of another type."""


def render_custom_scale(kind: ServedKind, raw: Raw) -> Raw:
    """Return the Scale of an object; without replicas if it has none. Raises ApiError."""
    paths = kind.scale_paths
    try:
        replicas = integer_at(raw, paths["specReplicasPath"])
        status = integer_at(raw, paths["statusReplicasPath"]) or 0
        selector = text_at(raw, paths["labelSelectorPath"]) if paths.get("labelSelectorPath") else ""
    except PathError as error:
        raise bad_request(str(error)) from None
    return scale_document(raw["metadata"], replicas, status, selector)


def check_has_replicas(kind: ServedKind, raw: Raw) -> None:
    """Raise ApiError if the object, whose Scale could be rendered, has no replicas to show."""
    path = kind.scale_paths["specReplicasPath"]
    if integer_at(raw, path) is None:
        text = f"the spec replicas field {go_quote(path)} does not exist"
        raise failure(404, "NotFound", f"Internal error occurred: {text}", {"causes": [{"message": text}]})


def with_replicas(kind: Kind, raw: Raw, replicas: int) -> Raw:
    """Return the object with these replicas; parts on the way to them are copied."""
    *holders, last = _steps(_replicas_path(kind))
    new = dict(raw)
    holder = new
    for step in holders:
        below = holder.get(step)
        holder[step] = dict(below) if isinstance(below, dict) else {}
        holder = holder[step]
    holder[last] = replicas
    return new


#: What a Scale says of an object without replicas, until it is written.
_UNSET = -(2**31)


def with_unset_replicas(kind: Kind, raw: Raw, scale: Raw) -> Raw:
    """Return an object's Scale as it is patched: of a custom object without replicas it says so."""
    if type(kind) is not ServedKind or integer_at(raw, kind.scale_paths["specReplicasPath"]) is not None:
        return scale
    return {**scale, "spec": {"replicas": _UNSET}}


def check_replicas_set(kind: ServedKind, scale: Raw) -> None:
    """Raise ApiError for a Scale that leaves an object without replicas as it is."""
    if (scale.get("spec") or {}).get("replicas") == _UNSET:
        path = kind.scale_paths["specReplicasPath"]
        raise bad_request(f"the spec replicas field {go_quote(path)} cannot be empty")


def scale_owners(kind: Kind, raw: Raw) -> list[Raw]:
    """Return the managedFields of an object's Scale: who owns the replicas."""
    steps = [f"f:{step}" for step in _steps(_replicas_path(kind))]
    fields: Raw = {"f:spec": {"f:replicas": {}}}
    return [
        {
            name: {"apiVersion": "autoscaling/v1", "fieldsV1": fields}.get(name, value)
            for name, value in entry.items()
            if name != "time" or entry.get("subresource") != "scale"
        }
        for entry in raw["metadata"].get("managedFields") or ()
        if _has(entry.get("fieldsV1"), steps)
    ]


def _has(fields: Any, steps: list[str]) -> bool:
    for step in steps:
        if not isinstance(fields, dict) or step not in fields:
            return False
        fields = fields[step]
    return True


def _replicas_path(kind: Kind) -> str:
    path: str = kind.scale_paths["specReplicasPath"] if type(kind) is ServedKind else ".spec.replicas"
    return path


def integer_at(raw: Raw, path: str) -> int | None:
    value = _value_at(raw, path)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(path, value, "int64")
    return value


def text_at(raw: Raw, path: str) -> str:
    value = _value_at(raw, path)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong_type(path, value, "string")
    return value


@reads_text(".", "a")
def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _value_at(raw: Raw, path: str) -> Any:
    value: Any = raw
    steps = _steps(path)
    for number, step in enumerate(steps, 1):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _wrong_type(".".join(["", *steps[:number]]), value, "map[string]interface{}")
        if step not in value:
            return None
        value = value[step]
    return value


def _wrong_type(path: str, value: Any, wanted: str) -> PathError:
    go_type = "<nil>" if value is None else _GO_TYPES.get(type(value), "int64")
    shown = {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value
    return PathError(f"{path} accessor error: {shown} is of the type {go_type}, expected {wanted}")
