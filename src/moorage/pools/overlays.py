"""Put NodeOverlays over the templates of pools: other prices, and resources that an instance type does not have.

The overlay with the highest weight decides; of equal weights the one whose name is last.
Kubernetes: Karpenter, pkg/apis/v1alpha1/nodeoverlay.go and AdjustedPrice of pkg/cloudprovider/types.go.
"""

from collections.abc import Iterable, Sequence

import msgspec

from moorage.model.field_error import FieldError, forbidden, invalid
from moorage.model.quantity import Quantity
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.pools.checks import check_amounts, check_requirements
from moorage.pools.documents import NodeOverlay
from moorage.pools.instance_types import Values, intersection
from moorage.pools.node_template import NodeTemplate, Pool

MAX_WEIGHT = 10_000
_STANDARD = ("cpu", "memory", "ephemeral-storage", "pods")
_is_price = whole(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_is_adjustment = whole(r"[+-][0-9]{0,15}\.?[0-9]{1,15}|\+[0-9]{0,15}\.?[0-9]{1,15}%|-[0-9]{1,2}(\.[0-9]{1,15})?%|-100%")
_PRICE = "must be a number such as 0.25"
_ADJUSTMENT = "must be a signed number or percentage such as +0.1 or -15%"


class Overlay(msgspec.Struct, frozen=True):
    """An overlay that was checked. `price` is a number, or a change with its sign; empty if it has none."""

    name: str
    weight: int
    values: Values
    price: str
    capacity: dict[str, Quantity]

    def covers(self, template: NodeTemplate) -> bool:
        return all(
            values.has(template.labels[key]) if key in template.labels else values.is_empty
            for key, values in self.values.items()
        )


def read_overlay(view: NodeOverlay) -> tuple[Overlay | None, list[FieldError]]:
    """Return the overlay, or what is wrong with it."""
    errors, spec = list(_check(view)), view.spec
    if errors:
        return None, errors
    change = spec.price if spec.price is not None else spec.priceAdjustment
    return Overlay(
        view.metadata.name, spec.weight or 0, intersection(spec.requirements), change or "", spec.capacity
    ), []


def _check(view: NodeOverlay) -> Iterable[FieldError]:
    spec = view.spec
    yield from check_requirements(spec.requirements, "spec.requirements")
    if spec.price is not None and spec.priceAdjustment is not None:
        yield forbidden("spec", "cannot set both 'price' and 'priceAdjustment'")
    if spec.price is not None and not _is_price(spec.price):
        yield invalid("spec.price", spec.price, _PRICE)
    if spec.priceAdjustment is not None and not _is_adjustment(spec.priceAdjustment):
        yield invalid("spec.priceAdjustment", spec.priceAdjustment, _ADJUSTMENT)
    yield from check_amounts(spec.capacity, "spec.capacity")
    for name in _STANDARD:
        if name in spec.capacity:
            yield forbidden(f"spec.capacity[{name}]", "invalid resource restricted")
    if spec.weight is not None and not 1 <= spec.weight <= MAX_WEIGHT:
        yield invalid("spec.weight", spec.weight, f"must be from 1 to {MAX_WEIGHT:,}")


def overlaid(pool: Pool, overlays: Sequence[Overlay]) -> Pool:
    """Return a pool whose templates have the prices and resources that overlays give them."""
    order = sorted(overlays, key=lambda each: (each.weight, each.name), reverse=True)
    templates = tuple(_overlaid(template, order) for template in pool.templates) if order else pool.templates
    return msgspec.structs.replace(pool, templates=templates)


def _overlaid(template: NodeTemplate, order: Sequence[Overlay]) -> NodeTemplate:
    covering = [overlay for overlay in order if overlay.covers(template)]
    change = next((overlay.price for overlay in covering if overlay.price), "")
    added: dict[str, Quantity] = {}
    for overlay in covering:
        added = {**overlay.capacity, **added}
    if not change and not added:
        return template
    return msgspec.structs.replace(
        template,
        price=adjusted_price(change, template.price) if change else template.price,
        capacity={**added, **template.capacity},
        allocatable={**added, **template.allocatable},
    )


@reads_text("+", "-", "1", ".", "%", arguments=(1.0,), raises=ValueError)
def adjusted_price(change: str, price: float | None) -> float | None:
    """Return a price after a change that was checked: a new price, `+0.1`, or `-15%`. It never gets below zero."""
    if change[0] not in "+-":
        return float(change[:40])
    if price is None:
        return None
    share = change.endswith("%")
    amount = float(change[:40].rstrip("%"))
    return max(0.0, price * (1 + amount / 100) if share else price + amount)
