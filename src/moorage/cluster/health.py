"""List the health checks of an API server under the names that kube-apiserver gives them.

Monitoring asks for single checks by these names (`/readyz/poststarthook/bootstrap-controller`). Kubernetes: the checks
and post-start hooks of the generic API server, of the control plane, of apiextensions-apiserver and of kube-aggregator.
Differs: hooks of what Moorage does not have (API priority and fairness, peers, legacy tokens) are left out, and a check
that fails says why.
"""

from collections.abc import Callable
from typing import Final

from moorage.serve.requests.web_paths import Check
from moorage.store.protocol import Store

#: What is done before the server listens: admission, indexes of the store, definitions of custom kinds.
_BEFORE_IT_LISTENS: Final = (
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/storage-readiness",
)
#: What makes the objects that every cluster has: namespaces, roles, priority classes, APIServices, its own address.
_OWN_OBJECTS: Final = (
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)


class Phase:
    """Whether the server has made the cluster's own objects, and whether it is about to stop."""

    def __init__(self) -> None:
        self.has_started = self.is_stopping = False

    def is_starting(self) -> str:
        return "" if self.has_started else "not finished"

    def is_ending(self) -> str:
        return "process is shutting down" if self.is_stopping else ""


def health_checks(store: Store, phase: Phase) -> tuple[Check, ...]:
    """Return the checks in the order in which /readyz?verbose lists them."""

    def complaint_of_store() -> str:
        return store.complaint

    hooks: list[tuple[str, Callable[[], str]]] = [(name, _well) for name in _BEFORE_IT_LISTENS]
    hooks += ((name, phase.is_starting) for name in _OWN_OBJECTS)
    return (
        Check("ping", _well),
        Check("log", _well),
        Check("etcd", complaint_of_store),
        Check("etcd-readiness", complaint_of_store, of_readiness=True),
        Check("informer-sync", _well, of_readiness=True),
        *(Check(name, complaint) for name, complaint in hooks),
        Check("shutdown", phase.is_ending, of_readiness=True),
    )


def _well() -> str:
    return ""
