"""Read instance types: what a machine has, and at which price it can be had where.

The form is that of Karpenter's kwok provider: a JSON list of objects with `name`, `offerings`, `architecture`,
`operatingSystems` and `resources`. As there, a node keeps 100m CPU and 10Mi memory for itself.
Kubernetes: Karpenter, kwok/cloudprovider/helpers.go.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.model.field_error import FieldError, duplicate, invalid, required
from moorage.model.quantity import Quantity, difference, parse_quantity
from moorage.model.text.patterns import Pattern
from moorage.model.text.readers import reads_text
from moorage.model.well_known.labels import ARCH, INSTANCE_TYPE, OS, ZONE
from moorage.pools.checks import check_amounts, check_not_negative, check_requirements
from moorage.pools.documents import InstanceTypeView, LabelRequirement
from moorage.pools.label_values import ANYTHING, LabelValues, only, values_of
from moorage.pools.node_template import NORMALIZED

#: More types than this in one input are refused.
MAX_TYPES = 20_000
MAX_OFFERINGS = 1_000
CAPACITY_TYPE = "karpenter.sh/capacity-type"
SPOT, ON_DEMAND = "spot", "on-demand"
INSTANCE_SIZE = "karpenter.kwok.sh/instance-size"
INSTANCE_FAMILY = "karpenter.kwok.sh/instance-family"
INSTANCE_CPU = "karpenter.kwok.sh/instance-cpu"
INSTANCE_MEMORY = "karpenter.kwok.sh/instance-memory"
_RESERVED = {"cpu": parse_quantity("100m"), "memory": parse_quantity("10Mi")}
_DEFAULT_PODS = parse_quantity("110")
_SIZED = Pattern(r"\w+\.(nano|micro|small|medium|large|[0-9]*xlarge|metal)")

Values = Mapping[str, LabelValues]


class InstanceOffering(NamedTuple):
    """A way to buy an instance type: the labels that it decides, and the price of an hour."""

    values: Values
    price: float | None


class InstanceType(msgspec.Struct, frozen=True):
    """A type of machine. `values` are those that each of its labels may have."""

    name: str
    values: Values
    capacity: Mapping[str, Quantity]
    offerings: tuple[InstanceOffering, ...]

    @property
    def allocatable(self) -> Mapping[str, Quantity]:
        """What pods may use of the capacity."""
        return {
            name: difference(amount, _RESERVED[name]) if name in _RESERVED and amount > _RESERVED[name] else amount
            for name, amount in self.capacity.items()
        }


def intersection(requirements: Iterable[LabelRequirement]) -> dict[str, LabelValues]:
    """Return which values each label may have, by requirements that were checked."""
    values: dict[str, LabelValues] = {}
    for each in requirements:
        key = NORMALIZED.get(each.key, each.key)
        values[key] = values.get(key, ANYTHING) & values_of(each.operator, each.values)
    return values


class InstanceTypes:
    """The types of an input, by name."""

    def __init__(self) -> None:
        self.by_name: dict[str, InstanceType] = {}

    def add(self, view: InstanceTypeView, path: str) -> list[FieldError]:
        """Add a type; return what is wrong with it instead."""
        errors = list(_check(view, path))
        if view.name in self.by_name:
            errors.append(duplicate(f"{path}.name", view.name))
        elif len(self.by_name) >= MAX_TYPES:
            errors.append(invalid(path, view.name, f"there are more than {MAX_TYPES:,} instance types"))
        if not errors:
            self.by_name[view.name] = _compiled(view)
        return errors


def is_instance_types(value: Any) -> bool:
    """Whether a decoded document is a list of instance types."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "offerings" in value[0]


def _check(view: InstanceTypeView, path: str) -> Iterable[FieldError]:
    if not view.name:
        yield required(f"{path}.name", "the name of the instance type")
    for resource in ("cpu", "memory"):
        if resource not in view.resources:
            yield required(f"{path}.resources[{resource}]")
    yield from check_amounts(view.resources, f"{path}.resources")
    if not view.offerings:
        yield required(f"{path}.offerings", "at least one way to buy it")
    if len(view.offerings) > MAX_OFFERINGS:
        yield invalid(f"{path}.offerings", len(view.offerings), f"must have at most {MAX_OFFERINGS:,} items")
        return
    for index, offering in enumerate(view.offerings):
        at = f"{path}.offerings[{index}]"
        yield from check_not_negative(offering.Price, f"{at}.Price")
        yield from check_requirements(offering.Requirements, f"{at}.Requirements")


def _compiled(view: InstanceTypeView) -> InstanceType:
    capacity = {"pods": _DEFAULT_PODS, **view.resources}
    offerings = tuple(
        InstanceOffering(intersection(offering.Requirements), offering.Price)
        for offering in view.offerings
        if offering.Available
    )
    cpu, memory = str(capacity["cpu"]), str(capacity["memory"])
    values: dict[str, LabelValues] = {
        INSTANCE_TYPE: only(view.name),
        ARCH: only(view.architecture or "amd64"),
        OS: only(*(view.operatingSystems or ("linux",))),
        INSTANCE_SIZE: only(size_of(view.name, cpu)),
        INSTANCE_FAMILY: only(family_of(view.name)),
        INSTANCE_CPU: only(cpu),
        INSTANCE_MEMORY: only(memory),
    }
    for key in (ZONE, CAPACITY_TYPE):
        listed = _listed(offering.values.get(key) for offering in offerings)
        if listed:
            values[key] = only(*listed)
    return InstanceType(view.name, values, capacity, offerings)


def _listed(sets: Iterable[LabelValues | None]) -> Sequence[str]:
    return sorted({value for each in sets if each is not None for value in each.listed})


@reads_text("m5", ".", "xlarge", "2", arguments=("4",))
def size_of(name: str, cpu: str) -> str:
    """Return the size in a name such as `m5.2xlarge`; the number of CPUs for other names."""
    match = _SIZED.fullmatch(name)
    return match[1] if match else cpu


@reads_text("c", "-", ".", "1x")
def family_of(name: str) -> str:
    """Return what stands before the first `.` or `-` of a name; its first letter if there is none."""
    family = name.partition(".")[0].partition("-")[0]
    return family if len(family) < len(name) else name[:1]
