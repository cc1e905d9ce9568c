"""Admission plugins: what clusters add to pods beyond the API's own defaults.

Kubernetes: plugin/pkg/admission, of which Moorage has those that matter to scheduling, and for a server those without
which objects would be nowhere.
"""

from moorage.admit.raw import Raw
from moorage.model.kinds import Kind
from moorage.model.types.pod import Pod


class Forbidden(Exception):
    """A plugin refuses the object; the text is the reason, without the object's name."""


class Plugin:
    """One admission plugin; it sees every object and decides by its kind. Both methods may raise `Forbidden`.

    `live`: it changes nothing and its answer may be another for the same object a moment later, so that it is asked
    for each pod, even where its template was admitted before (`moorage.serve.templates.pods`).
    """

    live = False

    @property
    def name(self) -> str:
        return type(self).__name__

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        """Change the object in place, before it is validated."""

    def validate(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        """Look at the object once more, when nothing else is wrong with it."""

    def resize(self, new: Raw, view: Pod, old_view: Pod) -> None:
        """Look at a pod whose resources `pods/resize` changes, when nothing else is wrong with it."""

    def attach(self, new: Raw) -> None:
        """Look at a pod whose ephemeral containers change, when nothing else is wrong with it."""

    def warnings(self, kind: Kind, new: Raw, old: Raw | None) -> list[str]:
        """Return what to warn the client of, about an object that is admitted."""
        return []
