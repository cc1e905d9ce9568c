"""Describe the kinds of networks, access and the configuration of API servers; most of them are only stored."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Subresource, cluster_kind, unplanned_cluster_kind, unplanned_kind
from moorage.model.types.core import Endpoints
from moorage.model.types.extension import admission_policies, api_server
from moorage.model.types.networking import EndpointSlice, Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR
from moorage.model.types.policy import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from moorage.model.types.request import CertificateSigningRequest

_RBAC: Final = "rbac.authorization.k8s.io/v1"
_GROUP: Final = "networking.k8s.io/v1"
_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_FLOW: Final = "flowcontrol.apiserver.k8s.io/v1"
_EXTENSIONS: Final = ("api-extensions",)
_ALL_BUT_STATUS: Final = (("metadata",), ("spec",))

ROWS: Final = (
    # Kinds that list the addresses behind Services.
    unplanned_kind(
        "v1",
        "endpoints",
        Endpoints,
        ("ep",),
        creates_on_update=True,
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    unplanned_kind("discovery.k8s.io/v1", "endpointslices", EndpointSlice),
    # Kinds that say who may do what, and requests for certificates.
    unplanned_cluster_kind(_RBAC, "clusterroles", ClusterRole, creates_on_update=True, loads_first=True),
    unplanned_cluster_kind(
        "certificates.k8s.io/v1",
        "certificatesigningrequests",
        CertificateSigningRequest,
        ("csr",),
        subresources=(Subresource("approval", ("get", "patch", "update")), *WITH_STATUS),
        records_requester=True,
    ),
    unplanned_kind(_RBAC, "roles", Role, creates_on_update=True, loads_first=True),
    unplanned_cluster_kind(_RBAC, "clusterrolebindings", ClusterRoleBinding, creates_on_update=True),
    unplanned_kind(_RBAC, "rolebindings", RoleBinding, creates_on_update=True),
    # Kinds of networking.k8s.io. They are stored: nothing is routed, and no traffic is refused.
    unplanned_cluster_kind(_GROUP, "ingressclasses", IngressClass),
    unplanned_kind(_GROUP, "ingresses", Ingress, ("ing",), subresources=WITH_STATUS),
    unplanned_kind(_GROUP, "networkpolicies", NetworkPolicy, ("netpol",)),
    unplanned_cluster_kind(
        _GROUP, "servicecidrs", ServiceCIDR, subresources=WITH_STATUS, status_resets=(("metadata",), ("spec",))
    ),
    unplanned_cluster_kind(_GROUP, "ipaddresses", IPAddress, ("ip",)),
    # Kinds that configure an API server. They are stored: no webhook is called, no policy applied, no request queued.
    unplanned_cluster_kind(
        "apiregistration.k8s.io/v1",
        "apiservices",
        api_server.APIService,
        categories=_EXTENSIONS,
        subresources=WITH_STATUS,
        unconditional_update=False,
        status_resets=_ALL_BUT_STATUS,
    ),
    *(
        unplanned_cluster_kind(_FLOW, plural, view, subresources=WITH_STATUS, status_resets=_ALL_BUT_STATUS)
        for plural, view in (
            ("flowschemas", api_server.FlowSchema),
            ("prioritylevelconfigurations", api_server.PriorityLevelConfiguration),
        )
    ),
    *(
        cluster_kind(_ADMISSION, plural, view, categories=_EXTENSIONS, unconditional_update=False)
        for plural, view in (
            ("mutatingadmissionpolicies", admission_policies.MutatingAdmissionPolicy),
            ("mutatingadmissionpolicybindings", admission_policies.MutatingAdmissionPolicyBinding),
            ("mutatingwebhookconfigurations", admission_policies.MutatingWebhookConfiguration),
            ("validatingadmissionpolicybindings", admission_policies.ValidatingAdmissionPolicyBinding),
            ("validatingwebhookconfigurations", admission_policies.ValidatingWebhookConfiguration),
        )
    ),
    cluster_kind(
        _ADMISSION,
        "validatingadmissionpolicies",
        admission_policies.ValidatingAdmissionPolicy,
        categories=_EXTENSIONS,
        subresources=WITH_STATUS,
        unconditional_update=False,
        status_resets=_ALL_BUT_STATUS,
    ),
)
