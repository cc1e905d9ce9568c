"""The kinds Moorage knows, one row each: names, view, verbs, subresources, and the rules that differ by kind.

In: raw documents. Out: their `Kind`, typed views, unknown fields. Admission, tables, discovery and OpenAPI are keyed by
`Kind`; tests/unit/test_every_kind.py fails where a kind lacks a row. Kubernetes: the scheme, the REST mapping and the
answers of each strategy under pkg/registry. Differs: documents of other kinds are no error; they are not looked into.
"""

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from moorage.model.gates import DRA_DEVICE_TAINT_RULES, Gate
from moorage.model.schema.conversion import convert_view
from moorage.model.types import devices, request, storage
from moorage.model.types.core import ConfigMap, Namespace, Secret, Service, ServiceAccount
from moorage.model.types.events.event import Event, Lease
from moorage.model.types.events.reported_event import Event as ReportedEvent
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget, PriorityClass
from moorage.model.types.resource_slice import ResourceSlice
from moorage.model.types.view import View
from moorage.model.types.workload import (
    ControllerRevision,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    StatefulSet,
)

STANDARD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Subresource(NamedTuple):
    """A path below an object. `kind` and `group_version` are of the document there, if it is not the object itself."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    group_version: str = ""


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind, named as its view is. Rows are compared by identity."""

    api_version: str
    plural: str
    view: type[View]
    short_names: tuple[str, ...] = ()
    _: KW_ONLY
    namespaced: bool = True
    #: The fields that lead to the pod template, for kinds that have one.
    template: tuple[str, ...] | None = None
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    verbs: tuple[str, ...] = STANDARD_VERBS

    #: A PUT of an absent object creates it.
    creates_on_update: bool = False
    #: A PUT may leave out the resourceVersion.
    unconditional_update: bool = True
    #: DELETE answers with the object instead of a Status.
    returns_deleted: bool = False
    #: What becomes of dependents when the client does not say; "none" for kinds that own nothing.
    dependents: Literal["background", "orphan", "none"] = "background"
    #: Fields that a write to the status subresource leaves as they are, and whose owners it does not change.
    status_resets: tuple[tuple[str, ...], ...] = (("spec",),)
    #: Whether `plan` reads such objects from a live cluster: not if no pod's placement depends on them.
    read_by_plan: bool = True
    #: Other kinds refer to it by name, so `--load` applies it first, in the order of the table.
    loads_first: bool = False
    #: Versions of the API in which clients may send and get it, newest first; it is stored and handled in its own.
    older_versions: tuple[str, ...] = ()
    #: The API server serves it only where this gate is on.
    gate: Gate | None = None
    #: Changes too often for the namespace controller to watch it.
    is_chatty: bool = False

    #: The rest follows. The core group's name is empty.
    name: str = field(init=False)
    group: str = field(init=False)
    version: str = field(init=False)

    def __post_init__(self) -> None:
        group, _, version = self.api_version.rpartition("/")
        for name, value in (("name", self.view.__name__), ("group", group), ("version", version)):
            object.__setattr__(self, name, value)

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def openapi_package(self) -> str:
        return f"io.k8s.api.{self.group.removesuffix('.k8s.io') or 'core'}.{self.version}"

    @property
    def has_status(self) -> bool:
        """True if the status is written by a subresource of its own."""
        return self.subresource("status") is not None

    def in_version(self, version: str) -> "Kind":
        """Return the kind as clients see it in one of its older versions."""
        return replace(self, api_version=f"{self.group}/{version}", older_versions=())

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


class Ref(NamedTuple):
    """Which object: its kind, namespace (empty for objects without one) and name."""

    kind: Kind
    namespace: str
    name: str


_TEMPLATE: Final = ("spec", "template")
_ALL: Final = ("all",)
_WITH_STATUS: Final = (Subresource("status", ("get", "patch", "update")),)
_SCALED: Final = (Subresource("scale", ("get", "patch", "update"), "Scale", "autoscaling/v1"), *_WITH_STATUS)
_CREATE: Final = ("create",)
_DEVICE_VERSIONS: Final = ("v1beta2", "v1beta1")

_ROWS: Final = (
    Kind(
        "v1",
        "pods",
        Pod,
        ("po",),
        categories=_ALL,
        subresources=(
            Subresource("binding", _CREATE, "Binding", "v1"),
            Subresource("eviction", _CREATE, "Eviction", "policy/v1"),
            Subresource("log", ("get",)),
            *_WITH_STATUS,
        ),
        returns_deleted=True,
        status_resets=(("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ),
    Kind(
        "v1",
        "namespaces",
        Namespace,
        ("ns",),
        namespaced=False,
        subresources=(Subresource("finalize", ("update",)), *_WITH_STATUS),
        verbs=tuple(verb for verb in STANDARD_VERBS if verb != "deletecollection"),
        loads_first=True,
    ),
    Kind("scheduling.k8s.io/v1", "priorityclasses", PriorityClass, ("pc",), namespaced=False, loads_first=True),
    Kind("storage.k8s.io/v1", "storageclasses", storage.StorageClass, ("sc",), namespaced=False, loads_first=True),
    Kind("v1", "nodes", Node, ("no",), namespaced=False, subresources=_WITH_STATUS, loads_first=True),
    Kind(
        "v1",
        "persistentvolumes",
        storage.PersistentVolume,
        ("pv",),
        namespaced=False,
        subresources=_WITH_STATUS,
        returns_deleted=True,
        loads_first=True,
    ),
    Kind(
        "v1",
        "persistentvolumeclaims",
        storage.PersistentVolumeClaim,
        ("pvc",),
        subresources=_WITH_STATUS,
        returns_deleted=True,
        loads_first=True,
    ),
    Kind(
        "resource.k8s.io/v1",
        "deviceclasses",
        devices.DeviceClass,
        namespaced=False,
        returns_deleted=True,
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    Kind(
        "resource.k8s.io/v1",
        "resourceslices",
        ResourceSlice,
        namespaced=False,
        returns_deleted=True,
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    Kind(
        "resource.k8s.io/v1beta2",
        "devicetaintrules",
        devices.DeviceTaintRule,
        namespaced=False,
        subresources=_WITH_STATUS,
        returns_deleted=True,
        status_resets=(("metadata",), ("spec",)),
        loads_first=True,
        older_versions=("v1alpha3",),
        gate=DRA_DEVICE_TAINT_RULES,
    ),
    Kind(
        "resource.k8s.io/v1",
        "resourceclaimtemplates",
        devices.ResourceClaimTemplate,
        returns_deleted=True,
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    Kind(
        "resource.k8s.io/v1",
        "resourceclaims",
        devices.ResourceClaim,
        subresources=_WITH_STATUS,
        returns_deleted=True,
        status_resets=(("metadata",), ("spec",)),
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    Kind("v1", "configmaps", ConfigMap, ("cm",), read_by_plan=False),
    Kind("v1", "secrets", Secret, read_by_plan=False),
    Kind(
        "v1",
        "services",
        Service,
        ("svc",),
        categories=_ALL,
        subresources=_WITH_STATUS,
        creates_on_update=True,
        returns_deleted=True,
    ),
    Kind(
        "v1",
        "serviceaccounts",
        ServiceAccount,
        ("sa",),
        unconditional_update=False,
        returns_deleted=True,
        read_by_plan=False,
    ),
    *(
        Kind(
            api_version,
            "events",
            view,
            ("ev",),
            creates_on_update=True,
            dependents="none",
            read_by_plan=False,
            is_chatty=True,
        )
        for api_version, view in (("events.k8s.io/v1", ReportedEvent), ("v1", Event))
    ),
    Kind(
        "coordination.k8s.io/v1",
        "leases",
        Lease,
        creates_on_update=True,
        unconditional_update=False,
        read_by_plan=False,
        is_chatty=True,
    ),
    Kind("storage.k8s.io/v1", "csinodes", storage.CSINode, namespaced=False, unconditional_update=False),
    Kind("storage.k8s.io/v1", "csidrivers", storage.CSIDriver, namespaced=False, unconditional_update=False),
    Kind("storage.k8s.io/v1", "csistoragecapacities", storage.CSIStorageCapacity, unconditional_update=False),
    Kind(
        "storage.k8s.io/v1",
        "volumeattachments",
        storage.VolumeAttachment,
        namespaced=False,
        subresources=_WITH_STATUS,
        unconditional_update=False,
        status_resets=(("metadata",), ("spec",)),
        read_by_plan=False,
    ),
    Kind(
        "apps/v1",
        "deployments",
        Deployment,
        ("deploy",),
        template=_TEMPLATE,
        categories=_ALL,
        subresources=_SCALED,
        status_resets=(("spec",), ("metadata", "labels")),
    ),
    Kind("apps/v1", "replicasets", ReplicaSet, ("rs",), template=_TEMPLATE, categories=_ALL, subresources=_SCALED),
    Kind("apps/v1", "statefulsets", StatefulSet, ("sts",), template=_TEMPLATE, categories=_ALL, subresources=_SCALED),
    Kind("apps/v1", "daemonsets", DaemonSet, ("ds",), template=_TEMPLATE, categories=_ALL, subresources=_WITH_STATUS),
    Kind("apps/v1", "controllerrevisions", ControllerRevision, read_by_plan=False),
    Kind("batch/v1", "jobs", Job, template=_TEMPLATE, categories=_ALL, subresources=_WITH_STATUS, dependents="orphan"),
    Kind(
        "batch/v1",
        "cronjobs",
        CronJob,
        ("cj",),
        template=("spec", "jobTemplate", *_TEMPLATE),
        categories=_ALL,
        subresources=_WITH_STATUS,
    ),
    Kind(
        "policy/v1",
        "poddisruptionbudgets",
        PodDisruptionBudget,
        ("pdb",),
        subresources=_WITH_STATUS,
        unconditional_update=False,
    ),
)
KINDS: Final[dict[tuple[str, str], Kind]] = {(kind.api_version, kind.name): kind for kind in _ROWS}
#: The kinds that have older versions, by those: what documents of a version are converted to.
OLDER_VERSIONS: Final[dict[tuple[str, str], Kind]] = {
    (f"{kind.group}/{version}", kind.name): kind for kind in _ROWS for version in kind.older_versions
}

#: Documents of subresources and options: they have no path of their own.
EVICTION: Final = Kind("policy/v1", "evictions", request.Eviction)
SCALE: Final = Kind("autoscaling/v1", "scales", request.Scale)
DELETE_OPTIONS: Final = Kind("meta.k8s.io/v1", "deleteoptions", request.DeleteOptions, namespaced=False)

#: Requests in the form of objects: they are posted and answered, never stored.
BINDING: Final = Kind("v1", "bindings", request.Binding, verbs=_CREATE)
VIRTUAL_KINDS: Final = (
    BINDING,
    *(
        Kind(api_version, f"{view.__name__.lower()}s", view, namespaced=False, verbs=_CREATE)
        for api_version, view in (
            ("authentication.k8s.io/v1", request.SelfSubjectReview),
            ("authorization.k8s.io/v1", request.SelfSubjectAccessReview),
            ("authorization.k8s.io/v1", request.SelfSubjectRulesReview),
        )
    ),
)


def kind_of(raw: dict[str, Any]) -> Kind | None:
    """Return the kind of a document, or None if Moorage does not know it."""
    return KINDS.get((raw.get("apiVersion", ""), raw.get("kind", "")))


def view_of(raw: dict[str, Any]) -> View | None:
    """Return the typed view of a document, or None if Moorage does not know its kind. Raises ConversionError."""
    kind = kind_of(raw)
    return None if kind is None else convert_view(raw, kind.view)
