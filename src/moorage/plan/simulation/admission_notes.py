"""Note what admission set in pods, and what it took to exist or did not do because the input does not have it."""

from collections.abc import Iterator

from moorage.admit.plugins.limit_ranger import ANNOTATION
from moorage.lint.finding import Severity
from moorage.plan.input.extensions.applied import notes_of_gaps
from moorage.plan.input.inventory import NOWHERE, Inventory, Key, Note, note_at, severity_of
from moorage.plan.simulation.simulation import Simulation

_SET = "LimitRanger plugin set: "


def default_notes(simulation: Simulation, inventory: Inventory) -> Iterator[Note]:
    """Note once for each workload, and for each pod without one, what LimitRanges set in its containers.

    What controllers' objects need and the input does not have is noted once, unless reading noted it.
    """
    yield from assumption_notes(simulation, inventory)
    yield from simulation.api.applied.notes(inventory)
    new = [item for item in inventory.of_kind("Pod") if not item.existing]
    pods = [(item.view, item.key) for item in new]
    pods += [(pod.view, Key(*simulation.workload_of(pod))) for pod in simulation.api.limited_pods]
    noted: set[tuple[Key, str]] = set()
    for pod, key in pods:
        text = pod.metadata.annotations.get(ANNOTATION, "")
        if text.startswith(_SET) and (key, text) not in noted:
            noted.add((key, text))
            place = inventory.items[key].place if key in inventory.items else NOWHERE
            yield note_at(Severity.INFO, str(key), f"LimitRanges set {text.removeprefix(_SET)}", place)


def assumption_notes(simulation: Simulation, inventory: Inventory) -> Iterator[Note]:
    """Note what objects of controllers need and the input does not have, unless reading noted it.

    Also which webhooks were not called, and which policies not applied, of the input and of controllers.
    """
    extensions, applied = simulation.api.extensions, simulation.api.applied
    not_called = inventory.not_called + applied.not_called
    yield from notes_of_gaps(not_called, inventory.left_out | extensions.left_out, extensions)
    for made, assumption in simulation.api.assumptions:
        if (assumption.kind, assumption.key) not in inventory.assumed:
            key = Key(*simulation.workload_of(made))
            place = inventory.items[key].place if key in inventory.items else NOWHERE
            yield note_at(severity_of(assumption.kind), str(key), assumption.text, place)
