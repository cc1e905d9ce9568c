"""NamespaceLifecycle: nothing is made in a namespace that is not there, or that is about to go.

In: a new object, and what phase each namespace is in. Out: nothing, or ApiError: NotFound, or Forbidden with the cause
that controllers look for. Kubernetes: NamespaceLifecycle of k8s.io/apiserver. Differs: the phases are the server's own,
never a cache's, so nobody waits for one.
"""

from collections.abc import Callable

from moorage.admit.plugins import Plugin
from moorage.admit.raw import Raw
from moorage.model.api_error import forbidden, not_found
from moorage.model.kinds import KINDS, kind_of

IMMORTAL = frozenset({"default", "kube-public", "kube-system"})
_NAMESPACE = KINDS["v1", "Namespace"]


class NamespaceLifecycle(Plugin):
    """`phase_of` gives the phase of a namespace, or None if there is none of that name."""

    live = True

    def __init__(self, phase_of: Callable[[str], str | None]) -> None:
        self._phase_of = phase_of

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        metadata = new.get("metadata") or {}
        namespace = metadata.get("namespace")
        facts = kind_of(new)
        if old is not None or not namespace or facts is None or not facts.namespaced:
            return
        phase = self._phase_of(namespace)
        if phase is None:
            raise not_found(_NAMESPACE, namespace)
        if phase == "Terminating":
            name, base = metadata.get("name") or "", metadata.get("generateName") or ""
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            error = forbidden(facts, base if base and name.startswith(base) else name, why)
            message = f"namespace {namespace} is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
            error.status["details"]["causes"] = [cause]
            raise error


def check_namespace_deletion(name: str) -> None:
    """Raises ApiError for the namespaces that a cluster always has."""
    if name in IMMORTAL:
        raise forbidden(_NAMESPACE, name, "this namespace may not be deleted")
