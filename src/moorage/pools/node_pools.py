"""Make a pool of a NodePool: one template for each instance type, offering and choice of labels that it allows.

A label that a NodePool requires to be one of several values has one template for each: Karpenter takes the value that
a pod asks for. Kubernetes: Karpenter, pkg/apis/v1/nodepool.go and pkg/controllers/provisioning/scheduling. Differs: a
label of which only a part of the values is excluded (`Exists`, `NotIn`, `Gt`, …) and that no instance type has is left
out of the templates, and named in a note: Karpenter makes up a value.
"""

from collections.abc import Iterable, Mapping
from itertools import islice, product

from moorage.model.cron_schedule import schedule_error
from moorage.model.field_error import FieldError, invalid, one_of
from moorage.model.text.patterns import whole
from moorage.model.well_known.labels import INSTANCE_TYPE, OS, ZONE
from moorage.pools.checks import (
    check_amounts,
    check_node_facts,
    check_not_negative,
    check_requirements,
    read_seconds,
)
from moorage.pools.documents import BudgetView, LabelRequirement, NodePool, NodePoolSpec
from moorage.pools.instance_types import CAPACITY_TYPE, InstanceType, InstanceTypes, Values, intersection
from moorage.pools.label_values import ANYTHING, IN, LabelValues
from moorage.pools.node_template import NORMALIZED, Disruption, DisruptionBudget, NodeTemplate, Pool, Scaler, WrittenAt

NODE_POOL_LABEL = "karpenter.sh/nodepool"
REASONS = ("Underutilized", "Empty", "Drifted")
POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
MAX_WEIGHT = 100
DEFAULT_EXPIRY = "720h"
#: A pool may have this many templates; more are refused, because each is tried on its own.
MAX_TEMPLATES = 20_000
_SPEC = "spec.template.spec"
_MAX_BUDGETS = 50
_is_share = whole(r"(100|[0-9]{1,2})%|[0-9]{1,9}")
_BUDGET_NODES = "must be a number of nodes, or a percentage such as 10%"
_FIXED = "must not be set in a NodePool with replicas"
NO_TEMPLATE = "no instance type meets the requirements"


class PoolMaker:
    """Makes pools of NodePools with the instance types of the input."""

    def __init__(self, types: InstanceTypes) -> None:
        self._types = types
        self.notes: list[str] = []

    def make(self, view: NodePool, place: WrittenAt) -> tuple[Pool | None, list[FieldError]]:
        """Return the pool, or what is wrong with it."""
        spec, errors = view.spec, list(_check(view.spec))
        disruption = _disruption(spec, errors)
        if errors:
            return None, errors
        required = self._required(view)
        choices = self._choices(required)
        every = (made for each in self._types.by_name.values() for made in _templates(view, each, required, choices))
        templates = list(islice(every, MAX_TEMPLATES + 1))
        if len(templates) > MAX_TEMPLATES:
            where = f"{_SPEC}.requirements"
            return None, [invalid(where, view.metadata.name, f"allows more than {MAX_TEMPLATES:,} kinds of node")]
        if not templates:
            return None, [invalid(f"{_SPEC}.requirements", view.metadata.name, self._why_none(required))]
        limits = dict(spec.limits)
        nodes = limits.pop("nodes", None)
        return Pool(
            name=view.metadata.name,
            scaler=Scaler.KARPENTER,
            place=place,
            templates=tuple(templates),
            most=None if nodes is None else nodes.value(),
            limits=limits,
            weight=spec.weight or 0,
            replicas=spec.replicas,
            disruption=disruption,
        ), []

    def _required(self, view: NodePool) -> dict[str, LabelValues]:
        """Return the values that each label may have by the requirements and labels of the pool."""
        template = view.spec.template
        own = [LabelRequirement(key, IN, (value,)) for key, value in template.metadata.labels.items()]
        own.append(LabelRequirement(NODE_POOL_LABEL, IN, (view.metadata.name,)))
        required = intersection((*template.spec.requirements, *own))
        known = {INSTANCE_TYPE, OS, ZONE, CAPACITY_TYPE, *NORMALIZED.values()}
        for each in self._types.by_name.values():
            known |= each.values.keys()
        for key, values in required.items():
            if key not in known and values.excludes:
                text = f"NodePool {view.metadata.name}: label {key} is {values}: its nodes are taken to have none"
                self.notes.append(text)
        return required

    def _choices(self, required: Values) -> dict[str, tuple[str, ...]]:
        """Return the values of labels that no instance type decides, and that the pool leaves open."""
        typed = {key for each in self._types.by_name.values() for key in each.values} | {ZONE, CAPACITY_TYPE}
        return {key: values.listed for key, values in required.items() if key not in typed and values.listed}

    def _why_none(self, required: Values) -> str:
        """Say which requirement no instance type meets by itself, if there is one."""
        types = self._types.by_name.values()
        if not types:
            return f"{NO_TEMPLATE}: there are no instance types in the input; give a file with them, too"
        for key, values in required.items():
            having = [each.values[key] for each in types if key in each.values]
            if having and all((values & each).is_empty for each in having):
                there = sorted({value for each in having for value in each.listed})
                shown = ", ".join(islice(there, 8)) + (", …" if len(there) > 8 else "")
                return f"{NO_TEMPLATE}: {key} must be {values}; there are {shown}"
        return f"{NO_TEMPLATE}: each is met by some, but all together by none of {len(types):,}"


def _templates(
    view: NodePool, each: InstanceType, required: Values, choices: Mapping[str, tuple[str, ...]]
) -> Iterable[NodeTemplate]:
    decided = {key: values & required.get(key, ANYTHING) for key, values in each.values.items()}
    if any(values.is_empty for values in decided.values()):
        return
    template = view.spec.template
    for offering in each.offerings:
        offered = {key: values & required.get(key, ANYTHING) for key, values in offering.values.items()}
        if any(values.is_empty for values in offered.values()):
            continue
        labels = {key: values.listed[0] for key, values in {**decided, **offered}.items() if values.listed}
        if OS in decided and "linux" in decided[OS].values:
            labels[OS] = "linux"
        for chosen in product(*choices.values()):
            all_labels = {**labels, **dict(zip(choices, chosen, strict=True))}
            yield NodeTemplate(
                pool=view.metadata.name,
                instance_type=each.name,
                zone=all_labels.get(ZONE, ""),
                capacity_type=all_labels.get(CAPACITY_TYPE, ""),
                labels=all_labels,
                annotations=template.metadata.annotations,
                taints=template.spec.taints,
                startup_taints=template.spec.startupTaints,
                capacity=each.capacity,
                allocatable=each.allocatable,
                price=offering.price,
            )


def _check(spec: NodePoolSpec) -> Iterable[FieldError]:
    within = spec.template.spec
    yield from check_requirements(within.requirements, f"{_SPEC}.requirements")
    taints = {f"{_SPEC}.taints": within.taints, f"{_SPEC}.startupTaints": within.startupTaints}
    yield from check_node_facts(spec.template.metadata.labels, taints, "spec.template")
    yield from check_amounts(spec.limits, "spec.limits")
    if spec.weight is not None and not 1 <= spec.weight <= MAX_WEIGHT:
        yield invalid("spec.weight", spec.weight, f"must be from 1 to {MAX_WEIGHT}")
    yield from check_not_negative(spec.replicas, "spec.replicas")
    if spec.replicas is not None:
        if spec.weight is not None:
            yield invalid("spec.weight", spec.weight, _FIXED)
        for name, amount in spec.limits.items():
            if name != "nodes":
                yield invalid(f"spec.limits[{name}]", str(amount), _FIXED)


def _disruption(spec: NodePoolSpec, errors: list[FieldError]) -> Disruption:
    view = spec.disruption
    errors += one_of(view.consolidationPolicy, POLICIES, "spec.disruption.consolidationPolicy")
    budgets = view.budgets if view.budgets is not None else (BudgetView(),)
    read = tuple(
        _budget(each, f"spec.disruption.budgets[{index}]", errors) for index, each in enumerate(budgets[:_MAX_BUDGETS])
    )
    if len(budgets) > _MAX_BUDGETS:
        errors.append(invalid("spec.disruption.budgets", len(budgets), f"must have at most {_MAX_BUDGETS} items"))
    after = read_seconds(view.consolidateAfter, "spec.disruption.consolidateAfter", errors)
    expiry = spec.template.spec.expireAfter or DEFAULT_EXPIRY
    expires = read_seconds(expiry, f"{_SPEC}.expireAfter", errors)
    return Disruption(view.consolidationPolicy, after, expires, read)


def _budget(view: BudgetView, path: str, errors: list[FieldError]) -> DisruptionBudget:
    if not _is_share(view.nodes):
        errors.append(invalid(f"{path}.nodes", view.nodes, _BUDGET_NODES))
    for index, reason in enumerate(view.reasons[:_MAX_BUDGETS]):
        errors += one_of(reason, REASONS, f"{path}.reasons[{index}]")
    if bool(view.schedule) != bool(view.duration):
        errors.append(invalid(path, view.schedule or view.duration, "'schedule' must be set with 'duration'"))
    if view.schedule and (complaint := schedule_error(view.schedule)):
        errors.append(invalid(f"{path}.schedule", view.schedule, complaint))
    seconds = read_seconds(view.duration, f"{path}.duration", errors) if view.duration else None
    return DisruptionBudget(view.nodes, tuple(view.reasons), view.schedule, seconds)
