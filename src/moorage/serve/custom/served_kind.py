"""Describe a version of a custom resource definition as the API server serves it.

Much of it, such as the compiled schema, is made when it is first asked for: definitions may be large, and many are
never used. Kubernetes: crdInfo of apiextensions-apiserver, pkg/apiserver/customresource_handler.go.
"""

import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from moorage.custom.objects.decoding import apply_defaults, decode_stored, drop_nulls, prune, write_as_go
from moorage.custom.structural import Structural, schema_of_version
from moorage.model.kind_rows.kind import CustomKind, has_condition, kind_facts
from moorage.serve.resources.served import version_priority

Raw = dict[str, Any]
Made = TypeVar("Made")
_SCHEMA = "schema"
_RULES, _DEFAULT = b'"x-kubernetes-validations"', b'"default":'
#: What is imported with the first custom object: formats and patterns of schemas, CEL for their rules.
_IMPORTED_FIRST = ("moorage.custom.objects.validate", "moorage.match.cel.program")
_LARGE_SCHEMA, _MANY_DEFAULTS = 128 * 1024, 50


@dataclass(frozen=True, eq=False)
class ServedKind(CustomKind):
    """One served version. `facts` is the version in the definition without its schema, which `source` has."""

    _: KW_ONLY
    #: The name of the definition, and its JSON.
    definition: str
    source: bytes
    facts: Raw
    #: The version that objects are stored in, and the API versions of all.
    stored_version: str
    api_versions: frozenset[str]
    #: The conversion between versions, if a webhook makes it; else empty.
    conversion: Raw
    #: Objects with a smaller revision were stored under another schema.
    since: int
    _made: dict[str, Any] = field(default_factory=dict)

    def remembered(self, name: str, make: "Callable[[ServedKind], Made]") -> Made:
        """Return what is made of this kind, once."""
        if name not in self._made:
            self._made[name] = make(self)
        value: Made = self._made[name]
        return value

    @cached_property
    def schema(self) -> Structural | None:
        return self._schema_of(self.version)

    @cached_property
    def stored_schema(self) -> Structural | None:
        return self.schema if self.is_stored else self._schema_of(self.stored_version)

    def schema_in(self, api_version: str) -> Structural | None:
        """Return the schema of another version; None if there is no such version."""
        name = api_version.rpartition("/")[2]
        return self.schema if name == self.version else self._schema_of(name)

    def raw_schema(self) -> Raw:
        """Return the openAPIV3Schema as it is in the definition; empty if the definition has no schema."""
        schema: Raw = (self._version(self.version).get(_SCHEMA) or {}).get("openAPIV3Schema") or {}
        return schema

    @cached_property
    def has_rules(self) -> bool:
        """Whether there may be CEL rules for its objects, which may take a while."""
        return _RULES in self.source

    @property
    def is_heavy(self) -> bool:
        """Whether even a small object may be much work: its schema is large, has many defaults, or is the first."""
        return self._has_large_schema or not all(name in sys.modules for name in _IMPORTED_FIRST)

    @cached_property
    def _has_large_schema(self) -> bool:
        return len(self.source) > _LARGE_SCHEMA or self.source.count(_DEFAULT) > _MANY_DEFAULTS

    @property
    def is_stored(self) -> bool:
        return self.version == self.stored_version

    @property
    def scale_paths(self) -> Raw:
        """The paths of the scale subresource; empty for a kind without it."""
        return (self.facts.get("subresources") or {}).get("scale") or {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What clients are told with every answer."""
        warning = self.facts.get("deprecationWarning")
        return (warning,) if self.facts.get("deprecated") and warning else ()

    def reads(self, raw: Raw) -> Raw:
        """Return a stored object, which is modified, in this version.

        It has the defaults of the version that it was stored in, and of its fields those that both versions know.
        """
        stored = str(raw.get("apiVersion") or self.api_version)
        decode_stored(raw, self.schema_in(stored))
        if stored != self.api_version:
            raw["apiVersion"] = self.api_version
            prune(raw, self.schema)
        return raw

    @property
    def is_converted(self) -> bool:
        """Whether a webhook converts objects to this version, or from it."""
        return bool(self.conversion)

    def read_as_stored(self, raw: Raw) -> Raw:
        """Return a stored object, which is modified, in the version that it was stored in."""
        name = str(raw.get("apiVersion") or self.api_version).rpartition("/")[2]
        decode_stored(raw, self.stored_schema if name == self.stored_version else self.schema_in(name))
        return raw

    def stores(self, raw: Raw) -> Raw:
        """Return the object in the version that is stored, with what its schema knows and the defaults of that.

        An object that a webhook converts stays as it is.
        """
        stored: Raw = write_as_go(raw)
        if self.is_stored or self.is_converted:
            return stored
        stored["apiVersion"] = f"{self.group}/{self.stored_version}"
        return self.complete_as_stored(stored)

    def complete_as_stored(self, stored: Raw) -> Raw:
        """Return an object in the version that is stored with what its schema knows, and its defaults."""
        prune(stored, self.stored_schema)
        drop_nulls(stored, self.stored_schema)
        apply_defaults(stored, self.stored_schema)  # Kubernetes sets them when it reads the object
        return stored

    def _schema_of(self, version: str) -> Structural | None:
        return schema_of_version(self._version(version))

    def _version(self, name: str) -> Raw:
        versions: list[Raw] = msgspec.json.decode(self.source)["spec"]["versions"]
        return next((version for version in versions if version["name"] == name), {})


def served_kinds(definition: Raw, source: bytes, since: int) -> tuple[ServedKind, ...]:
    """Return the kinds of a definition whose names are accepted, one for each served version."""
    if not has_condition(definition, "Established") and not has_condition(definition, "NamesAccepted"):
        return ()
    spec = definition["spec"]
    versions: list[Raw] = spec["versions"]
    conversion: Raw = spec.get("conversion") or {}
    stored = next((one["name"] for one in versions if one.get("storage")), "")
    api_versions = frozenset(f"{spec['group']}/{one['name']}" for one in versions)
    best = _best_version(versions)
    return tuple(
        ServedKind(
            **kind_facts(definition, version),
            definition=definition["metadata"]["name"],
            source=source,
            facts=_facts(spec, version, best),
            stored_version=stored,
            conversion=conversion if conversion.get("strategy") == "Webhook" else {},
            api_versions=api_versions,
            since=since,
        )
        for version in versions
        if version.get("served")
    )


def _facts(spec: Raw, version: Raw, best: str) -> Raw:
    facts = {name: value for name, value in version.items() if name != _SCHEMA}
    if version.get("deprecated") and not version.get("deprecationWarning"):
        group, kind = spec["group"], spec["names"]["kind"]
        warning = f"{group}/{version['name']} {kind} is deprecated"
        is_better = best and version_priority(best) < version_priority(version["name"])
        facts["deprecationWarning"] = f"{warning}; use {group}/{best} {kind}" if is_better else warning
    return facts


def _best_version(versions: list[Raw]) -> str:
    """Return the version to use in place of deprecated ones; empty if all are deprecated."""
    fine = (version["name"] for version in versions if version.get("served") and not version.get("deprecated"))
    return min(fine, key=version_priority, default="")
