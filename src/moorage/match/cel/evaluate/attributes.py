"""Evaluate variables and selections from them: `taint.key`, `m['a'][0]`, `has(x.y)`, `x.?y`.

cel-go (interpreter/attributes.go) calls such a chain an attribute and charges 1 for every selection plus 1 for the
whole, also where it starts at a call's result or a literal. A chain turns optional at the first `?`: from there on,
what is missing ends the chain with none instead of an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple

from moorage.match.cel.constructed import FieldedValue
from moorage.match.cel.evaluate.steps import (
    COST_LIMIT,
    UNSET,
    EvaluationStep,
    Run,
    State,
    charge,
    charge_in_turn,
    charged,
    kept,
    without_traceback,
)
from moorage.match.cel.libraries.conversions import show_value
from moorage.match.cel.values import OPTIONAL_NONE, CelError, CelMap, OptionalValue, UInt, type_of_value

_MISSING: Any = object()
_KEY_TYPES = (str, int, UInt, bool, float)


class Qualifier(NamedTuple):
    """One selection: its key (a constant, or computed), and whether it was written with `?` or inside has().

    `strict` makes asking a value that has no fields at all an error; otherwise it is merely not there.
    """

    key: Any
    compute_key: Run | None = None
    optional: bool = False
    test_only: bool = False
    strict: bool = False


class AttributeStep(EvaluationStep):
    """A chain: `base` gives the value selections start from, `resolve` applies them without charging for the whole."""

    __slots__ = ("base", "qualifiers", "resolve")

    def __init__(self, base: Run, qualifiers: tuple[Qualifier, ...] = (), resolve: Run | None = None) -> None:
        self.base = base
        self.qualifiers = qualifiers
        self.resolve = resolve or _resolver(base, qualifiers)
        test_only = bool(qualifiers) and qualifiers[-1].test_only
        super().__init__(_tested(self.resolve) if test_only else charged(self.resolve, 1))

    def select(self, qualifier: Qualifier) -> AttributeStep:
        return AttributeStep(self.base, (*self.qualifiers, qualifier))


class ConditionalStep(AttributeStep):
    """A ternary is a chain too: selections from it are applied to either branch, and the whole costs nothing itself."""

    __slots__ = ("condition", "otherwise", "then")

    def __init__(self, condition: Run, then: AttributeStep, otherwise: AttributeStep) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        resolve = _choice(condition, then.resolve, otherwise.resolve)
        super().__init__(resolve, (), resolve)
        self.run = resolve

    def select(self, qualifier: Qualifier) -> AttributeStep:
        chosen = ConditionalStep(self.condition, self.then.select(qualifier), self.otherwise.select(qualifier))
        if qualifier.test_only:
            chosen.run = _tested(chosen.resolve)
        return chosen


def as_attribute(step: EvaluationStep) -> AttributeStep:
    return step if isinstance(step, AttributeStep) else AttributeStep(step.run, (), step.run)


def _choice(condition: Run, then: Run, otherwise: Run) -> Run:
    def choose(state: State) -> Any:
        value = condition(state)
        if value is True:
            return then(state)
        if value is False:
            return otherwise(state)
        raise CelError("no such overload")

    return choose


def _tested(resolve: Run) -> Run:
    def run(state: State) -> Any:
        value = resolve(state)
        return value.present if isinstance(value, OptionalValue) else value

    return run


def _resolver(base: Run, qualifiers: tuple[Qualifier, ...]) -> Run:
    if not qualifiers:
        return base
    if len(qualifiers) == 1 and qualifiers[0].compute_key is None and not qualifiers[0].optional:
        only = qualifiers[0]
        if not only.test_only:
            return _select_one(base, only)

    if all(type(each.key) is str and not (each.optional or each.test_only) for each in qualifiers):
        return _select_names(base, qualifiers)

    def resolve(state: State) -> Any:
        return apply_qualifiers(state, base(state), qualifiers)

    return resolve


def _select_names(base: Run, qualifiers: tuple[Qualifier, ...]) -> Run:
    """Return the commonest chain, `object.spec.replicas`, resolved in one loop."""
    names = tuple(qualifier.key for qualifier in qualifiers)

    def resolve(state: State) -> Any:
        value = base(state)
        if isinstance(value, OptionalValue):
            return apply_qualifiers(state, value, qualifiers)
        for name in names:
            charge(state, 1)
            value = find(value, name)
        return value

    return resolve


def _select_one(base: Run, qualifier: Qualifier) -> Run:
    key = qualifier.key

    def resolve(state: State) -> Any:
        value = base(state)
        if isinstance(value, OptionalValue):
            return apply_qualifiers(state, value, (qualifier,))
        charge(state, 1)
        return find(value, key)

    return resolve


def apply_qualifiers(state: State, value: Any, qualifiers: Iterable[Qualifier]) -> Any:
    """Apply selections to the value a chain starts from, which may be an optional."""
    optional = isinstance(value, OptionalValue)
    if optional:
        if not value.present:
            return OPTIONAL_NONE
        value = value.value
    for qualifier in qualifiers:
        optional = optional or qualifier.optional
        if optional:
            key = qualifier.key if qualifier.compute_key is None else checked_key(qualifier.compute_key(state))
            value = find_if_present(value, key, qualifier.strict)
            if value is _MISSING:
                return OPTIONAL_NONE
            charge(state, 1)
            continue
        try:
            key = qualifier.key if qualifier.compute_key is None else checked_key(qualifier.compute_key(state))
            if qualifier.test_only:
                value = find_if_present(value, key, qualifier.strict) is not _MISSING
            else:
                value = find(value, key)
        except CelError as error:
            kept(error)
            charge(state, 1)
            raise
        charge(state, 1)
    return OptionalValue.of(value) if optional else value


def checked_key(key: Any) -> Any:
    if type(key) in _KEY_TYPES:
        return key
    raise CelError(f"invalid qualifier type: {type_of_value(key).name}")


def _index(key: Any) -> int:
    if type(key) is int or (type(key) is UInt and key < 2**63):
        return int(key)
    if type(key) is float or type(key) is UInt:
        if key == key and abs(key) < 2.0**63 and key == int(key):
            return int(key)
        raise CelError(f"unsupported index value {show_value(key)} in list")
    raise CelError(f"unsupported index type '{type_of_value(key).name}' in list")


def find(value: Any, key: Any) -> Any:
    if isinstance(value, list):
        index = _index(key)
        if 0 <= index < len(value):
            return value[index]
        raise CelError(f"index out of bounds: {show_value(key)}")
    if type(value) is CelMap:
        entry = value.find(key, _MISSING)
        if type(entry) is CelError:  # a value that is not of its declared type
            raise without_traceback(entry)
        if entry is not _MISSING:
            return entry
    if isinstance(value, FieldedValue):
        return value.get_field(key)
    raise CelError(f"no such key: {show_value(key)}")


def find_if_present(value: Any, key: Any, strict: bool) -> Any:
    """Return what a key selects, or a marker if there is nothing; an index of a wrong type is still an error."""
    if isinstance(value, list):
        index = _index(key)
        return value[index] if 0 <= index < len(value) else _MISSING
    if type(value) is CelMap:
        entry = value.find(key, _MISSING)
        if type(entry) is CelError:
            raise without_traceback(entry)
        return entry
    if isinstance(value, FieldedValue):
        return value.get_field(key) if value.has_field(key) else _MISSING
    if strict and not isinstance(value, OptionalValue):
        raise CelError(f"no such key: {show_value(key)}")
    return _MISSING


# -- variables


class VariableStep(AttributeStep):
    """A variable whose value is in a slot. `lazy` if it is a binding, whose value is computed when first used."""

    __slots__ = ("lazy", "slot")

    def __init__(self, slot: int, load: Run, lazy: bool = False) -> None:
        self.slot = slot
        self.lazy = lazy
        super().__init__(load, (), load)


def variable(slot: int) -> VariableStep:
    """Return a variable whose value is in a slot; an error found there was kept by a loop, and is raised now."""

    def load(state: State) -> Any:
        value = state[slot]
        if isinstance(value, CelError):
            raise value
        return value

    return VariableStep(slot, load)


def lazy_variable(slot: int, init: Run) -> VariableStep:
    """Return a binding: evaluated when first used, and then remembered, its failure too."""

    def load(state: State) -> Any:
        value = state[slot]
        if value is UNSET:
            try:
                value = init(state)
            except CelError as error:
                value = without_traceback(kept(error))
            state[slot] = value
        if isinstance(value, CelError):
            raise value
        return value

    return VariableStep(slot, load, lazy=True)


class ObjectStep(AttributeStep):
    """A variable that is a Python object with declared fields, such as the taint. Selecting one reads the attribute.

    Where the object itself is used as a value it becomes a map of its fields, which is what it is in Kubernetes.
    """

    __slots__ = ("fields", "slot")

    def __init__(self, slot: int, fields: tuple[str, ...]) -> None:
        self.slot = slot
        self.fields = fields

        def load(state: State) -> Any:
            value = state[slot]
            return CelMap([(field, getattr(value, field)) for field in fields])

        super().__init__(load, (), load)

    def select(self, qualifier: Qualifier) -> AttributeStep:
        plain = qualifier.compute_key is None and not qualifier.optional and not qualifier.test_only
        return FieldStep(self.slot, qualifier.key, self.base) if plain else super().select(qualifier)


class FieldStep(AttributeStep):
    """A field of an object variable: the commonest step of all, so it is one attribute access and one addition."""

    __slots__ = ("get", "slot")

    def __init__(self, slot: int, field: str, base: Run) -> None:
        self.slot = slot
        self.get = get = attrgetter(field)

        def resolve(state: State) -> Any:
            charge(state, 1)
            return get(state[slot])

        def run(state: State) -> Any:
            state[0] += 2
            if state[0] > COST_LIMIT:
                state[0] -= 2
                charge_in_turn(state, 1, 1)
            return get(state[slot])

        super().__init__(base, (Qualifier(field),), resolve)
        self.run = run

    def select(self, qualifier: Qualifier) -> AttributeStep:
        return AttributeStep(self.resolve, (qualifier,))
