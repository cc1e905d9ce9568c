"""What a component would do if a gate were disabled, and what the API server would say of a new object."""

from typing import NamedTuple

from moorage.admit.admission import Rejected
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.raw import Raw
from moorage.admit.world import AdmissionWorld
from moorage.model.gates import Component, GateSet

API, SCHEDULER = Component.API_SERVER, Component.SCHEDULER
MANAGER, KUBELET = Component.CONTROLLER_MANAGER, Component.KUBELET


class Consequence(NamedTuple):
    """What one component would do. `breaks`: with a visible effect; `drops`: fields of what is written from then on."""

    component: Component
    text: str
    breaks: bool
    drops: bool = False


def refusal(new: Raw, on: GateSet, off: GateSet, world: AdmissionWorld | None = None) -> str:
    """Return what the API server would say of a new object without the gate, and does not say with it.

    Without a `world`, what the object names is taken to exist.
    """
    world = world or ObjectsWorld()
    without, with_it = (_complaints(new, Admission(world, gates)) for gates in (off, on))
    return "; ".join(text for text in without if text not in with_it)


def loses_fields(new: Raw, on: GateSet, off: GateSet) -> bool:
    """True if the API server would accept a new object without the gate, but drop some of its fields."""
    with_it, without = (Admission(ObjectsWorld(), gates).admit(new) for gates in (on, off))
    if isinstance(with_it, Rejected) or isinstance(without, Rejected):
        return False
    return bool(with_it.object.get("spec") != without.object.get("spec"))


def _complaints(new: Raw, chain: Admission) -> list[str]:
    result = chain.admit(new)
    if not isinstance(result, Rejected):
        return []
    return [str(error) for error in result.errors] or [str(result.status["message"])]
