"""Decide which features of a node a pod needs, and which of them a node declares.

A node declares features in `status.declaredFeatures`; what a pod needs is inferred from its spec when it is scheduled,
and from the difference when it is changed. Kubernetes: component-helpers/nodedeclaredfeatures, whose features have no
upper version in 1.36.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from moorage.model.gates import (
    EXTEND_WEB_SOCKETS_TO_KUBELET,
    IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING,
    IN_PLACE_POD_VERTICAL_SCALING_INIT_CONTAINERS,
    NODE_DECLARED_FEATURES,
    RESTART_ALL_CONTAINERS_ON_CONTAINER_EXITS,
    USER_NAMESPACES_HOST_NETWORK_SUPPORT,
    Gate,
    GateSet,
)
from moorage.model.types.pod import PodSpec

_RESTART_ALL = "RestartAllContainers"


def _never(spec: PodSpec) -> bool:
    return False


def _never_by_update(old: PodSpec, new: PodSpec) -> bool:
    return False


def _resizes_init_containers(old: PodSpec, new: PodSpec) -> bool:
    return any(
        not before.is_sidecar and before.resources != after.resources
        for before, after in zip(old.initContainers, new.initContainers, strict=False)
    )


def _resizes_pod(old: PodSpec, new: PodSpec) -> bool:
    return old.resources != new.resources


def _restarts_all(spec: PodSpec) -> bool:
    return any(
        rule.action == _RESTART_ALL
        for container in (*spec.containers, *spec.initContainers)
        for rule in container.restartPolicyRules
    )


def _has_user_namespace_on_host_network(spec: PodSpec) -> bool:
    return spec.hostNetwork and spec.hostUsers is False


class DeclaredFeature(NamedTuple):
    """A feature that kubelets declare if its gate, which has the same name, is on.

    `scheduling` says whether a pod needs it to run, `update` whether a change of a bound pod needs it.
    """

    gate: Gate
    scheduling: Callable[[PodSpec], bool] = _never
    update: Callable[[PodSpec, PodSpec], bool] = _never_by_update

    @property
    def name(self) -> str:
        return self.gate.name


#: Sorted by name, as nodes declare them.
FEATURES = (
    DeclaredFeature(EXTEND_WEB_SOCKETS_TO_KUBELET),
    DeclaredFeature(IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING, update=_resizes_pod),
    DeclaredFeature(IN_PLACE_POD_VERTICAL_SCALING_INIT_CONTAINERS, update=_resizes_init_containers),
    DeclaredFeature(RESTART_ALL_CONTAINERS_ON_CONTAINER_EXITS, _restarts_all),
    DeclaredFeature(USER_NAMESPACES_HOST_NETWORK_SUPPORT, _has_user_namespace_on_host_network),
)


def features_of_kubelet(gates: GateSet) -> tuple[str, ...]:
    """Return what a kubelet with these gates declares; nothing without the gate NodeDeclaredFeatures.

    The simulated container runtime can do all that the features need.
    """
    if not gates.enabled(NODE_DECLARED_FEATURES):
        return ()
    return tuple(feature.name for feature in FEATURES if gates.enabled(feature.gate))


def needed_to_run(spec: PodSpec) -> tuple[str, ...]:
    """Return the features that a pod needs of its node."""
    return tuple(feature.name for feature in FEATURES if feature.scheduling(spec))


def needed_to_update(old: PodSpec, new: PodSpec) -> tuple[str, ...]:
    """Return the features that a change of a pod needs of its node."""
    return tuple(feature.name for feature in FEATURES if feature.update(old, new))


def missing_features(needed: Iterable[str], declared: Iterable[str]) -> tuple[str, ...]:
    """Return which needed features are not declared."""
    known = frozenset(declared)
    return tuple(name for name in needed if name not in known)
