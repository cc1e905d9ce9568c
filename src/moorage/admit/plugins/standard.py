"""Plugins for pods, nodes and namespaces that every cluster runs.

Kubernetes: DefaultTolerationSeconds, NamespaceLifecycle, TaintNodesByCondition, ServiceAccount. Differs: a toleration
by CEL expression (KEP-5500) does not keep the default tolerations away; phases of namespaces are the server's own,
never a cache's; no token is mounted and secrets are not limited.
"""

from collections.abc import Callable

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw, items, part
from moorage.model.api_error import forbidden, not_found
from moorage.model.kinds import KINDS, Kind, kind_of
from moorage.model.types.core import ServiceAccount as Account
from moorage.model.well_known.annotations import MIRROR_POD
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, NOT_READY, UNREACHABLE

DEFAULT_SECONDS = 300


class DefaultTolerationSeconds(Plugin):
    """Adds the two tolerations that are missing. Runs on create and on update, as upstream's does."""

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "Pod":
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
    """`phase_of` gives the phase of a namespace, or None if there is none of that name."""

    live = True

    def __init__(self, phase_of: Callable[[str], str | None]) -> None:
        self._phase_of = phase_of

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        metadata = new.get("metadata") or {}
        namespace = metadata.get("namespace")
        facts = kind_of(new)
        if old is None and namespace and facts is not None and facts.namespaced:
            self.check(facts, metadata)

    def check(self, facts: Kind, metadata: Raw) -> None:
        """Raise ApiError if an object with this metadata cannot be created in its namespace."""
        namespace = metadata["namespace"]
        phase = self._phase_of(namespace)
        if phase is None:
            raise not_found(KINDS.NAMESPACE, namespace)
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
        raise forbidden(KINDS.NAMESPACE, name, "this namespace may not be deleted")


class TaintNodesByCondition(Plugin):
    """Adds the taint when the node is made."""

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "Node" or old is not None:
            return
        spec = part(new, "spec")
        taints = items(spec, "taints")
        if not any(taint.get("key") == NOT_READY and taint.get("effect") == NO_SCHEDULE for taint in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": NO_SCHEDULE}]


DEFAULT_ACCOUNT = "default"


class ServiceAccount(Plugin):
    """`find` gives the account of a namespace and a name; without it accounts need not exist."""

    def __init__(self, find: Callable[[str, str], Account | None] | None = None) -> None:
        self._find = find

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "Pod" or old is not None:
            return
        metadata, spec = part(new, "metadata"), part(new, "spec")
        if MIRROR_POD in (metadata.get("annotations") or {}):
            if spec.get("serviceAccountName"):
                raise Forbidden("a mirror pod may not reference service accounts")
            return
        name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        if self._find is None:
            return
        namespace = metadata.get("namespace") or ""
        account = self._find(namespace, name)
        if account is None:
            missing = f'serviceaccount "{name}" not found'
            raise Forbidden(f"error looking up service account {namespace}/{name}: {missing}")
        if not spec.get("imagePullSecrets") and account.imagePullSecrets:
            spec["imagePullSecrets"] = [{"name": secret.name} for secret in account.imagePullSecrets]
