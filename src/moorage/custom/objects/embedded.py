"""Check objects of Kubernetes inside a custom object (x-kubernetes-embedded-resource): apiVersion, kind and metadata.

Kubernetes: apiextensions-apiserver, schema/objectmeta.
"""

from collections.abc import Callable, Iterator
from typing import Any

from moorage.custom.structural import Structural
from moorage.model.field_error import FieldError, FieldErrors, child_path, invalid, required
from moorage.model.names import dns1035_label_errors
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import kept_part, unknown_fields
from moorage.model.types.meta import ObjectMeta

#: What metadata of an object must be: (metadata, path) → errors. An embedded object may have no name.
MetadataRule = Callable[[ObjectMeta, str], FieldErrors]


class MalformedError(ValueError):
    """Metadata, apiVersion or kind of the wrong type: an object that cannot be decoded."""

    def __init__(self, problem: FieldError | str) -> None:
        super().__init__(str(problem))
        #: What is wrong with a field, where it is one.
        self.error = problem if isinstance(problem, FieldError) else None


def coerce_metadata(obj: dict[str, Any], path: str, *, drops: bool = False) -> list[str]:
    """Remove unknown fields and nulls from an object's metadata, in place, and return their paths.

    With `drops` fields of the wrong type are removed, too: what was stored before the schema said so stays readable.
    """
    if "metadata" not in obj:
        return []
    metadata = {} if obj["metadata"] is None else obj["metadata"]
    if drops and isinstance(metadata, dict):
        metadata = {name: value for name, value in metadata.items() if _is_readable(name, value)}
    elif drops:
        return []
    else:
        convert_view(dict(sorted(metadata.items())) if isinstance(metadata, dict) else metadata, ObjectMeta)
    kept = kept_part(metadata, ObjectMeta)
    obj["metadata"] = {name: value for name, value in kept.items() if value or value is False} if kept else {}
    for name in ("labels", "annotations"):
        texts = obj["metadata"].get(name)
        if isinstance(texts, dict) and None in texts.values():
            obj["metadata"][name] = {key: "" if text is None else text for key, text in texts.items()}
    return [f"{child_path(path, 'metadata')}.{field.path}" for field in unknown_fields(metadata, ObjectMeta)]


def coerce_embedded(obj: Any, schema: Structural | None, *, drops: bool = False, base: str = "") -> list[str]:
    """Remove unknown fields of metadata in all embedded objects and return their paths. Raises MalformedError.

    A value that is found at `base` of an object may be an embedded object itself.
    """
    unknown: list[str] = []
    for inner, path in _embedded(obj, schema, base):
        for name in ("apiVersion", "kind"):
            if name in inner and not isinstance(inner[name], str):
                if not drops:
                    raise MalformedError(invalid(child_path(path, name), inner[name], "must be a string"))
                del inner[name]
        try:
            unknown += coerce_metadata(inner, path, drops=drops)
        except ConversionError as error:
            reason = error.problems[0].reason
            raise MalformedError(invalid(child_path(path, "metadata"), inner["metadata"], reason)) from None
    return sorted(unknown)


def embedded_errors(obj: Any, schema: Structural | None, rule: MetadataRule, *, base: str = "") -> Iterator[FieldError]:
    """Yield what is wrong with embedded objects; whether they have a schema of their own does not matter."""
    for inner, path in _embedded(obj, schema, base):
        yield from _missing_fields(inner, path)
        if isinstance(version := inner.get("apiVersion"), str):
            yield from _version_errors(version, child_path(path, "apiVersion"))
        if isinstance(kind := inner.get("kind"), str):
            yield from _kind_errors(kind, child_path(path, "kind"))
        if "metadata" in inner:
            yield from _metadata_errors(inner["metadata"], child_path(path, "metadata"), rule)


def _embedded(value: Any, schema: Structural | None, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield all embedded objects, the outer ones first."""
    if schema is None:
        return
    if isinstance(value, dict):
        if schema.embeddedResource and path:
            yield value, path
        for name, item in value.items():
            if isinstance(item, dict | list):
                named = schema.properties.get(name)
                below = child_path(path, name) if named is not None else f"{path}[{name}]"
                yield from _embedded(item, named if named is not None else schema.additional, below)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if isinstance(item, dict | list):
                yield from _embedded(item, schema.items, f"{path}[{number}]")


def _is_readable(name: str, value: Any) -> bool:
    try:
        convert_view({name: value}, ObjectMeta)
    except ConversionError:
        return False
    return True


def _missing_fields(inner: dict[str, Any], path: str) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in inner:
            yield required(child_path(path, name))
        elif not isinstance(inner[name], str):
            yield invalid(child_path(path, name), inner[name], "must be a string")


def _version_errors(version: str, path: str) -> Iterator[FieldError]:
    if not version:
        yield invalid(path, version, "must not be empty")
    elif version.count("/") > 1:
        yield invalid(path, version, f"unexpected GroupVersion string: {version}")


def _kind_errors(kind: str, path: str) -> Iterator[FieldError]:
    if not kind:
        yield invalid(path, kind, "must not be empty")
    elif messages := dns1035_label_errors(kind.lower()):
        yield invalid(path, kind, f"may have mixed case, but should otherwise match: {','.join(messages)}")


def _metadata_errors(metadata: Any, path: str, rule: MetadataRule) -> FieldErrors:
    try:
        return rule(convert_view(metadata, ObjectMeta), path)
    except ConversionError as error:
        return [invalid(path, metadata, error.problems[0].reason)]
