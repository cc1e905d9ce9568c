"""Route a request: find the verb, the kind, the namespace and the name in its method and path.

Kubernetes: the request info resolver.
"""

from typing import NamedTuple

from moorage.model.api_error import ApiError, method_not_supported, no_such_path, not_found
from moorage.model.kinds import OLDER_VERSIONS, CustomKind, Kind, Ref
from moorage.serve.resources.served import BUILT_IN, Resources

_VERBS_ON_ONE = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS_ON_MANY = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
#: What the core API has below a namespace that is not a resource in it.
_OF_NAMESPACES = {"status", "finalize"}


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
    if len(rest) > 2 and rest[1] == "proxy":
        rest = rest[:2]  # the rest is a path at the other end
    if kind is None or len(rest) > 2 or (namespace and not kind.namespaced):
        raise no_such_path()
    name, subresource = (*rest, "", "")[:2]
    everywhere = kind.namespaced and not namespace
    if everywhere and name:
        raise no_such_path()
    verb = _verb(method, kind, name, subresource)
    if watching:
        if subresource:
            raise no_such_path()
        if verb not in ("get", "list"):
            raise method_not_supported()  # what is authorized as a watch does nothing else
    if everywhere and verb != "list":
        raise method_not_supported()  # what is in all namespaces can be seen together, but not changed
    verb = "watch" if watching else verb
    own = OLDER_VERSIONS.get((kind.api_version, kind.name)) if type(kind) is Kind else None
    if own is not None:
        return Target(verb, own, namespace, name, subresource, kind.version)
    return Target(verb, kind, namespace, name, subresource)


def _in_namespace(segments: list[str]) -> tuple[str, str, list[str]]:
    if segments[0] != "namespaces" or len(segments) < 3 or segments[2] in _OF_NAMESPACES:
        return "", segments[0], segments[1:]
    return segments[1], segments[2], segments[3:]


def _verb(method: str, kind: Kind, name: str, subresource: str) -> str:
    if subresource:
        found = kind.subresource(subresource)
        if found is None:
            raise _not_served(kind, name)
        verb = "create" if method == "POST" else _VERBS_ON_ONE.get(method, "")
        verbs = found.verbs
    else:
        verb = (_VERBS_ON_ONE if name else _VERBS_ON_MANY).get(method, "")
        verbs = kind.verbs
    if verb not in verbs:
        raise method_not_supported()
    return verb


def _not_served(kind: Kind, name: str) -> ApiError:
    return not_found(kind, name) if isinstance(kind, CustomKind) else no_such_path()
