"""What a row of the `Kind` table says of one kind.

Kubernetes: the REST mapping and the answers of each strategy under pkg/registry.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Final, Literal, NamedTuple

from moorage.model.gates import Gate
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
}


def openapi_group(group: str) -> str:
    """Return the package of a group's definitions, without the version."""
    return _OWN_MODULES.get(group) or f"io.k8s.api.{group.partition('.')[0] or 'core'}"


class Ref(NamedTuple):
    """Which object: its kind, namespace (empty for objects without one) and name."""

    kind: Kind
    namespace: str
    name: str


ALL: Final = ("all",)
CREATE: Final = ("create",)
POD_TEMPLATE: Final = ("spec", "template")
STATUS: Final = Subresource("status", ("get", "patch", "update"))
SCALE: Final = Subresource("scale", ("get", "patch", "update"), "Scale", "autoscaling/v1")
WITH_STATUS: Final = (STATUS,)
#: What nothing here can answer, because no container runs: discovery lists it, and a request is told why not.
REACHED_BY_PROXY: Final = ("create", "delete", "get", "patch", "update")
SCALED: Final = (SCALE, STATUS)
