"""Let a user act as another one: `kubectl --as`, by the headers Impersonate-User, -Group, -Uid and -Extra-….

Each thing that is impersonated must be allowed by itself. Kubernetes: the impersonation filter.
"""

from urllib.parse import unquote

from moorage.model.api_error import bad_request
from moorage.serve.access.authorization import Authorization, resource_attributes
from moorage.serve.http.messages import IMPERSONATION, SEPARATOR
from moorage.serve.pki.authentication import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    account_groups,
    account_of_user,
)

_EXTRA = "impersonate-extra-"
_IMPERSONATE = "impersonate"
_AUTHENTICATION = "authentication.k8s.io"


def acting_user(user: User, headers: dict[str, str], authorization: Authorization) -> User:
    """Return the user that a request is to be answered for. Raises ApiError 400 and 403."""
    return _impersonated(user, headers, authorization) if IMPERSONATION in "".join(headers) else user


def describe_user(user: User) -> str:
    return f"{user.name or '<empty>'}[{','.join(user.groups)}]" if user.groups else user.name or "<empty>"


def _impersonated(user: User, headers: dict[str, str], authorization: Authorization) -> User:
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
            named = [f"Group {group}" for group in groups] + [f"UserExtra {key}" for key in extra] + ["UID"] * bool(uid)
            raise bad_request(f"requested [{', '.join(named)}] without impersonating a user")
        return user
    namespace, account = account_of_user(name)
    asked = [resource_attributes(_IMPERSONATE, "", "users", name=name)]
    if account:
        asked = [resource_attributes(_IMPERSONATE, "", "serviceaccounts", namespace=namespace, name=account)]
    asked += [resource_attributes(_IMPERSONATE, "", "groups", name=group) for group in groups]
    asked += [
        resource_attributes(_IMPERSONATE, _AUTHENTICATION, "userextras", subresource=key, name=value)
        for key, values in extra.items()
        for value in values
    ]
    if uid:
        asked.append(resource_attributes(_IMPERSONATE, _AUTHENTICATION, "uids", name=uid))
    for one in asked:
        authorization.check(user, one)
    if account and not groups:
        groups = [*account_groups(namespace)]
    return User(name, uid, _with_implied(name, groups), extra)


def _with_implied(name: str, groups: list[str]) -> tuple[str, ...]:
    if name == ANONYMOUS.name:
        return tuple(groups) if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    known = AUTHENTICATED in groups or UNAUTHENTICATED in groups
    return tuple(groups) if known else (*groups, AUTHENTICATED)
