"""The rules of a whole schema: which nodes have some, and their evaluation for an object and its old version.

Kubernetes: Validator in apiextensions-apiserver, pkg/apiserver/schema/cel/validation.go.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.custom.expressions.declared_types import DeclaredType, declare
from moorage.custom.expressions.escaping import escape_name
from moorage.custom.expressions.evaluate import NodeRules, RuleFindings
from moorage.custom.expressions.rules import compile_rules
from moorage.custom.objects.correlation import Correlation, find_item, items_by_key
from moorage.custom.schema.structural import Structural
from moorage.model.field_error import child_path

_KEPT_TREES = 256
_kept: dict[tuple[Structural, bool], "RuleTree | None"] = {}


class RuleTree(msgspec.Struct, frozen=True, eq=False):
    """The rules of a node and of those below it that have any."""

    node: NodeRules
    properties: "Mapping[str, RuleTree]" = {}
    additional: "RuleTree | None" = None
    items: "RuleTree | None" = None


def rule_tree(schema: Structural, *, is_resource_root: bool = True) -> RuleTree | None:
    """Compile the rules of a schema, once for each schema object; None for a schema without rules."""
    key = (schema, is_resource_root)
    if key not in _kept:
        tree = _tree(schema, declare(schema, is_resource_root=is_resource_root), is_resource_root)
        if len(_kept) >= _KEPT_TREES:
            del _kept[next(iter(_kept))]
        _kept[key] = tree
    return _kept[key]


def _tree(schema: Structural, declared: DeclaredType | None, is_resource_root: bool) -> RuleTree | None:
    if declared is None:
        return None
    items = additional = None
    properties: dict[str, RuleTree] = {}
    if schema.items is not None:
        items = _tree(schema.items, declared.element, schema.items.embeddedResource)
    if schema.additional is not None:
        additional = _tree(schema.additional, declared.element, schema.additional.embeddedResource)
    for name, child in schema.properties.items():
        found = _tree(child, _declared_property(name, child, declared), child.embeddedResource)
        if found is not None:
            properties[name] = found
    rules = compile_rules(schema, declared) if schema.rules else ()
    if not rules and items is None and additional is None and not properties:
        return None
    return RuleTree(NodeRules(schema, rules, is_resource_root), properties, additional, items)


def _declared_property(name: str, child: Structural, parent: DeclaredType) -> DeclaredType | None:
    escaped = escape_name(name)
    if escaped is None:
        return declare(child, is_resource_root=child.embeddedResource)
    return (parent.fields or {}).get(escaped)


class _Ratchet(msgspec.Struct, frozen=True, eq=False):
    """Where a value is among those that an update may have left alone: itself, and the nearest above that has one."""

    current: Correlation | None
    above: Correlation | None

    @property
    def is_unchanged(self) -> bool:
        nearest = self.above if self.current is None else self.current
        return nearest is not None and nearest.unchanged

    def at_property(self, name: str) -> "_Ratchet":
        if self.current is None:
            return self
        if self.above is None and name in ("apiVersion", "kind"):
            return _NO_RATCHET
        return _Ratchet(self.current.at_property(name), self.current)

    def at_item(self, number: int) -> "_Ratchet":
        return self if self.current is None else _Ratchet(self.current.at_item(number), self.current)


_NO_RATCHET = _Ratchet(None, None)


def check_rules(
    tree: RuleTree | None,
    value: Any,
    old: Any = None,
    correlation: Correlation | None = None,
    *,
    path: str = "",
    findings: RuleFindings | None = None,
) -> RuleFindings:
    """Evaluate all rules for an object. `old` is compared with by oldSelf, `correlation` makes failures warnings."""
    found = RuleFindings() if findings is None else findings
    if tree is not None:
        _check(tree, value, old, _Ratchet(correlation, None), path, found)
    return found


def _check(tree: RuleTree, value: Any, old: Any, ratchet: _Ratchet, path: str, findings: RuleFindings) -> None:
    if value is None:
        return
    if tree.node.rules:
        tree.node.evaluate(value, old, path, findings, is_unchanged=ratchet.is_unchanged)
    if findings.is_exhausted:
        return
    if isinstance(value, list):
        _check_items(tree, value, old, ratchet, path, findings)
    elif isinstance(value, dict):
        _check_properties(tree, value, old, ratchet, path, findings)


def _check_items(
    tree: RuleTree, value: list[Any], old: Any, ratchet: _Ratchet, path: str, findings: RuleFindings
) -> None:
    if tree.items is None:
        return
    schema = tree.node.schema
    old_items = items_by_key(old, schema) if isinstance(old, list) else {}
    for number, item in enumerate(value):
        before = find_item(old_items, item, schema) if old_items else None
        _check(tree.items, item, before, ratchet.at_item(number), f"{path}[{number}]", findings)
        if findings.is_exhausted:
            return


def _check_properties(
    tree: RuleTree, value: dict[str, Any], old: Any, ratchet: _Ratchet, path: str, findings: RuleFindings
) -> None:
    before = old if isinstance(old, dict) else {}
    for name, item in value.items():
        if tree.additional is not None:
            at = f"{path}[{name}]"
            _check(tree.additional, item, before.get(name), ratchet.at_property(name), at, findings)
        child = tree.properties.get(name)
        if child is not None and not findings.is_exhausted:
            at = child_path(path, name)
            _check(child, item, before.get(name), ratchet.at_property(name), at, findings)
        if findings.is_exhausted:
            return
