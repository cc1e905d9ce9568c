"""Fields that a schema does not know, removed from an object. Kubernetes: apiextensions-apiserver, schema/pruning."""

from typing import Any

from moorage.custom.schema.structural import Structural

_META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))


def prune(obj: dict[str, Any], schema: Structural | None) -> list[str]:
    """Remove unknown fields in place and return their paths, sorted. apiVersion, kind and metadata of the root stay."""
    pruner = _Pruner()
    pruner.prune_object(obj, schema, "", is_resource=True)
    return sorted(pruner.paths)


def prune_value(value: Any, schema: Structural) -> list[str]:
    """Remove unknown fields of a part of an object in place and return their paths, sorted."""
    pruner = _Pruner()
    pruner.prune(value, schema, "")
    return sorted(pruner.paths)


class _Pruner:
    def __init__(self) -> None:
        self.paths: list[str] = []

    def prune(self, value: Any, schema: Structural | None, path: str) -> None:
        if isinstance(value, dict):
            self.prune_object(value, schema, path, is_resource=schema is not None and schema.embeddedResource)
        elif isinstance(value, list):
            items = None if schema is None else schema.items
            keeps = schema is not None and schema.preserveUnknownFields
            for number, item in enumerate(value):
                if keeps:
                    self._prune_kept(item, items, f"{path}[{number}]")
                else:
                    self.prune(item, items, f"{path}[{number}]")

    def _prune_kept(self, value: Any, schema: Structural | None, path: str) -> None:
        """Prune inside what preserveUnknownFields keeps: only fields that the schema names have rules of their own."""
        if schema is None:
            return
        if isinstance(value, dict):
            self.prune_object(value, schema, path, is_resource=schema.embeddedResource, keeps=True)
        elif isinstance(value, list):
            for number, item in enumerate(value):
                self._prune_kept(item, schema.items, f"{path}[{number}]")

    def prune_object(
        self, obj: dict[str, Any], schema: Structural | None, path: str, *, is_resource: bool, keeps: bool = False
    ) -> None:
        properties = {} if schema is None else schema.properties
        has_additional = schema is not None and schema.additionalProperties is not None
        keeps = keeps or (schema is not None and schema.preserveUnknownFields)
        unknown = []
        for name, value in obj.items():
            if is_resource and name in _META_FIELDS:
                continue
            below = properties.get(name)
            if below is None and not has_additional:
                if not keeps:
                    unknown.append(name)
                continue
            if below is None and schema is not None:
                below = schema.additional
            self.prune(value, below, f"{path}.{name}" if path else name)
        for name in unknown:
            del obj[name]
            self.paths.append(f"{path}.{name}" if path else name)
