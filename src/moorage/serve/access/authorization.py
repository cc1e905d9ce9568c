"""Decide what a user may do: the one place that is asked, by requests and by reviews.

`system:masters` may do everything; other users may discover the API, ask for its health and review themselves, as by
the roles that every Kubernetes cluster binds to `system:authenticated` and `system:unauthenticated`. Kubernetes: the
authorizer interface, the privileged-group authorizer, the bootstrap policy, the request info resolver. Differs: there
are no Roles and no bindings; single health checks are public, too.
"""

from typing import NamedTuple

from moorage.model.api_error import ApiError, failure
from moorage.model.go.quoting import go_quote
from moorage.serve.http.messages import Request
from moorage.serve.pki.authentication import AUTHENTICATED, MASTERS, UNAUTHENTICATED, User


class Attributes(NamedTuple):
    """What is asked for: a verb on a resource, or on a path if `resource` is empty."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class AccessRule(NamedTuple):
    """What is allowed: verbs on resources of groups, or on paths. `*` is all; a path may end in it."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def allows(self, asked: Attributes) -> bool:
        if not (asked.verb in self.verbs or "*" in self.verbs):
            return False
        if not asked.resource:
            return any(_is_path(path, asked.path) for path in self.paths)
        resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
        return any(group in (asked.group, "*") for group in self.groups) and any(
            allowed in (resource, "*") for allowed in self.resources
        )


def _is_path(allowed: str, path: str) -> bool:
    return path.startswith(allowed[:-1]) if allowed.endswith("*") else path == allowed


class Role(NamedTuple):
    """Rules under the name of the ClusterRole that has them in Kubernetes."""

    name: str
    rules: tuple[AccessRule, ...]


class Decision(NamedTuple):
    """An answer, and the rule that allowed it."""

    allowed: bool
    reason: str = ""


_HEALTH = ("/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*", "/version", "/version/")
_EVERYTHING = Role(
    "cluster-admin", (AccessRule(("*",), groups=("*",), resources=("*",)), AccessRule(("*",), paths=("*",)))
)
_DISCOVERY = Role(
    "system:discovery",
    (
        AccessRule(
            ("get",),
            paths=("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *_HEALTH),
        ),
    ),
)
_BASIC_USER = Role(
    "system:basic-user",
    (
        AccessRule(
            ("create",),
            groups=("authorization.k8s.io",),
            resources=("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
        ),
        AccessRule(("create",), groups=("authentication.k8s.io",), resources=("selfsubjectreviews",)),
    ),
)
_PUBLIC_INFO_VIEWER = Role("system:public-info-viewer", (AccessRule(("get",), paths=_HEALTH),))

_ROLES_OF_GROUPS: dict[str, tuple[Role, ...]] = {
    MASTERS: (_EVERYTHING,),
    AUTHENTICATED: (_BASIC_USER, _DISCOVERY, _PUBLIC_INFO_VIEWER),
    UNAUTHENTICATED: (_PUBLIC_INFO_VIEWER,),
}
_ALLOWED = Decision(True)


def authorize(user: User, asked: Attributes) -> Decision:
    """Decide whether a user may do what is asked for."""
    if MASTERS in user.groups:
        return _ALLOWED
    for group in user.groups:
        for role in _ROLES_OF_GROUPS.get(group, ()):
            if any(rule.allows(asked) for rule in role.rules):
                bound = f"ClusterRoleBinding {go_quote(role.name)} of ClusterRole {go_quote(role.name)}"
                return Decision(True, f"RBAC: allowed by {bound} to Group {go_quote(group)}")
    return Decision(False)


def rules_for(user: User) -> list[AccessRule]:
    """Return all that a user may do, in any namespace."""
    return [rule for group in user.groups for role in _ROLES_OF_GROUPS.get(group, ()) for rule in role.rules]


_PREFIXES = ("api", "apis")
_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_NAMESPACES = ("status", "finalize")


def attributes_of(request: Request) -> Attributes:
    """Return what a request asks for, by its method and path alone: the kind need not exist."""
    path_only = Attributes(request.method.lower(), path=request.path)
    segments = request.path.strip("/").split("/")
    if segments[0] not in _PREFIXES or len(segments) < (3 if segments[0] == "api" else 4):
        return path_only
    start = 1 if segments[0] == "api" else 2
    group, version, rest = segments[1] if start == 2 else "", segments[start], segments[start + 1 :]
    verb = _VERBS.get(request.method, "")
    if rest[0] == "watch" and len(rest) > 1:
        verb, rest = "watch", rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
            rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    if not name and verb == "get":
        name = _name_in_selector(request)
        verb = "list" if request.query.get("watch", "false") in ("", "0", "false") else "watch"
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Attributes(verb, group, version, resource, subresource, namespace, name)


def _name_in_selector(request: Request) -> str:
    """Return the name of the only object that a field selector lets through."""
    for term in request.query.get("fieldSelector").split(","):
        field, equals, value = term.replace("==", "=").partition("=")
        if field == "metadata.name" and equals and value:
            return value
    return ""


_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def denied(user: User, asked: Attributes, reason: str = "") -> ApiError:
    """Return the 403 for what a user may not do."""
    said = f"User {go_quote(user.name)} cannot {asked.verb} "
    if not asked.resource:
        said += f"path {go_quote(asked.path)}"
    else:
        resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
        where = f"in the namespace {go_quote(asked.namespace)}" if asked.namespace else "at the cluster scope"
        said += f"resource {go_quote(resource)} in API group {go_quote(asked.group)} {where}"
    said = said.translate(_HTML) + (f": {reason}" if reason else "")
    whom = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    subject = (
        f"{whom} {go_quote(asked.name)} is forbidden" if asked.name else f"{whom} is forbidden" if whom else "forbidden"
    )
    details = {"name": asked.name, "group": asked.group, "kind": asked.resource}
    return failure(403, "Forbidden", f"{subject}: {said}", details)


def check(user: User, asked: Attributes) -> None:
    """Raise ApiError 403 if a user may not do what is asked for."""
    decision = authorize(user, asked)
    if not decision.allowed:
        raise denied(user, asked, decision.reason)
