"""List the kinds that an API server serves, those of custom resource definitions too, and route requests to them.

A route is the verb, kind, namespace and name in a request's method and path. What is rendered of the list, such as
discovery, is kept until it changes. Kubernetes: the installed API groups, the CRD handler's map of definitions, the
request info resolver.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from moorage.admit.metadata import path_segment_errors
from moorage.model.api_error import bad_request, method_not_supported, no_such_path, not_found
from moorage.model.gates import GateSet, default_gates
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import COMPONENT_STATUS, KINDS, OLDER_VERSIONS, VIRTUAL_KINDS, CustomKind, Kind, Ref
from moorage.model.text.patterns import Pattern
from moorage.model.text.readers import reads_text

Made = TypeVar("Made")

#: The order of groups, in which clients try them for a short name: larger numbers first, and by name where they are the
#: same. Custom groups come last. They are the `groupPriorityMinimum` of the groups' APIServices.
GROUP_PRIORITIES: Final = {
    "": 18000,
    "apiregistration.k8s.io": 17900,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
}
CUSTOM_PRIORITY: Final = 1000


_VERSION = Pattern(r"v([0-9]{1,18})(?:(alpha|beta)([0-9]{1,18}))?")


def _position(kind: Kind) -> tuple[int, str, tuple[int, int, int, str], str]:
    """Return the place of a kind: by group, then stable versions before beta and alpha ones, newer before older."""
    is_custom = isinstance(kind, CustomKind)
    priority = CUSTOM_PRIORITY if is_custom else GROUP_PRIORITIES.get(kind.group, CUSTOM_PRIORITY)
    return -priority, kind.group, version_priority(kind.version), kind.plural


@reads_text("v", "1", "beta", "0")
def version_priority(version: str) -> tuple[int, int, int, str]:
    """Return the key by which versions are sorted: stable ones, beta, alpha, then names of any other form."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return 3, 0, 0, version
    major, stage, minor = match.groups()
    return ("", "beta", "alpha").index(stage), -int(major), -int(minor or 0), version


#: (group, version, plural) → kind, in the order in which discovery lists them.
RESOURCES: Final[dict[tuple[str, str, str], Kind]] = {
    (kind.group, kind.version, kind.plural): kind for kind in sorted((*KINDS.values(), *VIRTUAL_KINDS), key=_position)
}


@cache
def resources(gates: GateSet) -> dict[tuple[str, str, str], Kind]:
    """Return what an API server with these gates serves: as `RESOURCES`, and kinds in their older versions."""
    served = [kind for kind in RESOURCES.values() if kind.gate is None or gates.enabled(kind.gate)]
    older = [kind.in_version(version) for kind in served for version in kind.older_versions]
    return {(kind.group, kind.version, kind.plural): kind for kind in sorted((*served, *older), key=_position)}


class Resources:
    """What one API server serves, in the order of discovery. Custom kinds come and go."""

    def __init__(
        self, gates: GateSet, beside: Mapping[str, Mapping[str, Sequence[Kind]]] = MappingProxyType({})
    ) -> None:
        """`beside` are the groups, versions and kinds that discovery lists, and whose paths others answer."""
        self.gates, self._beside = gates, beside
        self._built_in = resources(gates)
        self._custom: dict[str, tuple[CustomKind, ...]] = {}
        self._remembered: dict[Hashable, Any] = {}
        self._listeners: list[Callable[[], object]] = []

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self.table.get((group, version, plural))

    def custom_kind(self, api_version: str, name: str) -> CustomKind | None:
        return self._by_name.get((api_version, name))

    @property
    def custom(self) -> Iterable[CustomKind]:
        return self._by_name.values()

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], CustomKind]:
        return {(one.api_version, one.name): one for several in self._custom.values() for one in several}

    @cached_property
    def table(self) -> dict[tuple[str, str, str], Kind]:
        """Group, version and plural → kind, in the order of discovery."""
        if not self._custom:
            return self._built_in
        order = sorted((*self._built_in.values(), *self._by_name.values()), key=_position)
        return {(kind.group, kind.version, kind.plural): kind for kind in order}

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the table that are served, without their older versions."""
        return tuple(kind for kind in RESOURCES.values() if kind.gate is None or self.gates.enabled(kind.gate))

    def serve(self, definition: str, kinds: Iterable[CustomKind]) -> None:
        """Serve these kinds, one for each version, in place of those that the definition had before."""
        custom = tuple(kinds)
        custom = tuple(one for one in custom if (one.group, one.version, one.plural) not in self._built_in)
        if not custom and definition not in self._custom:
            return
        if custom:
            self._custom[definition] = custom
        else:
            del self._custom[definition]
        self._remembered.clear()
        for name in ("table", "groups", "_by_name"):
            self.__dict__.pop(name, None)
        for tell in self._listeners:
            tell()

    def when_changed(self, tell: Callable[[], object]) -> None:
        self._listeners.append(tell)

    @cached_property
    def groups(self) -> dict[str, dict[str, list[Kind]]]:
        """The kinds by group and version."""
        groups: dict[str, dict[str, list[Kind]]] = {}
        for (group, version, _), kind in self.table.items():
            groups.setdefault(group, {}).setdefault(version, []).append(kind)
        for group, versions in self._beside.items():
            if group not in groups:
                groups[group] = {version: list(kinds) for version, kinds in versions.items()}
        return groups

    def remembered(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made for this key since the last change."""
        if key not in self._remembered:
            self._remembered[key] = make()
        value: Made = self._remembered[key]
        return value


#: An API server with the default gates and no custom kinds.
BUILT_IN: Final = Resources(default_gates())


_VERBS_ON_ONE = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS_ON_MANY = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
_VERBS_ON_NO_NAME = {**_VERBS_ON_ONE, **_VERBS_ON_MANY}
#: What the core API has below a namespace that is not a resource in it.
_OF_NAMESPACES = {"status", "finalize"}


#: Subresources whose answers are no objects with columns.
_WITHOUT_TABLE = frozenset(["binding", "eviction", "token"])


class Target(NamedTuple):
    """What a request is about. `name` is empty for collections."""

    verb: str
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    #: The version that the client speaks, if it is not the kind's own.
    older_version: str = ""

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.namespace, self.name)

    @property
    def has_table(self) -> bool:
        """Whether the answer can be shown as a Table. Kubernetes: whether the storage is a TableConvertor."""
        is_review = self.kind in VIRTUAL_KINDS and self.kind is not COMPONENT_STATUS
        return not is_review and self.subresource not in _WITHOUT_TABLE


def target_of(method: str, path: str, served: Resources = BUILT_IN) -> Target | None:
    """Route a request; None if the path is not that of a resource. Raises ApiError 400, 404 and 405."""
    segments = path.strip("/").split("/")
    if segments[0] == "api" and len(segments) > 2:
        group, version, rest = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return None
    watching = rest[0] == "watch" and len(rest) > 1
    namespace, plural, rest = _in_namespace(rest[1:] if watching else rest)
    kind = served.find(group, version, plural)
    if kind is None or (namespace and not kind.namespaced):
        raise no_such_path()
    if isinstance(kind, CustomKind):
        return _custom_target(method, kind, namespace, (*rest, "", "")[:2], watching)
    if len(rest) > 2 and rest[1] == "proxy":
        rest = rest[:2]  # the rest is a path at the other end
    name, subresource = (*rest, "", "")[:2]
    everywhere = kind.namespaced and not namespace
    if len(rest) > 2 or (everywhere and name) or (subresource and not name):
        raise no_such_path()
    verb = _verb(method, kind, name, subresource)
    if watching:
        if subresource:
            raise no_such_path()
        if verb not in ("get", "list"):
            raise method_not_supported()  # what is authorized as a watch does nothing else
    if everywhere and verb != "list":
        raise method_not_supported()  # what is in all namespaces can be seen together, but not changed
    if name and kind not in VIRTUAL_KINDS and verb != "update":  # whose document must have the same name
        check_segment(name)
    verb = "watch" if watching else verb
    own = OLDER_VERSIONS.get((kind.api_version, kind.name))
    if own is not None:
        return Target(verb, own, namespace, name, subresource, kind.version)
    return Target(verb, kind, namespace, name, subresource)


def _in_namespace(segments: list[str]) -> tuple[str, str, list[str]]:
    if segments[0] != "namespaces" or len(segments) < 3 or segments[2] in _OF_NAMESPACES:
        return "", segments[0], segments[1:]
    return segments[1], segments[2], segments[3:]


def _verb(method: str, kind: Kind, name: str, subresource: str) -> str:
    """Return the verb of a request. A path on which the kind has no verb at all does not exist."""
    if subresource:
        below = kind.subresource(subresource)
        if below is None:
            raise no_such_path()
        verb = "create" if method == "POST" else _VERBS_ON_ONE.get(method, "")
        verbs = below.verbs
    else:
        by_method = _VERBS_ON_ONE if name else _VERBS_ON_MANY
        verb, verbs = by_method.get(method, ""), kind.verbs
        if not set(verbs) & set(by_method.values()):
            raise no_such_path()
    if verb not in verbs:
        raise method_not_supported()
    return verb


def _custom_target(
    method: str, kind: CustomKind, namespace: str, below: tuple[str, ...], watching: bool
) -> Target | None:
    """Route a request for a custom kind, whose paths are read by verb: what follows a subresource is ignored.

    Kubernetes: crdHandler of apiextensions-apiserver. A POST to the path of an object creates the one in its body.
    """
    name, subresource = below
    verb = "create" if method == "POST" else (_VERBS_ON_ONE if name else _VERBS_ON_NO_NAME).get(method, "")
    if watching and verb in ("get", "list"):
        verb = "watch"
    if kind.namespaced and not namespace and verb not in ("list", "watch"):
        raise no_such_path()
    part = kind.subresource(subresource) if subresource else None
    if subresource and part is None:
        raise not_found(kind, name)
    if verb not in (kind.verbs if part is None else part.verbs):
        raise method_not_supported(verb, kind)
    if verb == "create" and part is None:
        name = ""
    elif not name and verb in ("update", "patch"):
        raise bad_request("name must be provided")
    if name and verb != "update":
        check_segment(name)
    return Target(verb, kind, namespace, name, subresource)


def check_segment(name: str) -> None:
    """Raise ApiError 400 for a name under which nothing can be stored. Kubernetes: NamespaceKeyFunc."""
    if not name:
        raise bad_request("Name parameter required.")
    if errors := path_segment_errors(name):
        raise bad_request(f"Name parameter invalid: {go_quote(name)}: {';'.join(errors)}")
