"""Plugins for pods, nodes and namespaces that every cluster runs.

Kubernetes: DefaultTolerationSeconds, NamespaceLifecycle, TaintNodesByCondition. Differs: a toleration by CEL expression
(KEP-5500) does not keep the default tolerations away; phases of namespaces are the server's own, never a cache's.
"""

from moorage.admit.plugins import Plugin
from moorage.admit.raw import Raw, items, part
from moorage.admit.world import AdmissionWorld
from moorage.model.api_error import ApiError, forbidden, not_found
from moorage.model.kinds import KINDS, Kind
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, NOT_READY, UNREACHABLE

DEFAULT_SECONDS = 300


class DefaultTolerationSeconds(Plugin):
    """Adds the two tolerations that are missing. Runs on create and on update, as upstream's does."""

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.POD:
            return
        tolerations = list(items(part(new, "spec"), "tolerations"))
        tolerated = {
            toleration.get("key") or ""
            for toleration in tolerations
            if not toleration.get("expression") and (toleration.get("effect") or NO_EXECUTE) == NO_EXECUTE
        }
        added = [
            {"key": key, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": DEFAULT_SECONDS}
            for key in (NOT_READY, UNREACHABLE)
            if tolerated.isdisjoint((key, ""))  # an empty key stands for all
        ]
        if added:
            new["spec"]["tolerations"] = tolerations + added


IMMORTAL = frozenset({"default", "kube-public", "kube-system"})


class NamespaceLifecycle(Plugin):
    """Refuses new objects in namespaces that do not exist or are being terminated."""

    live = True

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if old is not None or not kind.namespaced:
            return
        metadata = new.get("metadata") or {}
        name = metadata.get("namespace")
        if not name:
            return
        namespace = self._world.namespace(name)
        if namespace is None:
            if not self._world.assumes(KINDS.NAMESPACE, name, kind):
                raise not_found(KINDS.NAMESPACE, name)
        elif namespace.status.phase == "Terminating":
            raise _is_terminated(kind, metadata, name)


def _is_terminated(kind: Kind, metadata: Raw, namespace: str) -> ApiError:
    name, base = metadata.get("name") or "", metadata.get("generateName") or ""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    error = forbidden(kind, base if base and name.startswith(base) else name, why)
    message = f"namespace {namespace} is being terminated"
    cause = {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
    error.status["details"]["causes"] = [cause]
    return error


def check_namespace_deletion(name: str) -> None:
    """Raises ApiError for the namespaces that a cluster always has."""
    if name in IMMORTAL:
        raise forbidden(KINDS.NAMESPACE, name, "this namespace may not be deleted")


class TaintNodesByCondition(Plugin):
    """Adds the taint when the node is made."""

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.NODE or old is not None:
            return
        spec = part(new, "spec")
        taints = items(spec, "taints")
        if not any(taint.get("key") == NOT_READY and taint.get("effect") == NO_SCHEDULE for taint in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": NO_SCHEDULE}]
