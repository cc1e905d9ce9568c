"""Estimate what evaluating a checked tree costs at least and at most.

Admission compares the upper end with the limit before an expression is ever run. Kubernetes: cel-go checker/cost.go
with apiserver/pkg/cel/library/cost.go; presence tests cost nothing, as Kubernetes has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.match.cel.environment import Environment, ObjectField
from moorage.match.cel.functions import (
    MAX_COST,
    ONE,
    STRING_FACTOR,
    UNKNOWN_SIZE,
    ZERO,
    Argument,
    CallEstimate,
    Interval,
    Overload,
    fixed,
)
from moorage.match.cel.parse import syntax
from moorage.match.cel.types import Type, TypeKind
from moorage.match.cel.values import CelMap

_LIST_COST = fixed(10)
_MAP_COST = fixed(30)
_STRUCT_COST = fixed(40)
_SCALARS = frozenset(
    (TypeKind.BOOL, TypeKind.DOUBLE, TypeKind.DURATION, TypeKind.INT, TypeKind.TIMESTAMP, TypeKind.UINT)
)
_SELECTABLE = frozenset((TypeKind.MAP, TypeKind.STRUCT, TypeKind.TYPE_PARAM))

Path = tuple[str, ...]


class _EntrySize(NamedTuple):
    """Sizes of the keys (or indices) and values of a container."""

    kind: TypeKind
    key: Interval
    value: Interval


class _Local(NamedTuple):
    """What is known of a macro's variable."""

    path: Path
    size: Interval | None
    entry: _EntrySize | None


def estimate_cost(root: syntax.Node, environment: Environment) -> Interval:
    return _Estimator(environment).cost(root)


def _is_scalar(type_: Type) -> bool:
    if type_.is_optional:
        return _is_scalar(type_.parameters[0])
    return type_.kind in _SCALARS


class _Estimator:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.locals: dict[str, list[_Local]] = {}
        # By identity of the node: its path from a variable, its size, its elements' sizes.
        self.paths: dict[int, Path] = {}
        self.sizes: dict[int, Interval] = {}
        self.entry_sizes: dict[int, _EntrySize] = {}

    def declared_size(self, path: Path) -> Interval | None:
        """Return what the environment declares of the value at a path."""
        field = self.environment.root if path else None
        if field is None:
            type_ = self.environment.variables.get(path[0]) if path else None
            if type_ is None or type_.name not in self.environment.objects:
                return None
            field = ObjectField(type_, 0)
        for name in path[1:]:
            assert field is not None
            if name in ("@items", "@values"):
                field = field.values
            elif name == "@keys":
                field = field.keys
            else:
                by_name = field.values if field.sized_by_name else None
                field = self.environment.objects.get(field.type.name, {}).get(name, by_name)
            if field is None:
                return None
        assert field is not None
        return Interval(0, MAX_COST if field.max_size is None else field.max_size)

    # -- bookkeeping

    def local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def path(self, node: syntax.Node) -> Path:
        if isinstance(node, syntax.Ident):
            local = self.local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(id(node), ())

    def known_size(self, node: syntax.Node) -> Interval | None:
        size = self.sizes.get(id(node)) or _literal_size(node)
        if size is not None:
            return size
        size = self.declared_size(self.path(node))
        if size is not None:
            self.sizes[id(node)] = size
            return size
        if _is_scalar(node.type):
            return ONE
        if isinstance(node, syntax.Ident):
            local = self.local(node.name)
            if local is not None:
                return local.size
        return None

    def known_entry_size(self, node: syntax.Node) -> _EntrySize | None:
        entry_size = self.entry_sizes.get(id(node))
        if entry_size is None and isinstance(node, syntax.Ident):
            local = self.local(node.name)
            return None if local is None else local.entry
        return entry_size

    def join_entry_sizes(self, node: syntax.Node, left: syntax.Node, right: syntax.Node) -> None:
        """Remember that the entries of a value are those of one or the other."""
        first, second = self.known_entry_size(left), self.known_entry_size(right)
        if first is not None and second is not None:
            key, value = first.key.union(second.key), first.value.union(second.value)
            self.entry_sizes[id(node)] = _EntrySize(first.kind, key, value)

    def argument(self, node: syntax.Node) -> Argument:
        path = self.path(node)
        if path and path[0] in (syntax.ACCUMULATOR, "__result__"):
            path = ()
        element_size = self.declared_size((*path, "@items")) if path and node.type.parameters else None
        literal = node.value if isinstance(node, syntax.Literal) else None
        return Argument(node.type, self.known_size(node), element_size, literal)

    def size(self, node: syntax.Node) -> Interval:
        return self.known_size(node) or UNKNOWN_SIZE

    # -- the kinds of nodes

    def cost(self, node: syntax.Node) -> Interval:
        return _RULES[type(node)](self, node)

    def ident(self, node: syntax.Ident) -> Interval:
        local = self.local(node.name)
        self.paths[id(node)] = (node.name,) if local is None else local.path
        return ONE

    def select(self, node: syntax.Select) -> Interval:
        if node.variable is not None:
            cost = self.ident(node.variable)
            self.paths[id(node)] = self.paths[id(node.variable)]
            return cost
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        if node.operand.type.kind in _SELECTABLE:
            cost = cost.plus(ONE)
        self.paths[id(node)] = (*self.path(node.operand), node.field)
        return cost

    def list_literal(self, node: syntax.ListLiteral) -> Interval:
        total = _LIST_COST
        sizes = Interval(MAX_COST if node.elements else 0, 0)
        for element in node.elements:
            total = total.plus(self.cost(element))
            sizes = sizes.union(self.size(element))
        self.entry_sizes[id(node)] = _EntrySize(TypeKind.LIST, ONE, sizes)
        return total

    def map_literal(self, node: syntax.MapLiteral) -> Interval:
        total = _MAP_COST
        keys = values = Interval(MAX_COST if node.entries else 0, 0)
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys = keys.union(self.size(entry.key))
            values = values.union(self.size(entry.value))
        self.entry_sizes[id(node)] = _EntrySize(TypeKind.MAP, keys, values)
        return total

    def struct_literal(self, node: syntax.StructLiteral) -> Interval:
        total = _STRUCT_COST
        for field in node.fields:
            total = total.plus(self.cost(field.value))
        return total

    def copy_sizes(self, target: syntax.Node, source: syntax.Node) -> None:
        size = self.known_size(source)
        if size is not None:
            self.sizes[id(target)] = size
        entry = self.known_entry_size(source)
        if entry is not None:
            self.entry_sizes[id(target)] = entry

    def comprehension(self, node: syntax.Comprehension) -> Interval:
        total = self.cost(node.range).plus(self.cost(node.init))
        bound = _Local(self.path(node.init), self.known_size(node.init), self.known_entry_size(node.init))
        self.push(node.accumulator, bound)
        if node.is_binding:
            total = total.plus(self.cost(node.result))
            self.locals[node.accumulator].pop()
            # The name is gone by now: a result that is nothing but the name has no known size, as in cel-go.
            self.copy_sizes(node, node.result)
            return total
        self.enter_loop(node)
        per_element = self.cost(node.condition).plus(self.cost(node.step))
        self.locals[node.variable].pop()
        if node.variable2:
            self.locals[node.variable2].pop()
        total = total.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        count = self.size(node.range)
        total = total.plus(count.times(per_element))
        if isinstance(node.init, syntax.Literal):
            self.sizes[id(node)] = self.size(node.init)
        elif isinstance(node.init, syntax.ListLiteral | syntax.MapLiteral):
            self.sizes[id(node)] = count
            entry = self.known_entry_size(node.step)
            if entry is not None:
                self.entry_sizes[id(node)] = entry
        return total

    def enter_loop(self, node: syntax.Comprehension) -> None:
        """Declare the loop's variables with what is known of the range's elements."""
        entry = self.known_entry_size(node.range)
        kind = node.range.type.kind if entry is None else entry.kind
        key = None if entry is None else entry.key
        value = None if entry is None else entry.value
        path = self.path(node.range)
        is_list = kind is TypeKind.LIST
        key_local = _Local((*path, "@indices" if is_list else "@keys"), key, None)
        value_local = _Local((*path, "@items" if is_list else "@values"), value, None)
        if node.variable2:
            self.push(node.variable, key_local)
            self.push(node.variable2, value_local)
        else:
            self.push(node.variable, value_local if is_list else key_local)

    # -- calls

    def call(self, node: syntax.Call) -> Interval:
        if node.function == "dyn":
            total = ONE.plus(self.cost(node.args[0]))
            self.copy_sizes(node, node.args[0])
            return total
        costs = [self.cost(arg) for arg in node.args]
        args = [self.argument(arg) for arg in node.args]
        if not node.overloads:
            return ZERO
        total = ZERO
        if node.target is not None:
            total = self.cost(node.target)
            args.insert(0, self.argument(node.target))
        union = Interval(MAX_COST, 0)
        result_size: Interval | None = None
        for overload in node.overloads:
            estimate = self.overload_cost(node, overload, args, costs)
            union = union.union(estimate.cost)
            if estimate.result_size is not None:
                result_size = estimate.result_size if result_size is None else result_size.union(estimate.result_size)
            if overload.id in ("index_list", "index_map"):
                entry = self.known_entry_size(node.args[0])
                result_size = None if entry is None else entry.value
                step = "@items" if overload.id == "index_list" else "@values"
                self.paths[id(node)] = (*self.path(node.args[0]), step)
            if result_size is None:
                result_size = self.known_size(node)
        if result_size is not None:
            self.sizes[id(node)] = result_size
        return total.plus(union)

    def overload_cost(
        self, node: syntax.Call, overload: Overload, args: list[Argument], costs: list[Interval]
    ) -> CallEstimate:
        """Estimate the call including its arguments (but not its receiver)."""
        id_ = overload.id
        if id_ in ("logical_and", "logical_or"):
            return CallEstimate(Interval(costs[0].min, costs[0].plus(costs[1]).max))
        if id_ == "conditional":
            size = args[1].size.union(args[2].size)
            self.join_entry_sizes(node, node.args[1], node.args[2])
            return CallEstimate(costs[0].plus(costs[1].union(costs[2])), size)
        total = ZERO
        for cost in costs:
            total = total.plus(cost)
        if id_ in ("add_string", "add_bytes", "add_list"):
            size = args[0].size.plus(args[1].size)
            self.join_entry_sizes(node, node.args[0], node.args[1])
            cost = ONE if id_ == "add_list" else size.by_factor(STRING_FACTOR)
            return CallEstimate(cost.plus(total), size)
        if overload.estimate is None:
            return CallEstimate(ONE.plus(total))
        own = overload.estimate(*args)
        return CallEstimate(own.cost.plus(total), own.result_size)


_RULES: dict[type[syntax.Node], Callable[[Any, Any], Interval]] = {
    syntax.Literal: lambda *_: ZERO,
    syntax.Ident: _Estimator.ident,
    syntax.Select: _Estimator.select,
    syntax.Call: _Estimator.call,
    syntax.ListLiteral: _Estimator.list_literal,
    syntax.MapLiteral: _Estimator.map_literal,
    syntax.StructLiteral: _Estimator.struct_literal,
    syntax.Comprehension: _Estimator.comprehension,
}


def _literal_size(node: syntax.Node) -> Interval | None:
    if isinstance(node, syntax.Literal):
        value = node.value
        return fixed(len(value)) if isinstance(value, str | bytes | list | CelMap) else ONE
    if isinstance(node, syntax.ListLiteral):
        return fixed(len(node.elements))
    if isinstance(node, syntax.MapLiteral):
        return fixed(len(node.entries))
    return None
