"""Remember how the objects of a live cluster were admitted, so that they are not admitted again at the next reading."""

from collections.abc import Callable

from moorage.admit.admission import Admitted
from moorage.admit.raw import Raw
from moorage.model.gates import GateSet
from moorage.plan.input.inventory import metadata_text


class KnownObjects:
    """Objects of a live cluster that were admitted before, by uid and revision: they are not admitted again.

    What it gives out is shared: it is for processes that fork before they go on with it. It holds what the last
    reading had, and is of one set of gates.
    """

    def __init__(self) -> None:
        self._gates: GateSet | None = None
        self._before: dict[tuple[str, str, str], Admitted] = {}
        self._now: dict[tuple[str, str, str], Admitted] = {}

    def begin(self, gates: GateSet) -> None:
        """Forget what the last reading did not have, and everything if the gates are others."""
        self._before, self._now = (self._now if gates == self._gates else {}), {}
        self._gates = gates

    def admitted(self, kind: str, raw: Raw, admit_it: Callable[[], Admitted]) -> Admitted:
        """Return how an object was admitted, or admit it."""
        key = kind, metadata_text(raw, "uid"), metadata_text(raw, "resourceVersion")
        known = self._before.get(key)
        if known is None:
            known = admit_it()
        if all(key):
            self._now[key] = known
        return known
