"""Read the roles and bindings that every cluster has, those of Kubernetes v1.36, from their tables.

A role is a line with its name, `> label` for what it is aggregated into and `< label` for what it aggregates, and a
line for each rule: `verbs | groups | resources | names`, or `verbs | paths`. A binding is a line `name = Kind role`
and a line for each subject. Every controller's role is bound to its service account. Kubernetes: bootstrappolicy.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.serve.access.bootstrap.cluster_roles import BINDINGS, CLUSTER_ROLES, ROLES
from moorage.serve.access.bootstrap.components import COMPONENT_BINDINGS, COMPONENT_ROLES, SINGLE_PROCESS_BINDINGS
from moorage.serve.access.bootstrap.controller_roles import CONTROLLER_ROLES
from moorage.serve.pki.authentication import account_of_user

Raw = dict[str, Any]

API_VERSION = "rbac.authorization.k8s.io/v1"
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_GROUP = "rbac.authorization.k8s.io"
_AGGREGATE_TO = "rbac.authorization.k8s.io/aggregate-to-"
_CONTROLLER = "system:controller:"
_VERBS = {
    "all": ["*"],
    "follow": ["list", "watch"],
    "read": ["get", "list", "watch"],
    "report": ["create", "patch", "update"],
    "write": ["create", "delete", "deletecollection", "patch", "update"],
}


def bootstrap_roles() -> list[Raw]:
    """Return the ClusterRoles and Roles."""
    return [_role(head, rules) for head, rules in _blocks(CLUSTER_ROLES + CONTROLLER_ROLES + ROLES)]


def bootstrap_bindings() -> list[Raw]:
    """Return the ClusterRoleBindings and RoleBindings."""
    bindings = [_binding(head, subjects) for head, subjects in _blocks(BINDINGS)]
    for role, _ in _blocks(CONTROLLER_ROLES):
        account = f"ServiceAccount kube-system/{role.removeprefix(_CONTROLLER)}"
        bindings.append(_binding(f"{role} = ClusterRole {role}", [account]))
    return bindings


def component_roles() -> list[Raw]:
    """Return the ClusterRoles of Moorage's own components."""
    return [_role(head, rules) for head, rules in _blocks(COMPONENT_ROLES)]


def component_bindings() -> list[Raw]:
    """Return what binds the roles of components to their users in `moorage up`."""
    return [_binding(head, subjects) for head, subjects in _blocks(COMPONENT_BINDINGS)]


def component_policy(users: Mapping[str, str]) -> list[Raw]:
    """Return the roles of Moorage's own components, bound to these users instead of those in `moorage up`."""
    roles = component_roles()
    bindings = [_binding(head, subjects) for head, subjects in _blocks(COMPONENT_BINDINGS + SINGLE_PROCESS_BINDINGS)]
    for document in (*roles, *bindings):
        document["metadata"] = {"name": document["metadata"]["name"]}
    for binding in bindings:
        binding["subjects"] = [_user_subject(users[subject["name"]]) for subject in binding["subjects"]]
    return [*roles, *bindings]


def _user_subject(user: str) -> Raw:
    namespace, account = account_of_user(user)
    return _subject("ServiceAccount", f"{namespace}/{account}") if account else _subject("User", user)


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each line that is not indented, with the indented ones below it."""
    head, lines = "", list[str]()
    for line in text.replace("\n    ", " ").splitlines():
        if line.startswith(" "):
            lines.append(line.strip())
        elif line:
            if head:
                yield head, lines
            head, lines = line, []
    yield head, lines


def _role(head: str, rules: list[str]) -> Raw:
    name, *marks = head.split(" ")
    pairs = list(zip(marks[::2], marks[1::2], strict=True))
    role = _document("Role" if "/" in name else "ClusterRole", name)
    role["metadata"]["labels"] |= {_AGGREGATE_TO + label: "true" for mark, label in pairs if mark == ">"}
    role["rules"] = [_rule(line.split(" | ")) for line in rules]
    selectors = [{"matchLabels": {_AGGREGATE_TO + label: "true"}} for mark, label in pairs if mark == "<"]
    if selectors:
        role["aggregationRule"] = {"clusterRoleSelectors": selectors}
    return role


def _rule(parts: list[str]) -> Raw:
    verbs = _VERBS.get(parts[0]) or parts[0].split()
    if len(parts) == 2:
        return {"verbs": list(verbs), "nonResourceURLs": parts[1].split()}
    groups = ["" if group == "core" else group for group in parts[1].split()]
    rule: Raw = {"verbs": list(verbs), "apiGroups": groups, "resources": parts[2].split()}
    if len(parts) > 3:
        rule["resourceNames"] = parts[3].split()
    return rule


def _binding(head: str, subjects: list[str]) -> Raw:
    name, _, role = head.partition(" = ")
    kind, _, role_name = role.partition(" ")
    binding = _document("RoleBinding" if "/" in name else "ClusterRoleBinding", name)
    binding["roleRef"] = {"apiGroup": _GROUP, "kind": kind, "name": role_name}
    if subjects:
        binding["subjects"] = [_subject(*line.split(" ")) for line in subjects]
    return binding


def _subject(kind: str, name: str) -> Raw:
    if kind != "ServiceAccount":
        return {"apiGroup": _GROUP, "kind": kind, "name": name}
    namespace, _, name = name.partition("/")
    return {"kind": kind, "name": name, "namespace": namespace}


def _document(kind: str, name: str) -> Raw:
    namespace, _, name = name.rpartition("/")
    metadata: Raw = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {AUTO_UPDATE: "true"},
    }
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}
