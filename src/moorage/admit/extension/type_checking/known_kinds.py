"""Find the kinds that the rules of a policy name.

Wildcards name nothing, nor do subresources; a rule names ten kinds at most. Kubernetes: typesToCheck of
plugin/policy/validating/typechecking.go, with a RESTMapper of what the server serves: resources are found by their
plural or singular name, and those of the core group in every group that has the version. Differs: the schema of an
embedded object declares the names in its metadata alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from moorage.admit.extension.attributes import ObjectKind
from moorage.admit.extension.type_checking.object_types import (
    UNKNOWN,
    ObjectTypes,
    as_documents,
    types_of_schema,
    types_of_view,
)
from moorage.admit.raw import Raw
from moorage.custom.expressions.built_in_types import AS_DOCUMENTS, Declaring
from moorage.custom.structural import SchemaTooDeepError, Structural, compile_schema, schema_of_version
from moorage.model.kinds import KINDS, VIRTUAL_KINDS
from moorage.model.types.extension.admission_policies import MatchResources, RuleWithOperations
from moorage.model.types.view import View

_MAX_KINDS = 10
_ANY_OBJECT = Structural({"type": "object"}, type="object")


class KnownKind(NamedTuple):
    """A kind in one version. Its schema is that of a view, or the version of a definition."""

    kind: ObjectKind
    names: tuple[str, str]  # plural and singular
    view: type[View] | None = None
    version: Raw | None = None

    def types(self, declaring: Declaring, suffix: str = "") -> ObjectTypes:
        """Declare the objects of the kind, by the kind's name with a suffix."""
        name = f"{self.kind.kind}{suffix}"
        if self.view is not None:
            return types_of_view(self.view, name, declaring)
        try:
            schema = None if self.version is None else schema_of_version(self.version)
            if schema is not None and declaring is AS_DOCUMENTS:
                schema = compile_schema(as_documents(schema.raw))
        except SchemaTooDeepError:
            return UNKNOWN
        return types_of_schema(schema or _ANY_OBJECT, name, declaring)


class KnownKinds:
    """The built-in kinds and those of some definitions, which are CustomResourceDefinitions as documents."""

    def __init__(self, definitions: Iterable[Raw]) -> None:
        custom = [known for definition in definitions for known in _kinds_of(definition)]
        self._indexes = (_built_in(), _Index(custom))

    def find(self, kind: ObjectKind) -> KnownKind | None:
        return next((found for index in self._indexes if (found := index.by_kind.get(kind)) is not None), None)

    def of_resource(self, group: str, version: str, resource: str) -> list[KnownKind]:
        """Return the kinds of a resource; without a group, those in all groups that have the version."""
        found = [known for index in self._indexes for known in index.by_resource.get((version, resource), ())]
        return [known for known in found if not group or known.kind.group == group]

    def of_rules(self, constraints: MatchResources | None) -> list[KnownKind]:
        """Return the kinds that the rules of a policy name, in order."""
        named: dict[ObjectKind, KnownKind] = {}
        for rule in constraints.resourceRules if constraints is not None else ():
            for number, known in enumerate(self._of_rule(rule), 1):
                named[known.kind] = known
                if number == _MAX_KINDS:
                    return [named[kind] for kind in sorted(named)]
        return [named[kind] for kind in sorted(named)]

    def _of_rule(self, rule: RuleWithOperations) -> Iterator[KnownKind]:
        for group, version, resource in resources_of(rule):
            yield from self.of_resource(group, version, resource)


def resources_of(rule: RuleWithOperations) -> Iterator[tuple[str, str, str]]:
    """Yield group, version and name of each resource that a rule names without wildcards."""
    if any("*" in name for name in (*rule.apiGroups, *rule.apiVersions)):
        return
    resources = sorted(name for name in rule.resources if "*" not in name and "/" not in name)
    for group in sorted(rule.apiGroups):
        for version in sorted(rule.apiVersions):
            yield from ((group, version, resource.lower()) for resource in resources)


class _Index:
    """Kinds by their names, and by their version and what their resource is called."""

    def __init__(self, kinds: Sequence[KnownKind]) -> None:
        self.by_kind = {known.kind: known for known in kinds}
        self.by_resource: dict[tuple[str, str], list[KnownKind]] = defaultdict(list)
        for known in self.by_kind.values():
            for name in dict.fromkeys(known.names):
                self.by_resource[known.kind.version, name].append(known)
        self.by_resource = dict(self.by_resource)


@cache
def _built_in() -> _Index:
    kinds = []
    for row in (*KINDS.values(), *VIRTUAL_KINDS):
        for version in (row.version, *row.older_versions):
            view = row.older_views.get(version, row.view)
            kinds.append(KnownKind(ObjectKind(row.group, version, row.name), (row.plural, row.singular), view))
    return _Index(kinds)


def _kinds_of(definition: Raw) -> Iterator[KnownKind]:
    """Yield the kinds that a definition adds, as far as it is well-formed."""
    spec = _part(definition, "spec")
    names = _part(spec, "names")
    kind, plural = names.get("kind"), names.get("plural")
    versions = spec.get("versions")
    if not (isinstance(kind, str) and isinstance(plural, str) and isinstance(versions, list)):
        return
    singular = names.get("singular") or kind.lower()
    for version in versions:
        if isinstance(version, dict) and version.get("served") and isinstance(version.get("name"), str):
            known = ObjectKind(str(spec.get("group", "")), version["name"], kind)
            yield KnownKind(known, (plural, str(singular)), version=version)


def _part(document: Any, name: str) -> Raw:
    part = document.get(name) if isinstance(document, dict) else None
    return part if isinstance(part, dict) else {}
