"""What a component would do if a gate were disabled, and what the API server would say of a new object."""

from typing import NamedTuple

from moorage.admit.admission import Rejected, admit
from moorage.admit.raw import Raw, copy_document
from moorage.model.gates import Component, GateSet

API, SCHEDULER = Component.API_SERVER, Component.SCHEDULER
MANAGER, KUBELET = Component.CONTROLLER_MANAGER, Component.KUBELET


class Consequence(NamedTuple):
    """What one component would do. `breaks`: with a visible effect."""

    component: Component
    text: str
    breaks: bool


def refusal(made: Raw, on: GateSet, off: GateSet) -> str:
    """Return what the API server would say of a new object without the gate, and does not say with it."""
    said, also = (_complaints(copy_document(made), gates) for gates in (off, on))
    return "; ".join(text for text in said if text not in also)


def loses_fields(made: Raw, on: GateSet, off: GateSet) -> bool:
    """True if the API server would accept a new object without the gate, but drop some of its fields."""
    with_it, without = (admit(copy_document(made), None, gates, plugins=()) for gates in (on, off))
    if isinstance(with_it, Rejected) or isinstance(without, Rejected):
        return False
    return bool(with_it.object.get("spec") != without.object.get("spec"))


def _complaints(made: Raw, gates: GateSet) -> list[str]:
    result = admit(made, None, gates, plugins=())
    if not isinstance(result, Rejected):
        return []
    return [str(error) for error in result.errors] or [str(result.status["message"])]
