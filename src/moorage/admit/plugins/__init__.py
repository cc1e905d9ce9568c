"""Admission plugins: what clusters add to pods beyond the API's own defaults.

In: a raw pod, the old one on update. Out: the pod, changed in place, or `Forbidden`. Kubernetes:
plugin/pkg/admission, of which Moorage has the two that matter to scheduling. Next: `moorage.admit.admission` runs
them after the defaults and before the strategy (`moorage.admit.mutate`), and once more after validation.
"""

from moorage.admit.raw import Raw


class Forbidden(Exception):
    """A plugin refuses the object; the text is the reason, without the object's name."""


class Plugin:
    """One admission plugin; it sees every object and decides by its kind. Both methods may raise `Forbidden`."""

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        """Change the object in place, before it is validated."""

    def validate(self, kind: str, new: Raw, old: Raw | None) -> None:
        """Look at the object once more, when nothing else is wrong with it."""
