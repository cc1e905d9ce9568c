"""List the kinds Moorage knows, one row each: names, view, verbs, subresources, and the rules that differ by kind.

In: raw documents. Out: their `Kind`, typed views, unknown fields. Admission, tables, discovery and OpenAPI are keyed by
`Kind`; tests/unit/test_every_kind.py fails where a kind lacks a row. Kubernetes: the scheme. Differs: documents of
other kinds are no error; they are not looked into.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from moorage.model.kind_rows import api_server, core, workloads
from moorage.model.kind_rows.kind import CREATE, STANDARD_VERBS, CustomKind, Kind, Ref, Subresource
from moorage.model.schema.conversion import convert_view
from moorage.model.types import request
from moorage.model.types.core import ComponentStatus
from moorage.model.types.view import View

__all__ = ["KINDS", "STANDARD_VERBS", "VIRTUAL_KINDS", "CustomKind", "Kind", "Ref", "Subresource", "kind_of", "view_of"]

#: In the order in which `--load` applies the kinds that load first.
_ROWS: Final = (*core.ROWS, *workloads.ROWS, *api_server.ROWS)


class Kinds(dict[tuple[str, str], Kind]):
    """Every stored kind by API version and name, and by a constant: `KINDS["v1", "Pod"]` is `KINDS.POD`."""

    API_SERVICE: Kind
    CERTIFICATE_SIGNING_REQUEST: Kind
    CLUSTER_ROLE: Kind
    CLUSTER_ROLE_BINDING: Kind
    CONFIG_MAP: Kind
    CONTROLLER_REVISION: Kind
    CRON_JOB: Kind
    CSI_DRIVER: Kind
    CSI_NODE: Kind
    CSI_STORAGE_CAPACITY: Kind
    CUSTOM_RESOURCE_DEFINITION: Kind
    DAEMON_SET: Kind
    DEPLOYMENT: Kind
    DEVICE_CLASS: Kind
    DEVICE_TAINT_RULE: Kind
    ENDPOINTS: Kind
    ENDPOINT_SLICE: Kind
    EVENT: Kind
    FLOW_SCHEMA: Kind
    HORIZONTAL_POD_AUTOSCALER: Kind
    INGRESS: Kind
    INGRESS_CLASS: Kind
    IP_ADDRESS: Kind
    JOB: Kind
    LEASE: Kind
    LIMIT_RANGE: Kind
    MUTATING_ADMISSION_POLICY: Kind
    MUTATING_ADMISSION_POLICY_BINDING: Kind
    MUTATING_WEBHOOK_CONFIGURATION: Kind
    NAMESPACE: Kind
    NETWORK_POLICY: Kind
    NODE: Kind
    PERSISTENT_VOLUME: Kind
    PERSISTENT_VOLUME_CLAIM: Kind
    POD: Kind
    POD_DISRUPTION_BUDGET: Kind
    POD_TEMPLATE: Kind
    PRIORITY_CLASS: Kind
    PRIORITY_LEVEL_CONFIGURATION: Kind
    REPLICATION_CONTROLLER: Kind
    REPLICA_SET: Kind
    REPORTED_EVENT: Kind
    RESOURCE_CLAIM: Kind
    RESOURCE_CLAIM_TEMPLATE: Kind
    RESOURCE_QUOTA: Kind
    RESOURCE_SLICE: Kind
    ROLE: Kind
    ROLE_BINDING: Kind
    RUNTIME_CLASS: Kind
    SECRET: Kind
    SERVICE: Kind
    SERVICE_ACCOUNT: Kind
    SERVICE_CIDR: Kind
    STATEFUL_SET: Kind
    STORAGE_CLASS: Kind
    VALIDATING_ADMISSION_POLICY: Kind
    VALIDATING_ADMISSION_POLICY_BINDING: Kind
    VALIDATING_WEBHOOK_CONFIGURATION: Kind
    VOLUME_ATTACHMENT: Kind
    VOLUME_ATTRIBUTES_CLASS: Kind

    def __init__(self, rows: Iterable[Kind]) -> None:
        for kind in rows:
            self[kind.api_version, kind.name] = kind
            setattr(self, constant_of(kind), kind)


def constant_of(kind: Kind) -> str:
    """Return the name of a kind's constant: PERSISTENT_VOLUME_CLAIM for PersistentVolumeClaim."""
    if kind.api_version == "events.k8s.io/v1":
        return "REPORTED_EVENT"  # EVENT is the one of the core group
    words = re.findall("CSI|IP|API|CIDR|[A-Z][a-z]+", kind.name)
    return "_".join(words).upper()


KINDS: Final = Kinds(_ROWS)
#: The kinds that have older versions, by those: what documents of a version are converted to.
OLDER_VERSIONS: Final[dict[tuple[str, str], Kind]] = {
    (f"{kind.group}/{version}", kind.name): kind for kind in _ROWS for version in kind.older_versions
}

#: Documents of subresources and options: they have no path of their own.
EVICTION: Final = Kind("policy/v1", "evictions", request.Eviction)
SCALE: Final = Kind("autoscaling/v1", "scales", request.Scale)
TOKEN_REQUEST: Final = Kind("authentication.k8s.io/v1", "tokenrequests", request.TokenRequest)
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
            ("authentication.k8s.io/v1", request.TokenReview),
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
