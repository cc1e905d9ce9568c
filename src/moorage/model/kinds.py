"""The kinds Moorage knows, one row each: names, view, verbs, subresources, and the rules that differ by kind.

In: raw documents. Out: their `Kind`, typed views, unknown fields. Admission, tables, discovery and OpenAPI are keyed by
`Kind`; tests/unit/test_every_kind.py fails where a kind lacks a row. Kubernetes: the scheme. Differs: documents of
other kinds are no error; they are not looked into.
"""

from typing import Any, Final

from moorage.model.kind_rows import (
    access,
    api_server,
    core,
    devices,
    endpoints,
    extension,
    network,
    policies,
    quota,
    storage,
    workloads,
)
from moorage.model.kind_rows.custom import CustomKind
from moorage.model.kind_rows.kind import CREATE, STANDARD_VERBS, Kind, Ref, Subresource
from moorage.model.schema.conversion import convert_view
from moorage.model.types import request
from moorage.model.types.access import tokens
from moorage.model.types.core import ComponentStatus
from moorage.model.types.view import View

__all__ = ["KINDS", "STANDARD_VERBS", "VIRTUAL_KINDS", "CustomKind", "Kind", "Ref", "Subresource", "kind_of", "view_of"]

#: In the order in which `--load` applies the kinds that load first.
_ROWS: Final = (
    *core.ROWS,
    *policies.ROWS,
    *quota.ROWS,
    *extension.ROWS,
    *storage.ROWS,
    *devices.ROWS,
    *workloads.ROWS,
    *endpoints.ROWS,
    *access.ROWS,
    *network.ROWS,
    *api_server.ROWS,
)
KINDS: Final[dict[tuple[str, str], Kind]] = {(kind.api_version, kind.name): kind for kind in _ROWS}
#: The kinds that have older versions, by those: what documents of a version are converted to.
OLDER_VERSIONS: Final[dict[tuple[str, str], Kind]] = {
    (f"{kind.group}/{version}", kind.name): kind for kind in _ROWS for version in kind.older_versions
}

#: Documents of subresources and options: they have no path of their own.
EVICTION: Final = Kind("policy/v1", "evictions", request.Eviction)
SCALE: Final = Kind("autoscaling/v1", "scales", request.Scale)
TOKEN_REQUEST: Final = Kind("authentication.k8s.io/v1", "tokenrequests", tokens.TokenRequest)
DELETE_OPTIONS: Final = Kind("meta.k8s.io/v1", "deleteoptions", request.DeleteOptions, namespaced=False)

#: Requests in the form of objects, which are posted and answered, and what is found out when it is asked for: neither
#: is ever stored.
BINDING: Final = Kind("v1", "bindings", request.Binding, verbs=CREATE)
_LOCAL: Final = (request.LocalSubjectAccessReview,)
COMPONENT_STATUS: Final = Kind(
    "v1",
    "componentstatuses",
    ComponentStatus,
    ("cs",),
    namespaced=False,
    verbs=("get", "list"),
    deprecation="v1 ComponentStatus is deprecated in v1.19+",
)
VIRTUAL_KINDS: Final = (
    BINDING,
    COMPONENT_STATUS,
    *(
        Kind(api_version, f"{view.__name__.lower()}s", view, namespaced=view in _LOCAL, verbs=CREATE)
        for api_version, view in (
            ("authentication.k8s.io/v1", request.SelfSubjectReview),
            ("authentication.k8s.io/v1", tokens.TokenReview),
            ("authorization.k8s.io/v1", request.SelfSubjectAccessReview),
            ("authorization.k8s.io/v1", request.SelfSubjectRulesReview),
            ("authorization.k8s.io/v1", request.SubjectAccessReview),
            ("authorization.k8s.io/v1", request.LocalSubjectAccessReview),
        )
    ),
)
SUBJECT_ACCESS_REVIEW: Final = next(kind for kind in VIRTUAL_KINDS if kind.view is request.SubjectAccessReview)


def kind_of(raw: dict[str, Any]) -> Kind | None:
    """Return the kind of a document, or None if Moorage does not know it."""
    return KINDS.get((raw.get("apiVersion", ""), raw.get("kind", "")))


def view_of(raw: dict[str, Any]) -> View | None:
    """Return the typed view of a document, or None if Moorage does not know its kind. Raises ConversionError."""
    kind = kind_of(raw)
    return None if kind is None else convert_view(raw, kind.view)
