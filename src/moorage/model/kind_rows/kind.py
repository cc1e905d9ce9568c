"""Define the row of the `Kind` table, and the row that a custom resource definition adds.

A custom kind's view is metadata only. Components that watch custom objects, such as the garbage collector, make such
rows of the definitions they see. Kubernetes: the REST mapping and the answers of each strategy under pkg/registry.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from moorage.model.gates import Gate
from moorage.model.types.meta import ApiObject
from moorage.model.types.view import View

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
    #: Views of older versions that have other fields.
    older_views: Mapping[str, type[View]] = field(default_factory=dict)
    #: The API server serves it only where this gate is on.
    gate: Gate | None = None
    #: The warning that goes with every answer about it.
    deprecation: str = ""
    #: Its spec says who has created it: name, uid, groups and extra of the user.
    records_requester: bool = False
    #: Changes too often for the namespace controller to watch it.
    is_chatty: bool = False

    #: The rest follows. The core group's name is empty.
    name: str = field(init=False)
    group: str = field(init=False)
    version: str = field(init=False)

    @property
    def is_converted(self) -> bool:
        """Whether objects may have to be converted by a webhook when they are read and stored."""
        return False

    def __post_init__(self) -> None:
        group, _, version = self.api_version.rpartition("/")
        for name, value in (("name", self.view.__name__), ("group", group), ("version", version)):
            object.__setattr__(self, name, value)

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def listed_verbs(self) -> tuple[str, ...]:
        """The verbs that discovery lists."""
        return self.verbs

    @property
    def list_name(self) -> str:
        """The kind of a list of such objects."""
        return f"{self.name}List"

    @property
    def openapi_package(self) -> str:
        return f"{openapi_group(self.group)}.{self.version}"

    @property
    def has_status(self) -> bool:
        """True if the status is written by a subresource of its own."""
        return self.subresource("status") is not None

    def in_version(self, version: str) -> "Kind":
        """Return the kind as clients see it in one of its older versions."""
        view = self.older_views.get(version, self.view)
        return replace(self, api_version=f"{self.group}/{version}", view=view, older_versions=())

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


#: Where the Go types of groups are that k8s.io/api does not have.
_OWN_MODULES: Final = {
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
    "metrics.k8s.io": "io.k8s.metrics.pkg.apis.metrics",
}


def openapi_group(group: str) -> str:
    """Return the package of a group's definitions, without the version."""
    return _OWN_MODULES.get(group) or f"io.k8s.api.{group.partition('.')[0] or 'core'}"


class Ref(NamedTuple):
    """Which object: its kind, namespace (empty for objects without one) and name."""

    kind: Kind
    namespace: str
    name: str


#: Rows of kinds without a namespace, of kinds that no pod's placement depends on, and of kinds that are both.
cluster_kind = partial(Kind, namespaced=False)
unplanned_kind = partial(Kind, read_by_plan=False)
unplanned_cluster_kind = partial(Kind, namespaced=False, read_by_plan=False)

ALL: Final = ("all",)
CREATE: Final = ("create",)
POD_TEMPLATE: Final = ("spec", "template")
STATUS: Final = Subresource("status", ("get", "patch", "update"))
SCALE: Final = Subresource("scale", ("get", "patch", "update"), "Scale", "autoscaling/v1")
WITH_STATUS: Final = (STATUS,)
#: What nothing here can answer, because no container runs: discovery lists it, and requests get the reason.
REACHED_BY_PROXY: Final = ("create", "delete", "get", "patch", "update")
SCALED: Final = (SCALE, STATUS)


Raw = dict[str, Any]

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS_AT_THE_END = ("delete", "deletecollection", "get", "list", "watch")


class CustomObject(ApiObject, frozen=True, gc=False):
    """An object whose kind is not known beforehand: its document says what is in it."""


@dataclass(frozen=True, eq=False)
class CustomKind(Kind):
    """One version of a custom kind."""

    _: KW_ONLY
    custom_name: str
    singular_name: str = ""
    custom_list_name: str = ""
    #: Its definition is being deleted: no object can be created any more.
    is_going: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "name", self.custom_name)

    @property
    def singular(self) -> str:
        return self.singular_name or self.name.lower()

    @property
    def listed_verbs(self) -> tuple[str, ...]:
        return _VERBS_AT_THE_END if self.is_going else self.verbs

    @property
    def list_name(self) -> str:
        return self.custom_list_name or f"{self.name}List"


def kind_facts(definition: Raw, version: Raw) -> Raw:
    """Return the arguments of the `CustomKind` for a version of a definition that was admitted."""
    spec, status = definition["spec"], definition.get("status") or {}
    names: Raw = status.get("acceptedNames") or spec["names"]
    below = version.get("subresources") or {}
    return {
        "api_version": f"{spec['group']}/{version['name']}",
        "plural": names["plural"],
        "view": CustomObject,
        "short_names": tuple(names.get("shortNames") or ()),
        "namespaced": spec.get("scope") == "Namespaced",
        "categories": tuple(names.get("categories") or ()),
        "subresources": (
            *((STATUS,) if below.get("status") is not None else ()),
            *((SCALE,) if below.get("scale") is not None else ()),
        ),
        "verbs": _VERBS,
        "is_going": has_condition(definition, "Terminating"),
        "unconditional_update": False,
        "status_resets": (("metadata",), ("spec",)),
        "read_by_plan": False,
        "custom_name": names["kind"],
        "singular_name": names.get("singular") or "",
        "custom_list_name": names.get("listKind") or "",
    }


def stored_kind(definition: Raw) -> CustomKind | None:
    """Return the kind of an established definition, in the stored version or, if not served, another."""
    served = _served_versions(definition)
    version = next((candidate for candidate in served if candidate.get("storage")), served[0] if served else None)
    return None if version is None else CustomKind(**kind_facts(definition, version))


def custom_kinds(definition: Raw) -> list[CustomKind]:
    """Return the kinds of an established definition, one for each version that is served."""
    return [CustomKind(**kind_facts(definition, version)) for version in _served_versions(definition)]


def _served_versions(definition: Raw) -> list[Raw]:
    if not has_condition(definition, "Established"):
        return []
    return [version for version in definition["spec"].get("versions") or () if version.get("served")]


def has_condition(definition: Raw, name: str) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == name and condition.get("status") == "True" for condition in conditions)
