"""Kinds that say who may do what, and requests for certificates."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Kind, Subresource
from moorage.model.types.access.certificates import CertificateSigningRequest
from moorage.model.types.access.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding

_RBAC: Final = "rbac.authorization.k8s.io/v1"

ROWS: Final = (
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
)
