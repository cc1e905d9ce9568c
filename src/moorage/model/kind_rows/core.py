"""Describe the kinds of the core group, and those that limit, rank and protect pods or extend the API."""

from typing import Final

from moorage.model.kind_rows.kind import (
    ALL,
    CREATE,
    REACHED_BY_PROXY,
    STANDARD_VERBS,
    WITH_STATUS,
    Kind,
    Subresource,
    cluster_kind,
    unplanned_cluster_kind,
    unplanned_kind,
)
from moorage.model.types.core import ConfigMap, Event, Lease, Namespace, Secret, Service, ServiceAccount
from moorage.model.types.extension.custom_resource_definition import CustomResourceDefinition
from moorage.model.types.node import Node
from moorage.model.types.other_versions import Event as ReportedEvent
from moorage.model.types.pod import Pod
from moorage.model.types.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass

ROWS: Final = (
    # Kinds of the core group, events and leases.
    cluster_kind(
        "v1",
        "namespaces",
        Namespace,
        ("ns",),
        subresources=(Subresource("finalize", ("update",)), *WITH_STATUS),
        verbs=tuple(verb for verb in STANDARD_VERBS if verb != "deletecollection"),
        loads_first=True,
    ),
    cluster_kind(
        "v1",
        "nodes",
        Node,
        ("no",),
        subresources=(Subresource("proxy", REACHED_BY_PROXY, "NodeProxyOptions"), *WITH_STATUS),
        loads_first=True,
    ),
    Kind(
        "v1",
        "pods",
        Pod,
        ("po",),
        categories=ALL,
        subresources=(
            Subresource("attach", ("create", "get"), "PodAttachOptions"),
            Subresource("binding", CREATE, "Binding", "v1"),
            Subresource("ephemeralcontainers", ("get", "patch", "update")),
            Subresource("eviction", CREATE, "Eviction", "policy/v1"),
            Subresource("exec", ("create", "get"), "PodExecOptions"),
            Subresource("log", ("get",)),
            Subresource("portforward", ("create", "get"), "PodPortForwardOptions"),
            Subresource("proxy", REACHED_BY_PROXY, "PodProxyOptions"),
            Subresource("resize", ("get", "patch", "update")),
            *WITH_STATUS,
        ),
        returns_deleted=True,
        status_resets=(("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ),
    unplanned_kind("v1", "configmaps", ConfigMap, ("cm",)),
    unplanned_kind("v1", "secrets", Secret),
    Kind(
        "v1",
        "services",
        Service,
        ("svc",),
        categories=ALL,
        subresources=(Subresource("proxy", REACHED_BY_PROXY, "ServiceProxyOptions"), *WITH_STATUS),
        creates_on_update=True,
        returns_deleted=True,
    ),
    unplanned_kind(
        "v1",
        "serviceaccounts",
        ServiceAccount,
        ("sa",),
        subresources=(Subresource("token", CREATE, "TokenRequest", "authentication.k8s.io/v1"),),
        unconditional_update=False,
        returns_deleted=True,
    ),
    *(
        unplanned_kind(api_version, "events", view, ("ev",), creates_on_update=True, dependents="none", is_chatty=True)
        for api_version, view in (("events.k8s.io/v1", ReportedEvent), ("v1", Event))
    ),
    unplanned_kind(
        "coordination.k8s.io/v1", "leases", Lease, creates_on_update=True, unconditional_update=False, is_chatty=True
    ),
    # Kinds that rank and protect pods.
    cluster_kind("scheduling.k8s.io/v1", "priorityclasses", PriorityClass, ("pc",), loads_first=True),
    Kind(
        "policy/v1",
        "poddisruptionbudgets",
        PodDisruptionBudget,
        ("pdb",),
        subresources=WITH_STATUS,
        unconditional_update=False,
    ),
    # Kinds that say what a namespace may use, and what a container runtime needs.
    Kind("v1", "limitranges", LimitRange, ("limits",), creates_on_update=True, loads_first=True),
    Kind(
        "v1",
        "resourcequotas",
        ResourceQuota,
        ("quota",),
        subresources=WITH_STATUS,
        returns_deleted=True,
        loads_first=True,
    ),
    cluster_kind(
        "node.k8s.io/v1",
        "runtimeclasses",
        RuntimeClass,
        creates_on_update=True,
        unconditional_update=False,
        loads_first=True,
    ),
    # Kinds that extend the API.
    unplanned_cluster_kind(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        CustomResourceDefinition,
        ("crd", "crds"),
        categories=("api-extensions",),
        subresources=WITH_STATUS,
        unconditional_update=False,
        loads_first=True,
    ),
)
