"""Describe the kinds of networks, access and the configuration of API servers; most of them are only stored."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Kind, Subresource
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
    Kind(
        "v1",
        "endpoints",
        Endpoints,
        ("ep",),
        creates_on_update=True,
        read_by_plan=False,
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    Kind("discovery.k8s.io/v1", "endpointslices", EndpointSlice, read_by_plan=False),
    # Kinds that say who may do what, and requests for certificates.
    Kind(
        _RBAC,
        "clusterroles",
        ClusterRole,
        namespaced=False,
        creates_on_update=True,
        read_by_plan=False,
        loads_first=True,
    ),
    Kind(
        "certificates.k8s.io/v1",
        "certificatesigningrequests",
        CertificateSigningRequest,
        ("csr",),
        namespaced=False,
        subresources=(Subresource("approval", ("get", "patch", "update")), *WITH_STATUS),
        read_by_plan=False,
        records_requester=True,
    ),
    Kind(_RBAC, "roles", Role, creates_on_update=True, read_by_plan=False, loads_first=True),
    Kind(
        _RBAC, "clusterrolebindings", ClusterRoleBinding, namespaced=False, creates_on_update=True, read_by_plan=False
    ),
    Kind(_RBAC, "rolebindings", RoleBinding, creates_on_update=True, read_by_plan=False),
    # Kinds of networking.k8s.io. They are stored: nothing is routed, and no traffic is refused.
    Kind(_GROUP, "ingressclasses", IngressClass, namespaced=False, read_by_plan=False),
    Kind(_GROUP, "ingresses", Ingress, ("ing",), subresources=WITH_STATUS, read_by_plan=False),
    Kind(_GROUP, "networkpolicies", NetworkPolicy, ("netpol",), read_by_plan=False),
    Kind(
        _GROUP,
        "servicecidrs",
        ServiceCIDR,
        namespaced=False,
        subresources=WITH_STATUS,
        status_resets=(("metadata",), ("spec",)),
        read_by_plan=False,
    ),
    Kind(_GROUP, "ipaddresses", IPAddress, ("ip",), namespaced=False, read_by_plan=False),
    # Kinds that configure an API server. They are stored: no webhook is called, no policy applied, no request queued.
    Kind(
        "apiregistration.k8s.io/v1",
        "apiservices",
        api_server.APIService,
        namespaced=False,
        categories=_EXTENSIONS,
        subresources=WITH_STATUS,
        unconditional_update=False,
        status_resets=_ALL_BUT_STATUS,
        read_by_plan=False,
    ),
    *(
        Kind(
            _FLOW,
            plural,
            view,
            namespaced=False,
            subresources=WITH_STATUS,
            status_resets=_ALL_BUT_STATUS,
            read_by_plan=False,
        )
        for plural, view in (
            ("flowschemas", api_server.FlowSchema),
            ("prioritylevelconfigurations", api_server.PriorityLevelConfiguration),
        )
    ),
    *(
        Kind(
            _ADMISSION,
            plural,
            view,
            namespaced=False,
            categories=_EXTENSIONS,
            unconditional_update=False,
            read_by_plan=False,
        )
        for plural, view in (
            ("mutatingadmissionpolicies", admission_policies.MutatingAdmissionPolicy),
            ("mutatingadmissionpolicybindings", admission_policies.MutatingAdmissionPolicyBinding),
            ("mutatingwebhookconfigurations", admission_policies.MutatingWebhookConfiguration),
            ("validatingadmissionpolicybindings", admission_policies.ValidatingAdmissionPolicyBinding),
            ("validatingwebhookconfigurations", admission_policies.ValidatingWebhookConfiguration),
        )
    ),
    Kind(
        _ADMISSION,
        "validatingadmissionpolicies",
        admission_policies.ValidatingAdmissionPolicy,
        namespaced=False,
        categories=_EXTENSIONS,
        subresources=WITH_STATUS,
        unconditional_update=False,
        status_resets=_ALL_BUT_STATUS,
        read_by_plan=False,
    ),
)
