"""The CEL environment of device selectors: one variable, `device`, and `includes` for attributes that are lists.

Kubernetes: dynamic-resource-allocation/cel/compile.go; the sizes are the limits of k8s.io/api/resource/v1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from moorage.match.cel import types
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, PREDICATE, Environment, ObjectField
from moorage.match.cel.functions import CallEstimate, Function, Interval, row
from moorage.match.cel.values import CelError, equal

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
