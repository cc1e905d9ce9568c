"""Declare what an expression may refer to: variables, object types, type names and functions.

Kubernetes: apiserver/pkg/cel/environment/base.go (version 1.36) plus ext.Bindings, as DRA's expressions have it; for
device selectors (`device`, and `includes` for attributes that are lists) dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from moorage.match.cel import types
from moorage.match.cel.constructed import ConstructedType, FindType
from moorage.match.cel.functions import CallEstimate, Function, Interval, row
from moorage.match.cel.libraries import authz, ip_address, lists, named_format, quantity_and_semver, strings, url_value
from moorage.match.cel.libraries.calendar import TIME_FUNCTIONS
from moorage.match.cel.libraries.conversions import CONVERSIONS
from moorage.match.cel.libraries.operators import AGGREGATES, OPERATORS
from moorage.match.cel.patterns import FUNCTIONS as PATTERN_FUNCTIONS
from moorage.match.cel.values import CelError, equal


@dataclass(frozen=True, slots=True)
class ObjectField:
    """A field of an object type, with the largest size its value may have (for cost estimates).

    Of a map, `keys` and `values` say the same of what it holds; `sized_by_name` tells whether the size of a value is
    also known where the value is selected by name (`m.name`).
    """

    type: types.Type
    max_size: int | None = None
    keys: ObjectField | None = None
    values: ObjectField | None = None
    sized_by_name: bool = False


#: Names of types by which Kubernetes' schemas call what CEL calls otherwise.
_SCALARS = {"duration": types.DURATION, "timestamp": types.TIMESTAMP}
MAX_LENGTH = 10 * 1024
# The results of an expression that decides something: true or false, or a value of unknown type that may be either.
PREDICATE = (types.BOOL, types.ANY)


@dataclass(frozen=True)
class Environment:
    """Everything there is to know about names.

    `homogeneous` demands elements of one type in list and map literals, and valid durations, timestamps and patterns.
    `strict_presence` makes has() and `?` fail on values that have no fields, where Kubernetes finds nothing there.
    `objects_are_maps` where values of object types are maps of their fields, not Python objects with attributes.
    `root` declares the sizes of what every variable holds, whatever its name; `has_bindings` offers cel.bind.
    `constructed` finds the object types that an expression may construct; without it there are none.
    `results` are the types that the whole expression may have; empty means any. `max_length` bounds the text, in bytes.
    """

    function_rows: tuple[Function, ...]
    variables: dict[str, types.Type] = field(default_factory=dict)
    objects: dict[str, dict[str, ObjectField]] = field(default_factory=dict)
    container: str = ""
    homogeneous: bool = True
    strict_presence: bool = False
    objects_are_maps: bool = False
    root: ObjectField | None = None
    constructed: FindType | None = None
    has_bindings: bool = True
    results: tuple[types.Type, ...] = ()
    max_length: int | None = None

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Return all functions by name; rows of one name from several libraries are joined in order."""
        cached = _MERGED.get(id(self.function_rows))
        if cached is None or cached[0] is not self.function_rows:
            merged: dict[str, Function] = {}
            for row in self.function_rows:
                before = merged.get(row.name)
                merged[row.name] = row if before is None else Function(row.name, before.overloads + row.overloads)
            if self.function_rows is not KUBERNETES_FUNCTIONS:
                return merged
            cached = _MERGED[id(self.function_rows)] = (self.function_rows, merged)
        return cached[1]

    @cached_property
    def type_names(self) -> dict[str, types.Type]:
        return types.NAMEABLE | self._valueless

    @cached_property
    def _valueless(self) -> dict[str, types.Type]:
        named = {name: types.struct(name) for name in self.objects}
        return named | _SCALARS if self.objects_are_maps else named

    def is_valueless(self, name: str) -> bool:
        """Return whether a name denotes a type only while types are checked, and nothing where an expression runs."""
        return self.objects_are_maps and name in self._valueless

    def named_type(self, name: str) -> types.Type | None:
        """Return the type that a name denotes in an expression."""
        named = self.type_names.get(name)
        if named is None and self.constructed is not None:
            constructed = self.constructed(name)
            return None if constructed is None else constructed.type
        return named

    def constructed_type(self, name: str) -> ConstructedType | None:
        return None if self.constructed is None else self.constructed(name)

    def field_type(self, type_name: str, field: str) -> types.Type | None:
        """Return the type of a field of an object type; None if there is no such field."""
        declared = self.objects.get(type_name)
        if declared is not None:
            found = declared.get(field)
            return None if found is None else found.type
        constructed = self.constructed_type(type_name)
        return None if constructed is None else constructed.field(field)

    def has_fields(self, type_name: str) -> bool:
        return type_name in self.objects or self.constructed_type(type_name) is not None

    def candidates(self, name: str) -> list[str]:
        """Return the names a name may stand for within the container, innermost first; a leading dot is absolute."""
        if name.startswith("."):
            return [name[1:]]
        names = []
        container = self.container
        while container:
            names.append(f"{container}.{name}")
            container = container.rpartition(".")[0]
        names.append(name)
        return names

    def function(self, name: str) -> Function | None:
        if not self.container and not name.startswith("."):
            return self.functions.get(name)
        for candidate in self.candidates(name):
            if candidate in self.functions:
                return self.functions[candidate]
        return None


KUBERNETES_FUNCTIONS: tuple[Function, ...] = (
    *OPERATORS,
    *AGGREGATES,
    *CONVERSIONS,
    *TIME_FUNCTIONS,
    *url_value.FUNCTIONS,
    *PATTERN_FUNCTIONS,
    *lists.FUNCTIONS,
    *authz.FUNCTIONS,
    *quantity_and_semver.FUNCTIONS,
    *strings.FUNCTIONS,
    *ip_address.FUNCTIONS,
    *named_format.FUNCTIONS,
)

# What most environments have in common is joined once.
_MERGED: dict[int, tuple[tuple[Function, ...], dict[str, Function]]] = {}

TAINT_ENVIRONMENT = Environment(
    KUBERNETES_FUNCTIONS,
    variables={"taint": types.struct("kubernetes.Taint")},
    objects={
        "kubernetes.Taint": {
            "key": ObjectField(types.STRING, 317),
            "value": ObjectField(types.STRING, 63),
            "effect": ObjectField(types.STRING, 16),
        }
    },
    results=PREDICATE,
    max_length=MAX_LENGTH,
)


def taint_environment() -> Environment:
    """Return the environment tolerations' expressions are written in: one variable, `taint`."""
    return TAINT_ENVIRONMENT


MAX_LIST_VALUES = 48
_MAX_DRIVER, _MAX_DOMAIN, _MAX_NAME, _MAX_VALUE, _MAX_ENTRIES = 63, 63, 32, 64, 32


def _includes(target: Any, value: Any) -> bool:
    if type(target) is not list:
        return equal(target, value)
    for index, item in enumerate(target):
        if index >= MAX_LIST_VALUES:
            raise CelError(f"'includes' function cannot be applied to lists longer than {MAX_LIST_VALUES} values")
        if equal(item, value):
            return True
    return False


_INCLUDES: tuple[Function, ...] = (
    row(
        "dyn.includes(dyn) -> bool",
        "dra_includes_dyn_dyn",
        _includes,
        lambda _receiver, _value: CallEstimate(Interval(0, MAX_LIST_VALUES)),
    ),
)


def _by_domain(values: ObjectField, *, sized_by_name: bool) -> ObjectField:
    """Declare a map from domains to maps from names to these values."""
    names = ObjectField(
        types.map_of(types.STRING, values.type),
        _MAX_ENTRIES,
        ObjectField(types.STRING, _MAX_NAME),
        values,
        sized_by_name=sized_by_name,
    )
    domains = ObjectField(types.STRING, _MAX_DOMAIN)
    return ObjectField(types.map_of(types.STRING, names.type), _MAX_ENTRIES, domains, names)


@lru_cache(maxsize=8)
def device_environment(*, lists: bool, multiple_allocations: bool, includes: bool) -> Environment:
    """Return the environment of device selectors.

    `lists` lets attributes be lists, `multiple_allocations` declares `device.allowMultipleAllocations`, `includes` the
    function of that name.
    """
    attribute = ObjectField(types.DYN if lists else types.ANY, _MAX_VALUE)
    fields = {"driver": ObjectField(types.STRING, _MAX_DRIVER)}
    if multiple_allocations:
        fields["allowMultipleAllocations"] = ObjectField(types.BOOL, 1)
    fields["attributes"] = _by_domain(attribute, sized_by_name=True)
    fields["capacity"] = _by_domain(ObjectField(types.QUANTITY, 0), sized_by_name=False)
    return Environment(
        KUBERNETES_FUNCTIONS + _INCLUDES if includes else KUBERNETES_FUNCTIONS,
        variables={"device": types.struct("kubernetes.DRADevice")},
        objects={"kubernetes.DRADevice": fields},
        results=(*PREDICATE, types.DYN) if lists else PREDICATE,
    )
