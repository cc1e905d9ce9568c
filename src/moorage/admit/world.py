"""Define what admission looks up in a cluster: namespaces, classes, limits, accounts, Services, quotas.

A world that shows only a part of a cluster, such as the objects of some files, cannot know that an object does not
exist. It says so when the chain asks `assumes`: what needs the object is admitted as if it existed, and the answer
carries an `Assumption`. Kubernetes: the informers of admission plugins.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from moorage.admit.plugins.quota import QuotaBalance
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.core import Namespace, Service, ServiceAccount
from moorage.model.types.node import Node
from moorage.model.types.policy import LimitRange, PriorityClass, RuntimeClass
from moorage.model.types.storage import StorageClass


class Assumption(NamedTuple):
    """An object that was taken to exist, because the world does not show the whole cluster. `key` as in a path."""

    kind: Kind
    key: str
    text: str


def missing_text(kind: Kind, key: str, needed_by: Kind) -> str:
    """Say that an object is not in the input, and what a cluster without it does."""
    pods = needed_by is KINDS.POD or needed_by.template is not None
    if kind is KINDS.NAMESPACE:
        objects = "pods" if pods else "objects"
        return f"namespace {key} is not in the input; the API server refuses {objects} in namespaces that do not exist"
    if kind is KINDS.NODE:
        return f"node {key} is not in the input; the API server refuses to resize pods on nodes that do not exist"
    if kind is KINDS.STORAGE_CLASS:
        return f"{kind.name} {key} is not in the input; the API server refuses to expand claims of one that is missing"
    if kind is KINDS.SERVICE_ACCOUNT:  # Differs: our API server does not
        return f"{kind.name} {key} is not in the input; Kubernetes refuses pods that name one that does not exist"
    refused = f"the API server refuses {'pods' if pods else needed_by.plural}"
    return f"{kind.name} {key} is not in the input; {refused} that name one that does not exist"


#: What is taken to be true of an object that is assumed to exist; of a namespace, that it has no labels and no limits.
_TAKEN = {
    KINDS.PRIORITY_CLASS: "here the pods have the priority that they name, or 0",
    KINDS.RUNTIME_CLASS: "here it adds nothing to the pods",
    KINDS.STORAGE_CLASS: "here it allows that",
}


def assumption_of(kind: Kind, key: str, needed_by: Kind) -> Assumption:
    """Return the assumption that an object exists, whose text says what is assumed of it."""
    text, taken = missing_text(kind, key, needed_by), _TAKEN.get(kind)
    return Assumption(kind, key, f"{text}; {taken}" if taken else text)


class AdmissionWorld(Protocol):
    """What the admission chain looks up. An answer may be another later; `generation` grows when that may be so."""

    @property
    def generation(self) -> int: ...

    @property
    def service_range(self) -> ipaddress.IPv4Network: ...

    @property
    def assumed(self) -> list[Assumption]:
        """What was assumed since the chain emptied the list."""

    def assumes(self, kind: Kind, key: str, needed_by: Kind) -> bool:
        """Return whether an object that is not here may exist nevertheless. The chain then goes on as if it did."""

    def namespace(self, name: str) -> Namespace | None: ...

    def limit_ranges(self, namespace: str) -> Sequence[LimitRange]:
        """Return the LimitRanges of a namespace, by name."""

    def priority_classes(self) -> Iterable[PriorityClass]:
        """Return the PriorityClasses; those of the system may be left out."""

    def storage_classes(self) -> Mapping[str, StorageClass]: ...

    def runtime_class(self, name: str) -> RuntimeClass | None: ...

    def find(self, kind: Kind, namespace: str, name: str) -> Any:
        """Return the view of an object of any kind, or None. Only plugins that decide by the requester ask."""

    def service_account(self, namespace: str, name: str) -> ServiceAccount | None: ...

    def topology_of(self, node: str) -> Mapping[str, str]:
        """Return the zone and region labels of a node; none if it does not exist."""

    def node(self, name: str) -> Node | None: ...

    def services(self) -> Mapping[str, Service]: ...

    def quota_balances(self, namespace: str) -> Sequence[QuotaBalance]:
        """Return the ResourceQuotas of a namespace, by name, with all that is used of them or is being charged."""
