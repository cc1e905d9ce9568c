"""Authorize by Roles, ClusterRoles and their bindings: an index that follows the store.

Bindings are kept by their subjects. What a user has in a namespace is put together once, as `_Grants` that remember
their answers, until a role or a binding changes. Cluster role bindings come before role bindings. Kubernetes: the RBAC
authorizer and its rule resolver.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.policy import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from moorage.serve.access.authorization import NO_OPINION, Attributes, Decision, Rules, aggregate
from moorage.serve.pki.authentication import User, account_user_name

RBAC_GROUP = "rbac.authorization.k8s.io"
RBAC_KINDS = (KINDS.CLUSTER_ROLE, KINDS.ROLE, KINDS.CLUSTER_ROLE_BINDING, KINDS.ROLE_BINDING)
_USER, _GROUP = "u:", "g:"
_MAX_GRANTS, _MAX_ANSWERS = 1_000, 500
#: What is asked for in more letters, or by a user of more groups, is not remembered: a review may name megabytes.
_MAX_REMEMBERED_LETTERS, _MAX_REMEMBERED_GROUPS = 2_000, 100


def covers(rule: PolicyRule, attributes: Attributes) -> bool:
    """Return whether a rule allows what is asked for, if the object's name is one of its names."""
    if not ("*" in rule.verbs or attributes.verb in rule.verbs):
        return False
    if not attributes.is_resource:
        return any(_covers_path(url, attributes.path) for url in rule.nonResourceURLs)
    if not ("*" in rule.apiGroups or attributes.group in rule.apiGroups):
        return False
    resources, subresource = rule.resources, attributes.subresource
    if "*" in resources:
        return True
    if not subresource:
        return attributes.resource in resources
    return f"{attributes.resource}/{subresource}" in resources or f"*/{subresource}" in resources


def _covers_path(url: str, path: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))


class _Bound(NamedTuple):
    """A binding as it is kept: its place in the order of arrival, and the first subject of each key."""

    place: int
    text: str
    role: RoleRef
    subjects: dict[str, tuple[int, str]]


#: A decision, and the names of the objects that it is for; None for all.
_Answer = tuple[tuple[str, ...] | None, Decision]


class _Granted(NamedTuple):
    """A rule that a user has, and by which binding."""

    source: str
    rule: PolicyRule


class _Grants:
    """What one user has in one namespace, and the answers that it gave so far, which depend on names at most."""

    __slots__ = ("_answers", "errors", "granted")

    def __init__(self, granted: tuple[_Granted, ...], errors: tuple[str, ...]) -> None:
        self.granted, self.errors = granted, errors
        self._answers: dict[tuple[str, str, str, str, str, bool], tuple[_Answer, ...]] = {}

    def decide(self, attributes: Attributes) -> Decision:
        verb, group, _, resource, subresource, _, name, path, _, is_resource = attributes
        key = (verb, group, resource, subresource, path, is_resource)
        answers = self._answers.get(key)
        if answers is None:
            answers = tuple(self._find(attributes))
            if len(verb) + len(group) + len(resource) + len(subresource) + len(path) <= _MAX_REMEMBERED_LETTERS:
                if len(self._answers) >= _MAX_ANSWERS:
                    self._answers.clear()
                self._answers[key] = answers
        for names, decision in answers:
            if names is None or name in names:
                return decision
        return NO_OPINION

    def _find(self, attributes: Attributes) -> Iterator[_Answer]:
        """Yield the answers of the rules that cover the request, up to the first for all names."""
        for source, rule in self.granted:
            if covers(rule, attributes):
                names = rule.resourceNames if attributes.is_resource else ()
                yield names or None, Decision(True, f"RBAC: allowed by {source}")
                if not names:
                    return
        yield None, Decision(False, f"RBAC: {aggregate(self.errors)}") if self.errors else NO_OPINION


class RoleIndex:
    """The roles and bindings of a store, and the authorizer that goes by them."""

    def __init__(self) -> None:
        self._rules: dict[str, tuple[PolicyRule, ...]] = {}
        self._bound: dict[str, _Bound] = {}
        #: The keys of the bindings of a subject in a namespace; cluster role bindings are in the one without a name.
        self._by_subject: dict[tuple[str, str], dict[str, None]] = {}
        self._grants: dict[tuple[str, tuple[str, ...], str], _Grants] = {}
        self._places = 0
        #: Grows when a role or a binding changes: what was decided before may be decided otherwise.
        self.generation = 0

    def learn(self, kind: Kind, view: Any) -> None:
        """Take in a role or binding that was written."""
        key = _key(kind.name, view.metadata.namespace, view.metadata.name)
        if isinstance(view, Role | ClusterRole):
            self._rules[key] = view.rules
        elif isinstance(view, RoleBinding | ClusterRoleBinding):
            self._unbind(key, view.metadata.namespace)
            self._bind(key, view)
        self._grants.clear()
        self.generation += 1

    def forget(self, kind: Kind, view: Any) -> None:
        """Drop a role or binding that was deleted."""
        key = _key(kind.name, view.metadata.namespace, view.metadata.name)
        if self._rules.pop(key, None) is None:
            self._unbind(key, view.metadata.namespace)
        self._grants.clear()
        self.generation += 1

    def _bind(self, key: str, binding: RoleBinding | ClusterRoleBinding) -> None:
        namespace, reference = binding.metadata.namespace, binding.roleRef
        name = f"{binding.metadata.name}/{namespace}" if isinstance(binding, RoleBinding) else binding.metadata.name
        subjects: dict[str, tuple[int, str]] = {}
        for number, subject in enumerate(binding.subjects):
            if who := _subject_key(subject, namespace):
                subjects.setdefault(who, (number, _describe(subject, namespace)))
                self._by_subject.setdefault((namespace, who), {})[key] = None
        self._places += 1
        text = f"{type(binding).__name__} {go_quote(name)} of {reference.kind} {go_quote(reference.name)} to "
        self._bound[key] = _Bound(self._places, text, reference, subjects)

    def _unbind(self, key: str, namespace: str) -> None:
        bound = self._bound.pop(key, None)
        for who in bound.subjects if bound is not None else ():
            keys = self._by_subject[namespace, who]
            del keys[key]
            if not keys:
                del self._by_subject[namespace, who]

    def authorize(self, user: User, attributes: Attributes) -> Decision:
        return self._grants_of(user, attributes.namespace).decide(attributes)

    def rules_for(self, user: User, namespace: str) -> Rules:
        grants = self._grants_of(user, namespace)
        return Rules([rule for _, rule in grants.granted], aggregate(grants.errors))

    def rules_of(self, reference: RoleRef, namespace: str) -> tuple[PolicyRule, ...] | str:
        """Return the rules of the role that a binding in a namespace names, or what is wrong with the reference."""
        if reference.kind not in ("Role", "ClusterRole"):
            return f"unsupported role reference kind: {go_quote(reference.kind)}"
        rules = self._rules.get(_key(reference.kind, namespace if reference.kind == "Role" else "", reference.name))
        return f"{reference.kind.lower()}.{RBAC_GROUP} {go_quote(reference.name)} not found" if rules is None else rules

    def _grants_of(self, user: User, namespace: str) -> _Grants:
        key = (user.name, user.groups, namespace)
        grants = self._grants.get(key)
        if grants is None:
            grants = self._collect(user, namespace)
            if len(user.groups) <= _MAX_REMEMBERED_GROUPS and _letters(key) <= _MAX_REMEMBERED_LETTERS:
                if len(self._grants) >= _MAX_GRANTS:
                    self._grants.clear()
                self._grants[key] = grants
        return grants

    def _collect(self, user: User, namespace: str) -> _Grants:
        granted, errors = list[_Granted](), list[str]()
        for scope in ("", namespace) if namespace else ("",):
            for source, reference in self._bindings_of(user, scope):
                rules = self.rules_of(reference, scope)
                if isinstance(rules, str):
                    errors.append(rules)
                else:
                    granted += [_Granted(source, rule) for rule in rules]
        return _Grants(tuple(granted), tuple(errors))

    def _bindings_of(self, user: User, scope: str) -> Iterator[tuple[str, RoleRef]]:
        """Yield the bindings of a user in a namespace, or of the cluster, oldest first."""
        bindings: dict[str, tuple[int, str]] = {}
        for who in (_USER + user.name, *(_GROUP + group for group in user.groups)):
            for key in tuple(self._by_subject.get((scope, who), ())):  # there is a second thread
                subject = self._bound[key].subjects[who]
                bindings[key] = min(subject, bindings.get(key, subject))
        for key in sorted(bindings, key=lambda key: self._bound[key].place):
            bound = self._bound[key]
            yield bound.text + bindings[key][1], bound.role


def _letters(key: tuple[str, tuple[str, ...], str]) -> int:
    name, groups, namespace = key
    return len(name) + len(namespace) + sum(map(len, groups))


def _key(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}"


def _subject_key(subject: Subject, namespace: str) -> str:
    """Return what a user or group is found by; empty for subjects that no user can be."""
    if subject.kind == "User":
        return _USER + subject.name
    if subject.kind == "Group":
        return _GROUP + subject.name
    namespace = subject.namespace or namespace
    if subject.kind == "ServiceAccount" and namespace:
        return _USER + account_user_name(namespace, subject.name)
    return ""


def _describe(subject: Subject, namespace: str) -> str:
    if subject.kind != "ServiceAccount":
        return f"{subject.kind} {go_quote(subject.name)}"
    return f"{subject.kind} {go_quote(f'{subject.name}/{subject.namespace or namespace}')}"
