"""Let a user act as another one: `kubectl --as`, by the headers Impersonate-User, -Group, -Uid and -Extra-….

Each thing that is impersonated must be allowed by itself. Kubernetes: the impersonation filter.
"""

from urllib.parse import unquote

from moorage.model.api_error import bad_request
from moorage.serve.access.authorization import Attributes, check
from moorage.serve.http.messages import IMPERSONATION, SEPARATOR
from moorage.serve.pki.authentication import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User

_EXTRA = "impersonate-extra-"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATION = "authentication.k8s.io"


def acting_user(user: User, headers: dict[str, str]) -> User:
    """Return the user that a request is to be answered for. Raises ApiError 400 and 403."""
    return _impersonated(user, headers) if IMPERSONATION in "".join(headers) else user


def describe_user(user: User) -> str:
    return f"{user.name or '<empty>'}[{','.join(user.groups)}]" if user.groups else user.name or "<empty>"


def _impersonated(user: User, headers: dict[str, str]) -> User:
    name = headers.get("impersonate-user", "").partition(SEPARATOR)[0]
    groups = headers["impersonate-group"].split(SEPARATOR) if "impersonate-group" in headers else []
    uid = headers.get("impersonate-uid", "").partition(SEPARATOR)[0]
    extra = {
        unquote(header[len(_EXTRA) :]): tuple(values.split(SEPARATOR))
        for header, values in headers.items()
        if header.startswith(_EXTRA)
    }
    if not name:
        if groups or uid or extra:
            asked = [f"Group {group}" for group in groups] + [f"UserExtra {key}" for key in extra] + ["UID"] * bool(uid)
            raise bad_request(f"requested [{', '.join(asked)}] without impersonating a user")
        return user
    namespace, account = _service_account(name)
    if account:
        check(user, Attributes("impersonate", "", "v1", "serviceaccounts", "", namespace, account))
    else:
        check(user, Attributes("impersonate", "", "v1", "users", name=name))
    for group in groups:
        check(user, Attributes("impersonate", "", "v1", "groups", name=group))
    for key, values in extra.items():
        for value in values:
            check(user, Attributes("impersonate", _AUTHENTICATION, "v1", "userextras", key, name=value))
    if uid:
        check(user, Attributes("impersonate", _AUTHENTICATION, "v1", "uids", name=uid))
    if account and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return User(name, uid, _with_implied(name, groups), extra)


def _with_implied(name: str, groups: list[str]) -> tuple[str, ...]:
    if name == ANONYMOUS.name:
        return tuple(groups) if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    known = AUTHENTICATED in groups or UNAUTHENTICATED in groups
    return tuple(groups) if known else (*groups, AUTHENTICATED)


def _service_account(user: str) -> tuple[str, str]:
    """Return namespace and name of a service account's user; empty for other users."""
    if not user.startswith(_SERVICE_ACCOUNT):
        return "", ""
    namespace, _, name = user.removeprefix(_SERVICE_ACCOUNT).partition(":")
    return (namespace, name) if namespace and name and ":" not in name else ("", "")
