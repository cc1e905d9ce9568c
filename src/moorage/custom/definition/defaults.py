"""Validate the defaults of a schema: each must be pruned and valid, its rules included.

Kubernetes: apiextensions-apiserver, pkg/apiserver/schema/defaulting/validation.go.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from moorage.custom.expressions.evaluate import RuleFindings, check_rules, rule_tree
from moorage.custom.objects.decoding import prune_value
from moorage.custom.objects.embedded import MalformedError, MetadataRule, coerce_embedded, embedded_errors
from moorage.custom.objects.validate import schema_errors
from moorage.custom.structural import Structural, compile_schema
from moorage.model.field_error import AsJSON, FieldError, invalid

_OBJECT_FIELDS: Final = frozenset(("metadata", "apiVersion", "kind"))
#: The object that defaults of an embedded object's metadata are tried in.
_TYPE_META: Final = {"apiVersion": "validation/v1", "kind": "Validation"}


def default_errors(schema: Structural, path: str, rule: MetadataRule, *, must_be_pruned: bool) -> list[FieldError]:
    """Return what is wrong with the defaults of a schema, the root of a resource."""
    root = msgspec.structs.replace(schema, embeddedResource=True)
    checker = _DefaultChecker(rule, must_be_pruned)
    checker.check(root, path, root, (), is_in_metadata=False)
    return checker.errors


def has_unpruned_defaults(schema: Structural) -> bool:
    return any(_is_unpruned(node) for node in _nodes(schema))


def coerce_defaults(schema: dict[str, Any], compiled: Structural) -> None:
    """Drop unknown fields of metadata from the defaults of embedded objects, in the raw schema."""
    default = schema.get("default")
    if default is not None:
        try:
            coerce_embedded(default, compiled, base="default")
        except MalformedError:
            return
    for name, child in compiled.properties.items():
        coerce_defaults(schema["properties"][name], child)
    if compiled.items is not None:
        coerce_defaults(schema["items"], compiled.items)


def _nodes(schema: Structural) -> list[Structural]:
    nodes, waiting = [], [schema]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend(child for _, child in node.children())
    return nodes


def _is_unpruned(schema: Structural) -> bool:
    return schema.default is not None and bool(prune_value(_copied(schema.default), schema))


def _copied(value: Any) -> Any:
    return msgspec.to_builtins(value)


class _DefaultChecker:
    """Checks the defaults of one schema within the budget of one object."""

    def __init__(self, rule: MetadataRule, must_be_pruned: bool) -> None:
        self.rule = rule
        self.must_be_pruned = must_be_pruned
        self.errors: list[FieldError] = []
        self.findings = RuleFindings()

    def check(
        self, schema: Structural, path: str, root: Structural, steps: tuple[str | int, ...], *, is_in_metadata: bool
    ) -> None:
        """Check a node and those below it; `steps` lead to it from the nearest object of Kubernetes, `root`."""
        if schema.embeddedResource:
            root, steps, is_in_metadata = schema, (), False
        if schema.default is not None:
            at = f"{path}.default"
            if is_in_metadata:
                self._check_metadata(schema, at, root, steps)
            else:
                self._check_value(schema, at)
        if self.findings.is_exhausted:
            return
        if schema.items is not None:
            self.check(schema.items, f"{path}.items", root, (*steps, 0), is_in_metadata=is_in_metadata)
        for name, child in schema.properties.items():
            inside = is_in_metadata or (schema.embeddedResource and name in _OBJECT_FIELDS)
            self.check(child, f"{path}.properties[{name}]", root, (*steps, name), is_in_metadata=inside)

    def _check_value(self, schema: Structural, path: str) -> None:
        value = _copied(schema.default)
        if self.must_be_pruned and _is_unpruned(schema):
            self.errors.append(invalid(path, AsJSON(value), "must not have unknown fields"))
        try:
            coerce_embedded(value, schema, base=path)
        except MalformedError as error:
            self.errors.append(error.error or invalid(path, AsJSON(value), str(error)))
            return
        errors = list(embedded_errors(value, schema, self.rule, base=path)) or _schema_errors(value, schema, path)
        self.errors += errors
        if not errors:
            self._check_rules(schema, value, path, is_root=schema.embeddedResource)

    def _check_metadata(self, schema: Structural, path: str, root: Structural, steps: tuple[str | int, ...]) -> None:
        """Check a default of apiVersion, kind or metadata of an embedded object."""
        value = schema.default
        surrounding = _surrounding(steps, _copied(value))
        base = "object"
        try:
            coerce_embedded(surrounding, root, base=base)
            wrong = [
                str(error).removeprefix(f"{base}.")
                for error in embedded_errors(surrounding, root, self.rule, base=base)
            ]
        except MalformedError as error:
            wrong = [str(error).removeprefix(f"{base}.")]
        if wrong:
            shown = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
            words = f"must result in valid metadata: {shown}"
            self.errors.append(invalid(path, value if isinstance(value, str) else AsJSON(value), words))
            return
        errors = _schema_errors(value, schema, path)
        self.errors += errors
        if not errors:
            self._check_rules(schema, value, path, is_root=False)

    def _check_rules(self, schema: Structural, value: Any, path: str, *, is_root: bool) -> None:
        """Evaluate rules as for an update that changes nothing, and if they hold as for a new object."""
        tree = rule_tree(schema, is_resource_root=is_root)
        if tree is None:
            return
        budget = self.findings.budget
        check_rules(tree, value, value, path=path, findings=self.findings)
        if not self.findings.errors:
            new = check_rules(tree, value, path=path, findings=RuleFindings(budget))
            self.findings.errors += new.errors
            self.findings.budget = min(self.findings.budget, new.budget)
        self.errors += self.findings.errors
        self.findings.errors = []


def _schema_errors(value: Any, schema: Structural, path: str) -> list[FieldError]:
    """Validate a default. Kubernetes lets it be of any type where a schema asks for an integer or text."""
    any_type = schema if not _has_int_or_string(schema) else compile_schema(_without_int_or_string(schema.raw))
    return schema_errors(value, any_type, base=path)


def _has_int_or_string(schema: Structural) -> bool:
    return any(node.intOrString for node in _nodes(schema))


def _without_int_or_string(raw: Mapping[str, Any]) -> dict[str, Any]:
    stripped = {name: value for name, value in raw.items() if name != "x-kubernetes-int-or-string"}
    for name in ("items", "additionalProperties"):
        if isinstance(stripped.get(name), dict):
            stripped[name] = _without_int_or_string(stripped[name])
    if "properties" in stripped:
        stripped["properties"] = {name: _without_int_or_string(child) for name, child in stripped["properties"].items()}
    return stripped


def _surrounding(steps: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    for step in reversed(steps):
        value = [value] if isinstance(step, int) else {step: value}
    return {**_TYPE_META, **value}
