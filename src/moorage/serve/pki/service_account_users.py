"""Users that stand for service accounts: their names and groups.

Kubernetes: apiserver/pkg/authentication/serviceaccount.
"""

from collections.abc import Mapping

from moorage.serve.pki.authentication import AUTHENTICATED, User

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
