"""Say what autoscalers have done in a plan, and why they do nothing."""

from collections.abc import Iterator

import msgspec

from moorage.client.protocol import Object
from moorage.lint.finding import Severity
from moorage.model.go.times import duration_text
from moorage.model.kinds import KINDS
from moorage.model.types.meta import ObjectMeta
from moorage.plan.input.inventory import NOWHERE, Inventory, Key, Note, note_at
from moorage.plan.simulation.simulation import Simulation
from moorage.serve.tables.columns import Ages
from moorage.serve.tables.render import table_of
from moorage.usage.annotations import problems

_SECOND = 1_000_000_000
_TARGETS = 2  # the column of `kubectl get hpa`


class Rescale(msgspec.Struct, frozen=True, rename="camel"):
    """One scaling, and how many seconds after the beginning, or after the changes, it happens."""

    after_seconds: float
    before: int
    after: int
    reason: str

    def __str__(self) -> str:
        return f"{duration_text(round(self.after_seconds) * _SECOND)}: {self.before:,} → {self.after:,}"


class AutoscalerLine(msgspec.Struct, frozen=True, rename="camel"):
    """One autoscaler: what it scales, the replicas that there are, its bounds, its metrics as kubectl shows them.

    `problem` is why it does not scale by its metrics; empty if it does.
    """

    autoscaler: str
    target: str
    replicas: int
    min_replicas: int
    max_replicas: int
    targets: str
    scalings: tuple[Rescale, ...]
    problem: str = ""


def autoscaler_lines(simulation: Simulation) -> Iterator[AutoscalerLine]:
    """Yield a line for each autoscaler."""
    scaled = simulation.controllers.scaled
    start = simulation.history.start
    for found in simulation.world.all(KINDS.HORIZONTAL_POD_AUTOSCALER):
        view = found.view
        target = view.spec.scaleTargetRef
        scalings = tuple(
            Rescale(one.time - start, one.before, one.after, one.reason)
            for one in scaled
            if one.autoscaler == found.key and one.time >= start
        )
        replicas = _replicas(simulation, found)
        yield AutoscalerLine(
            f"HorizontalPodAutoscaler {found.key}",
            f"{target.kind} {found.namespace}/{target.name}",
            view.status.currentReplicas if replicas is None else replicas,
            1 if view.spec.minReplicas is None else view.spec.minReplicas,
            view.spec.maxReplicas,
            str(table_of(found.kind).cells(found.raw, Ages(simulation.clock.now))[_TARGETS]),
            scalings,
            _problem(found),
        )


def _replicas(simulation: Simulation, found: Object) -> int | None:
    reference = found.view.spec.scaleTargetRef
    kinds = (kind for kind in KINDS.values() if kind.name == reference.kind and kind.subresource("scale") is not None)
    for kind in kinds:
        view = simulation.world.view(kind, f"{found.namespace}/{reference.name}")
        if view is not None:
            return 1 if view.spec.replicas is None else int(view.spec.replicas)
    return None


def _problem(found: Object) -> str:
    """Return what the first condition says that is not as it has to be."""
    conditions = found.view.status.conditions
    wrong = (one for one in conditions if one.type in ("AbleToScale", "ScalingActive") and one.status == "False")
    return next((one.message for one in wrong), "")


#: What may have annotations about usage, beside the templates of pods.
_ANNOTATED = (KINDS.NODE, KINDS.SERVICE, KINDS.INGRESS, *(kind for kind in KINDS.values() if kind.template is not None))


def usage_notes(simulation: Simulation, inventory: Inventory) -> Iterator[Note]:
    """Note the annotations about usage that cannot be read: without them nothing is known of it."""
    for kind in _ANNOTATED:
        for found in simulation.world.all(kind) if kind is not KINDS.REPLICA_SET else ():
            for metadata in _annotated(found):
                for annotation, why in problems(metadata):
                    key = Key(*simulation.workload_of(found))
                    place = inventory.items[key].place if key in inventory.items else NOWHERE
                    text = f"has an annotation {annotation} that is not read: {why}"
                    yield note_at(Severity.WARNING, str(key), text, place)


def _annotated(found: Object) -> Iterator[ObjectMeta]:
    template = getattr(getattr(found.view, "spec", None), "template", None)
    for metadata in (found.view.metadata, template.metadata if template is not None else None):
        if metadata is not None and metadata.annotations:
            yield metadata
