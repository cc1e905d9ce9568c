"""A definition's spec as Kubernetes validates it: what all versions have in common is at the top.

That is why errors of a definition with a single version say `spec.validation…` instead of `spec.versions[0].schema…`.
Kubernetes: apiextensions-apiserver, pkg/apis/apiextensions/v1/conversion.go.
"""

from collections.abc import Iterator

import msgspec

from moorage.model.types.extension.custom_resource_definition import (
    CustomResourceColumnDefinition,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
    CustomResourceSubresources,
    JSONSchemaProps,
    SelectableField,
)
from moorage.model.types.view import ABSENT_LIST


class InternalSpec(msgspec.Struct, frozen=True):
    """The parts of a spec that move. `schema` is that of all versions, if they have the same."""

    spec: CustomResourceDefinitionSpec
    versions: tuple[CustomResourceDefinitionVersion, ...]
    has_schema: bool = False
    schema: JSONSchemaProps | None = None
    subresources: CustomResourceSubresources | None = None
    columns: tuple[CustomResourceColumnDefinition, ...] = ABSENT_LIST
    selectable: tuple[SelectableField, ...] = ABSENT_LIST

    def schemas(self) -> Iterator[JSONSchemaProps]:
        """Yield every schema once."""
        if self.schema is not None:
            yield self.schema
        for version in self.versions:
            if version.schema is not None and version.schema.openAPIV3Schema is not None:
                yield version.schema.openAPIV3Schema

    def subresources_of(self, version: CustomResourceDefinitionVersion) -> CustomResourceSubresources | None:
        has_own = any(one.subresources is not None for one in self.versions)
        return version.subresources if has_own else self.subresources


def internal_spec(spec: CustomResourceDefinitionSpec) -> InternalSpec:
    versions = spec.versions
    if not versions:
        return InternalSpec(spec, versions)
    first = versions[0]
    moved = {
        name: len(versions) == 1 or all(getattr(version, name) == getattr(first, name) for version in versions[1:])
        for name in ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
    }
    absent = {name: None if name in ("schema", "subresources") else ABSENT_LIST for name in moved if moved[name]}
    shared = first.schema if moved["schema"] else None
    return InternalSpec(
        spec,
        tuple(msgspec.structs.replace(version, **absent) for version in versions),
        has_schema=shared is not None,
        schema=None if shared is None else shared.openAPIV3Schema,
        subresources=first.subresources if moved["subresources"] else None,
        columns=first.additionalPrinterColumns if moved["additionalPrinterColumns"] else ABSENT_LIST,
        selectable=first.selectableFields if moved["selectableFields"] else ABSENT_LIST,
    )
