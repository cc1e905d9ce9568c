"""Name the users and groups that every cluster has, those of service accounts, and the paths that need no user.

Kubernetes: user.Info, the well-known names of apiserver's authentication, and its serviceaccount package.
"""

from collections.abc import Mapping
from typing import NamedTuple


class User(NamedTuple):
    """A user, as `kubectl auth whoami` shows it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
#: The key of a user's extra values that tells which token or certificate it came with.
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
ADMIN = User("kubernetes-admin", groups=(MASTERS, AUTHENTICATED))
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))

_OPEN_PATHS = ("/livez", "/readyz", "/healthz", "/version")


def is_open(path: str) -> bool:
    """Return whether a path is open to all: health, its single checks, and version."""
    return path in _OPEN_PATHS or path.startswith(("/livez/", "/readyz/", "/healthz/"))


_PREFIX = "system:serviceaccount:"
_ALL_ACCOUNTS = "system:serviceaccounts"


def account_user_name(namespace: str, name: str) -> str:
    return f"{_PREFIX}{namespace}:{name}"


def account_of_user(user: str) -> tuple[str, str]:
    """Return namespace and name of a service account by the name of its user; empty for other users."""
    if not user.startswith(_PREFIX):
        return "", ""
    namespace, _, name = user.removeprefix(_PREFIX).partition(":")
    return (namespace, name) if namespace and name and ":" not in name else ("", "")


def account_groups(namespace: str) -> tuple[str, str]:
    """Return the groups of all service accounts, and of those in a namespace."""
    return _ALL_ACCOUNTS, f"{_ALL_ACCOUNTS}:{namespace}"


def service_account_user(namespace: str, name: str, uid: str, extra: Mapping[str, tuple[str, ...]]) -> User:
    groups = (*account_groups(namespace), AUTHENTICATED)
    return User(account_user_name(namespace, name), uid, groups, extra)
