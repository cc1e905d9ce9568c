"""Make pools of node groups: our NodeGroup, and groups of a cloud with the tags that Cluster Autoscaler reads.

Kubernetes: Cluster Autoscaler, cloudprovider/aws/aws_manager.go: labels, taints and resources of
`k8s.io/cluster-autoscaler/node-template/…`. Differs: one template for each zone; Cluster Autoscaler takes the first.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from moorage.admit.pod.tolerations import TAINT_EFFECTS
from moorage.model.field_error import FieldError, invalid, not_found, required
from moorage.model.quantity import Quantity, QuantityError, parse_quantity
from moorage.model.text.readers import reads_text
from moorage.model.types.node import Taint
from moorage.model.well_known.labels import ARCH, INSTANCE_TYPE, OS, ZONE
from moorage.pools.checks import check_amounts, check_node_facts, check_not_negative
from moorage.pools.documents import AutoScalingGroup, NodeGroup, Tag
from moorage.pools.instance_types import CAPACITY_TYPE, ON_DEMAND, SPOT, InstanceType, InstanceTypes
from moorage.pools.label_values import only
from moorage.pools.node_template import NodeTemplate, Pool, Scaler, WrittenAt

LABEL_TAG = "k8s.io/cluster-autoscaler/node-template/label/"
TAINT_TAG = "k8s.io/cluster-autoscaler/node-template/taint/"
RESOURCE_TAG = "k8s.io/cluster-autoscaler/node-template/resources/"
#: Ours: the price of an hour of a node of the group.
PRICE_TAG = "capacity.moorage.dev/price"
MAX_ZONES = 100
_NOTHING: Mapping[str, str] = MappingProxyType({})
NO_CAPACITY = "the capacity of a node, or an instanceType of the instance types in the input"
_TAINT = f"must be VALUE:EFFECT with one of {', '.join(TAINT_EFFECTS)}"
_BELOW_LEAST = "must not be less than {}"

Made = tuple[Pool | None, list[FieldError]]


class GroupMaker:
    """Makes pools of node groups with the instance types of the input."""

    def __init__(self, types: InstanceTypes) -> None:
        self._types = types

    def make(self, view: NodeGroup, place: WrittenAt) -> Made:
        """Return the pool of a NodeGroup, or what is wrong with it."""
        spec, template = view.spec, view.spec.template
        at = "spec.template"
        errors = _check_sizes(spec.minSize, spec.maxSize, "spec.minSize", "spec.maxSize")
        errors += check_not_negative(spec.price, "spec.price")
        taints = {f"{at}.spec.taints": template.spec.taints, f"{at}.spec.startupTaints": template.spec.startupTaints}
        errors += check_node_facts(template.metadata.labels, taints, at)
        capacity = dict(template.status.capacity or template.status.allocatable)
        for name, amounts in (("capacity", template.status.capacity), ("allocatable", template.status.allocatable)):
            errors += check_amounts(amounts, f"{at}.status.{name}")
        if len(spec.zones) > MAX_ZONES:
            errors.append(invalid("spec.zones", len(spec.zones), f"must have at most {MAX_ZONES} items"))
        kind = self._types.by_name.get(spec.instanceType)
        if spec.instanceType and kind is None and not capacity:
            errors.append(not_found("spec.instanceType", spec.instanceType, "not among the instance types"))
        elif not capacity and kind is None:
            errors.append(required(f"{at}.status.capacity", NO_CAPACITY))
        if errors:
            return None, errors
        templates = _templates(
            view.metadata.name,
            kind,
            instance_type=spec.instanceType,
            labels=template.metadata.labels,
            annotations=template.metadata.annotations,
            zones=spec.zones or tuple(filter(None, [template.metadata.labels.get(ZONE, "")])),
            capacity_type=spec.capacityType or template.metadata.labels.get(CAPACITY_TYPE, ""),
            taints=template.spec.taints,
            startup_taints=template.spec.startupTaints,
            capacity=capacity,
            allocatable=dict(template.status.allocatable or capacity),
            price=spec.price,
        )
        return _pool(view.metadata.name, place, templates, spec.minSize, spec.maxSize, spec.priority), []

    def make_of_cloud(self, view: AutoScalingGroup, path: str, place: WrittenAt) -> Made:
        """Return the pool of a group with tags, or what is wrong with it."""
        errors = _check_sizes(view.MinSize, view.MaxSize, f"{path}.MinSize", f"{path}.MaxSize")
        if not view.AutoScalingGroupName:
            errors.append(required(f"{path}.AutoScalingGroupName"))
        tags = _Tags(view.Tags, f"{path}.Tags", errors)
        name = _instance_type(view) or tags.labels.get(INSTANCE_TYPE, "")
        kind = self._types.by_name.get(name)
        if kind is None and not {"cpu", "memory"} <= tags.resources.keys():
            why = f"not among the instance types, and the tags {RESOURCE_TAG}cpu and …/memory are not there"
            errors.append(not_found(f"{path}.InstanceType", name, why))
        errors += check_node_facts(tags.labels, {f"{path}.Tags": tags.taints}, path)
        if errors:
            return None, errors
        capacity = {**(kind.capacity if kind else {}), **tags.resources}
        templates = _templates(
            view.AutoScalingGroupName,
            kind,
            instance_type=name,
            labels=tags.labels,
            zones=view.AvailabilityZones,
            capacity_type=tags.labels.get(CAPACITY_TYPE) or _capacity_type(view),
            taints=tags.taints,
            capacity=capacity,
            allocatable={**(kind.allocatable if kind else {}), **tags.resources},
            price=tags.price,
        )
        return _pool(view.AutoScalingGroupName, place, templates, view.MinSize, view.MaxSize, 0), []


def labels_and_taints(view: AutoScalingGroup) -> tuple[dict[str, str], list[Taint]]:
    """Return what the tags of a group say of its nodes; those that cannot be read are left out."""
    tags = _Tags(view.Tags, "Tags", [])
    return tags.labels, tags.taints


def _pool(
    name: str, place: WrittenAt, templates: Iterable[NodeTemplate], least: int, most: int | None, weight: int
) -> Pool:
    return Pool(
        name=name,
        scaler=Scaler.CLUSTER_AUTOSCALER,
        place=place,
        templates=tuple(templates),
        least=least,
        most=most,
        weight=weight,
    )


def _check_sizes(least: int, most: int | None, least_path: str, most_path: str) -> list[FieldError]:
    errors = check_not_negative(least, least_path) + check_not_negative(most, most_path)
    if not errors and most is not None and most < least:
        errors.append(invalid(most_path, most, _BELOW_LEAST.format(least)))
    return errors


def _templates(
    pool: str,
    kind: InstanceType | None,
    *,
    instance_type: str,
    labels: Mapping[str, str],
    zones: Sequence[str],
    capacity_type: str,
    taints: Sequence[Taint],
    capacity: Mapping[str, Quantity],
    allocatable: Mapping[str, Quantity],
    price: float | None,
    startup_taints: Sequence[Taint] = (),
    annotations: Mapping[str, str] = _NOTHING,
) -> Iterable[NodeTemplate]:
    """Yield a template for each zone; one without a zone if there is none."""
    typed = {OS: "linux", ARCH: "amd64"}
    if kind is not None:
        typed |= {key: values.listed[0] for key, values in kind.values.items() if len(values.listed) == 1}
        capacity, allocatable = capacity or kind.capacity, allocatable or kind.allocatable
    if instance_type:
        typed[INSTANCE_TYPE] = instance_type
    for zone in dict.fromkeys(zones) or ("",):
        placed = {ZONE: zone} if zone else {}
        bought = {CAPACITY_TYPE: capacity_type} if capacity_type else {}
        yield NodeTemplate(
            pool=pool,
            instance_type=instance_type or pool,
            zone=zone,
            capacity_type=capacity_type,
            labels={**typed, **bought, **labels, **placed},
            annotations=annotations,
            taints=tuple(taints),
            startup_taints=tuple(startup_taints),
            capacity={"pods": _PODS, **capacity},
            allocatable={"pods": _PODS, **allocatable},
            price=price if price is not None else _listed_price(kind, zone, capacity_type),
        )


_PODS = parse_quantity("110")


def _listed_price(kind: InstanceType | None, zone: str, capacity_type: str) -> float | None:
    """Return the lowest price at which a type is offered in this zone, in this way."""
    if kind is None:
        return None
    wanted = {ZONE: zone, CAPACITY_TYPE: capacity_type or ON_DEMAND}
    prices = [
        offering.price
        for offering in kind.offerings
        if offering.price is not None
        and all(not value or offering.values.get(key, only(value)).has(value) for key, value in wanted.items())
    ]
    return min(prices, default=None)


def _instance_type(view: AutoScalingGroup) -> str:
    """Return the first type of a group: that of its template, or of a machine that it has."""
    policy = view.MixedInstancesPolicy
    named = (*(policy.LaunchTemplate.Overrides if policy else ()), *view.Instances)
    return next((each.InstanceType for each in named if each.InstanceType), "")


def _capacity_type(view: AutoScalingGroup) -> str:
    policy = view.MixedInstancesPolicy
    share = policy.InstancesDistribution if policy else None
    is_spot = share is not None and not (share.OnDemandBaseCapacity or share.OnDemandPercentageAboveBaseCapacity)
    return SPOT if is_spot else ON_DEMAND


class _Tags:
    """What the tags of a group say of its nodes."""

    def __init__(self, tags: Sequence[Tag], path: str, errors: list[FieldError]) -> None:
        self.labels: dict[str, str] = {}
        self.taints: list[Taint] = []
        self.resources: dict[str, Quantity] = {}
        self.price: float | None = None
        for index, tag in enumerate(tags):
            at, key = f"{path}[{index}]", tag.Key
            if key.startswith(LABEL_TAG):
                self.labels[key.removeprefix(LABEL_TAG)] = tag.Value
            elif key.startswith(TAINT_TAG):
                self._add_taint(key.removeprefix(TAINT_TAG), tag.Value, at, errors)
            elif key.startswith(RESOURCE_TAG):
                self._add_resource(key.removeprefix(RESOURCE_TAG), tag.Value, at, errors)
            elif key == PRICE_TAG:
                self.price = read_price(tag.Value)
                if self.price is None:
                    errors.append(invalid(f"{at}.Value", tag.Value, "must be the price of an hour, such as 0.25"))

    def _add_taint(self, key: str, text: str, path: str, errors: list[FieldError]) -> None:
        value, colon, effect = text.partition(":")
        if not colon or effect not in TAINT_EFFECTS:
            errors.append(
                invalid(f"{path}.Value", text, f"must be VALUE:EFFECT with one of {', '.join(TAINT_EFFECTS)}")
            )
        else:
            self.taints.append(Taint(key=key, value=value, effect=effect))

    def _add_resource(self, name: str, text: str, path: str, errors: list[FieldError]) -> None:
        try:
            self.resources[name] = parse_quantity(text)
        except QuantityError as error:
            errors.append(invalid(f"{path}.Value", text, str(error)))
            return
        errors += check_amounts({name: self.resources[name]}, f"{path}.Value")


@reads_text("1", ".", "0", "-", "e", longest=40)
def read_price(text: str) -> float | None:
    """Return a price of at most 40 characters; None for what is none."""
    if len(text) > 40:
        return None
    try:
        price = float(text)
    except ValueError:
        return None
    return price if 0 <= price < float("inf") else None
