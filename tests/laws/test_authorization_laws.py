"""No right but those of roles: the index answers as the plainest reading of all roles and bindings does.

Roles and bindings come, change and go; after each change a table of subjects, verbs, resources, subresources,
namespaces and names is asked, twice, so that remembered answers are compared as well.
"""

import itertools
from random import Random
from typing import Any

import pytest

from moorage.model.kinds import KINDS, view_of
from moorage.serve.access.authorization import Attributes
from moorage.serve.access.rbac import RoleIndex
from moorage.serve.pki.authentication import User

Raw = dict[str, Any]
VERSION = "rbac.authorization.k8s.io/v1"
NAMES, NAMESPACES = ("r0", "r1", "r2"), ("n1", "n2")
USERS = (
    User("jane", groups=("system:authenticated",)),
    User("bob", groups=("devs", "system:authenticated")),
    User("system:serviceaccount:n1:bot", groups=("system:serviceaccounts",)),
    User("devs"),
)
SUBJECTS = (
    {"kind": "User", "name": "jane"},
    {"kind": "User", "name": "system:serviceaccount:n1:bot"},
    {"kind": "Group", "name": "devs"},
    {"kind": "Group", "name": "jane"},
    {"kind": "ServiceAccount", "name": "bot", "namespace": "n1"},
    {"kind": "ServiceAccount", "name": "bot"},
)
REQUESTS = [
    Attributes(verb, group, "v1", resource, subresource, namespace, name, "", "", True)
    for verb, (group, resource), subresource, namespace, name in itertools.product(
        ("get", "delete"), (("", "pods"), ("apps", "pods"), ("", "secrets")), ("", "log"), ("", *NAMESPACES), ("", "x")
    )
] + [Attributes("get", path=path) for path in ("/healthz", "/healthz/x", "/metrics")]


def some(random: Random, values: tuple[str, ...]) -> list[str]:
    return random.sample(values, random.randint(1, len(values)))


def rule(random: Random) -> Raw:
    verbs = some(random, ("get", "delete", "*")[: random.choice((1, 2, 3))])
    if random.random() < 0.2:
        return {"verbs": verbs, "nonResourceURLs": some(random, ("/healthz", "/healthz/*", "/met*", "*"))}
    resources = ("pods", "pods/log", "*/log", "secrets", "*")[: random.choice((2, 4, 5))]
    made = {"verbs": verbs, "apiGroups": some(random, ("", "apps", "*")), "resources": some(random, resources)}
    return made | ({"resourceNames": some(random, ("x", "y"))} if random.random() < 0.3 else {})


def document(random: Random) -> Raw:
    kind = random.choice(("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"))
    metadata = {"name": random.choice(NAMES)}
    if not kind.startswith("Cluster"):
        metadata["namespace"] = random.choice(NAMESPACES)
    made: Raw = {"apiVersion": VERSION, "kind": kind, "metadata": metadata}
    if kind.endswith("Role"):
        return made | {"rules": [rule(random) for _ in range(random.randint(0, 3))]}
    role = "ClusterRole" if kind.startswith("Cluster") else random.choice(("Role", "ClusterRole"))
    subjects = random.sample(SUBJECTS, random.randint(0, 3))
    return made | {"roleRef": {"kind": role, "name": random.choice(NAMES)}, "subjects": subjects}


def is_for(subject: Raw, user: User, namespace: str) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == user.name)
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    where = subject.get("namespace") or namespace
    return bool(where) and user.name == f"system:serviceaccount:{where}:{subject['name']}"


def allows(rule: Raw, asked: Attributes) -> bool:
    if not {"*", asked.verb} & set(rule["verbs"]):
        return False
    if not asked.is_resource:
        urls = rule.get("nonResourceURLs", ())
        return any(url == asked.path or (url[-1] == "*" and asked.path.startswith(url[:-1])) for url in urls)
    named = (
        {f"{asked.resource}/{asked.subresource}", f"*/{asked.subresource}"} if asked.subresource else {asked.resource}
    )
    return (
        bool({"*", asked.group} & set(rule.get("apiGroups", ())))
        and bool(({"*"} | named) & set(rule.get("resources", ())))
        and (not rule.get("resourceNames") or asked.name in rule["resourceNames"])
    )


def naive(objects: dict[tuple[str, str, str], Raw], user: User, asked: Attributes) -> bool:
    """Read everything, for every request."""
    for (kind, namespace, _), binding in objects.items():
        if not kind.endswith("Binding") or (kind == "RoleBinding" and namespace != asked.namespace):
            continue
        if not any(is_for(subject, user, namespace) for subject in binding["subjects"]):
            continue
        reference = binding["roleRef"]
        where = namespace if reference["kind"] == "Role" else ""
        role = objects.get((reference["kind"], where, reference["name"]), {})
        if any(allows(rule, asked) for rule in role.get("rules", ())):
            return True
    return False


@pytest.mark.parametrize("seed", range(8))
def test_the_index_allows_what_a_naive_reading_allows(seed: int) -> None:
    random, index = Random(seed), RoleIndex()
    objects: dict[tuple[str, str, str], Raw] = {}
    allowed = 0
    for _ in range(80):
        raw = document(random)
        key = (raw["kind"], raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
        kind = KINDS[VERSION, raw["kind"]]
        if key in objects and random.random() < 0.3:
            index.forget(kind, view_of(objects.pop(key)))
        else:
            objects[key] = raw
            index.learn(kind, view_of(raw))
        for user in USERS:
            for asked in random.sample(REQUESTS, 25):
                wanted = naive(objects, user, asked)
                allowed += wanted
                assert [index.authorize(user, asked).allowed for _ in range(2)] == [wanted] * 2, (user, asked, objects)
    assert allowed, "nothing was ever allowed, so nothing was shown"
